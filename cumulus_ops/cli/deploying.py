"""`cumulus plan`, `try` and `deploy`: a project that changes while it runs."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from cumulus_ops.cli.options import EXECUTOR, EXIT_CHANGED, JSON, PROJECT, explain_errors
from cumulus_ops.cli.output import console, print_json, print_rows, show_value, size_text, visible
from cumulus_ops.deploying.changes import find_change
from cumulus_ops.deploying.deploy import abort, going_back, previous, previous_revision
from cumulus_ops.deploying.deploy import deploy as deploy_change
from cumulus_ops.deploying.preview import DataDiff, Preview, describe_change, previewed
from cumulus_ops.deploying.proposals import Proposals, propose
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import InputProblem, NotYet
from cumulus_ops.project.names import code
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.yaml_nodes import read_text
from cumulus_ops.query.read import read_view

__all__ = ["deploy", "plan", "preview_lines", "try_"]

ROLLBACK = click.option("--rollback", is_flag=True, help="The revision before the current one, instead of the folder.")
REPLAN = click.option(
    "--replan", is_flag=True, help="Make all maps anew, as today's rules and `rows:` would have them."
)
#: As many tables are named each; the rest is counted.
NAMED = 6
#: What becomes of a relation, in a word; else it is described by its columns.
FATES = ("added", "removed")


@click.command()
@PROJECT
@ROLLBACK
@REPLAN
@click.option("--no-rows", is_flag=True, help="Do not compute the rows of changed views.")
@click.option("--no-sources", is_flag=True, help="Do not ask sources which columns they have.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option("--exit-code", is_flag=True, help="End with exit code 5 if there is something to deploy.")
@JSON
def plan(
    folder: Path,
    rollback: bool,
    replan: bool,
    no_rows: bool,
    no_sources: bool,
    markdown: bool,
    exit_code: bool,
    as_json: bool,
) -> None:
    """Say what deploying PROJECT's folder as it is now would do: which views are added, changed and removed, and why; which maps are reused, new and dropped; what has to be
    read, and for how long; and the rows of changed views before and after, as of the newest snapshot. Then which columns sources show otherwise than cumulus.yaml says, and what to
    write. Changes nothing."""
    with explain_errors(), open_runtime(load_project(folder), "inprocess") as runtime:
        rt = previous(runtime) if rollback else runtime
        found = describe_change(rt, find_change(rt, replan=replan), rows=not no_rows)
        if not (no_sources or rollback):
            found = dataclasses.replace(found, proposals=propose(rt.as_edited, rt.catalog))
    if as_json:
        print_json(found)
    else:
        for line in preview_lines(found, markdown=markdown):
            click.echo(line)
    if exit_code and not found.is_nothing:
        sys.exit(EXIT_CHANGED)


def preview_lines(found: Preview, *, markdown: bool) -> Iterator[str]:
    """A plan in words. Markdown's lines are those of a list, and nothing of names, SQL and rows is markup in it."""
    shown: Callable[[str], str] = code if markdown else visible
    bullet, inner = ("- ", "    - ") if markdown else ("  ", "      ")
    if found.is_nothing:
        yield "nothing to deploy: the folder defines what is maintained"
        yield from _proposals(found.proposals, bullet, inner, shown)
        return
    if markdown:
        yield "### What deploying this would do\n"
    for name, what in found.relations.items():
        yield f"{bullet}relation {shown(name)}: {shown(what) if what not in FATES else what}"
    for name, what in sorted(found.views.items()):
        yield f"{bullet}view {shown(name)}: {what}"
        yield from (f"{inner}{shown(line)}" for line in found.why.get(name, ()))
        if name in found.rows:
            yield from (f"{inner}{line}" for line in _rows(found.rows[name], found.epoch, shown))
    bytes_kept = sum(size for _, size in found.reused.values())
    bytes_gone = sum(size for _, size in found.dropped.values())
    yield f"{bullet}{_count(len(found.reused), 'table')} of maps reused ({size_text(bytes_kept)}){_names(found.reused, shown)}"
    yield f"{bullet}{_count(len(found.new), 'table')} new{_names(found.new, shown)}"
    if found.copies:
        yield f"{bullet}{_count(found.copies, 'further copy', 'further copies')} of tables that are reused, in another order"
    yield f"{bullet}{_count(len(found.dropped), 'table')} dropped ({size_text(bytes_gone)}){_names(found.dropped, shown)}"
    time = "" if found.seconds is None else f", about {found.seconds:.1f} s"
    yield f"{bullet}{found.events:,} events to read{_names(found.reads, shown, ' of ')}{time}; nobody waits meanwhile"
    if found.published:
        yield f"{bullet}published tables that say something else from the next epoch on: {', '.join(map(shown, found.published))}"
    yield from _proposals(found.proposals, bullet, inner, shown)


def _proposals(found: Proposals | None, bullet: str, inner: str, shown: Callable[[str], str]) -> Iterator[str]:
    """What could be written into cumulus.yaml."""
    if found is None:
        return
    if found.columns:
        yield "what sources show, and cumulus.yaml does not say:"
    for one in found.columns:
        column = one.line.partition(":")[0] or one.instead
        yield f"{bullet}relation {shown(one.relation)}, column {shown(column)}: {one.kind}; {shown(one.why)}"
        if one.instead and one.kind != "leave out":
            yield f"{inner}{shown(f'- {one.instead}')}"
        if one.line:
            yield f"{inner}{shown(f'+ {one.line}')}"
    for name, problem in found.problems.items():
        yield f"source {shown(name)} cannot be asked which columns it has: {shown(problem)}"


def _rows(diff: DataDiff, epoch: int | None, shown: Callable[[str], str]) -> Iterator[str]:
    before, after = ("-" if n is None else f"{n:,}" for n in (diff.before, diff.after))
    told = f"rows as of epoch {epoch}: {before} before, {after} after"
    if diff.before is not None and diff.after is not None and not diff.problem:
        told += f"; {diff.added:,} added, {diff.gone:,} gone, {diff.changed:,} changed"
    yield told + (f"; {shown(diff.problem)}" if diff.problem else "")
    for row in diff.sample:
        yield shown(f"{row['key']}: {row['before']} -> {row['after']}")


def _names(names: Iterable[str], shown: Callable[[str], str], lead: str = ": ") -> str:
    found = sorted(names)
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return lead + ", ".join(map(shown, found[:NAMED])) + more if found else ""


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


@click.command("try")
@click.argument("view", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@PROJECT
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="So many rows at the most.")
def try_(view: Path, folder: Path, limit: int) -> None:
    """Answer the view in the file VIEW on the running data, as of the newest snapshot, without deploying it. Nothing of it is kept."""
    with explain_errors(), open_runtime(load_project(folder), "inprocess") as runtime:
        name = view.stem
        if name in runtime.program.view_by_name:
            name = f"{name}_tried"
        epoch = runtime.catalog.snapshots.newest()
        if epoch < 0:
            raise NotYet("there is no snapshot yet", kind="no-snapshot", hint="`cumulus run` makes one")
        edited = dataclasses.replace(
            runtime.as_edited,
            views={**runtime.project.views, name: read_text(view)},
            view_files={**runtime.as_edited.view_files, name: view},
            relations=runtime.project.relations,
        )
        rt = dataclasses.replace(runtime, as_edited=edited)
        with previewed(rt, find_change(rt)) as tried:
            rows = read_view(tried, name, as_of=epoch)
        print_rows(rows, f"{view.stem}, as it would be in the snapshot of epoch {epoch}", limit)


@click.command()
@PROJECT
@EXECUTOR
@ROLLBACK
@REPLAN
@click.option("--abort", "is_abort", is_flag=True, help="Give up the deployment that is under way.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--memory", type=click.IntRange(min=256), help="MiB that filling may hold; else as `memory:` of the project says."
)
@JSON
def deploy(
    folder: Path,
    executor: str | None,
    rollback: bool,
    replan: bool,
    is_abort: bool,
    yes: bool,
    memory: int | None,
    as_json: bool,
) -> None:
    """Make PROJECT's folder, as it is now, what is maintained, while coordinators apply and epochs commit: fill the new maps, and switch at an epoch's end. Interrupted, it
    goes on when it is called again; nothing that is maintained is concerned until it switches."""
    out = console()
    with explain_errors():
        project = load_project(folder)
        initialise(project, goes_on=True)
        with open_runtime(project, executor) as runtime:
            if is_abort:
                number = abort(runtime)
                click.echo("nothing is being deployed" if number is None else f"revision {number} is given up")
                return
            back_to = previous_revision(runtime) if rollback else None
            if not (yes or as_json):
                _ask(runtime if back_to is None else going_back(runtime, back_to), replan=replan)
            tell = (lambda _: None) if as_json else lambda line: out.print(show_value(visible(line)), soft_wrap=True)
            done = deploy_change(
                runtime, tell, None if memory is None else memory << 20, replan=replan, back_to=back_to
            )
    if as_json:
        print_json(done)
    elif done is None:
        click.echo("nothing to deploy: the folder defines what is maintained")
    else:
        click.echo(f"deployed in {done.seconds:.1f} s, of which batches waited {done.switch_s:.1f} s for the switch")


def _ask(rt: Runtime, *, replan: bool) -> None:
    found = describe_change(rt, find_change(rt, replan=replan), rows=False)
    if found.is_nothing:
        return
    for line in preview_lines(found, markdown=False):
        click.echo(line)
    if not sys.stdin.isatty():
        raise InputProblem(
            "nobody is there to say yes",
            kind="not-confirmed",
            hint="`cumulus deploy --yes`; `cumulus plan` shows the rows, too",
        )
    click.confirm("deploy this?", abort=True)
