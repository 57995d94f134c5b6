"""The commands. Each one reads its arguments, calls one function of the system, and prints the result."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cumulus_ops.cli.analysing import analyze
from cumulus_ops.cli.batches import batch
from cumulus_ops.cli.coordinators import coordinators, epoch
from cumulus_ops.cli.options import (
    EXECUTOR,
    EXIT_IN_ERROR,
    EXIT_INVALID,
    EXIT_SET_ASIDE,
    EXIT_UNPROVED,
    EXIT_USER,
    FOLDER,
    JSON,
    PROJECT,
    explained,
    show,
)
from cumulus_ops.cli.output import console, print_json, print_rows, print_status, shown, visible
from cumulus_ops.cli.quarantine import quarantine
from cumulus_ops.cli.serving import anew, doctor, down, up
from cumulus_ops.cli.simulating import simulate
from cumulus_ops.cli.sources import keys, seals, source
from cumulus_ops.project.settings import Project, load_project
from cumulus_ops.project.verdicts import FAILED, UNPROVED

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from cumulus_ops.query.answers import Answer
    from m3 import Program

__all__ = ["main"]

#: The rows of a table that are shown, if nobody says how many.
SHOWN = 50
#: The commands that answer at once: their processes make no data frames.
QUICK = ("analyze", "batch", "compile", "coordinators", "epoch", "explain", "keys", "query", "seals", "status")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cumulus")
@click.pass_context
def main(context: click.Context) -> None:
    """SQL aggregates over changing tables: always fresh, periodically consistent, provably right."""
    if context.invoked_subcommand in QUICK:
        from cumulus_ops.light import without_pandas

        without_pandas()


@main.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("."))
@click.option("--name", help="The project's name; by default the folder's.")
@click.option("--empty", is_flag=True, help="Write files to change, without sample data; prepare the catalog later.")
def init(folder: Path, name: str | None, empty: bool) -> None:
    """Write a first project into FOLDER, with sample data that has landed; check an existing one. Either way, prepare its catalog."""
    from cumulus_ops.cli.analysing import advice_on
    from cumulus_ops.cli.scaffold import land_sample, write_project
    from cumulus_ops.coordination.plan import read_plan

    with explained():
        written = write_project(folder, name)
        if written and not empty:
            written += land_sample(folder)
        project = load_project(folder)
        before = read_plan(project.state)
        if not (written and empty):
            _initialise(project)
    for path in written:
        click.echo(f"wrote {path}")
    if written and empty:
        click.echo(f"next: describe your tables and views in {folder / 'cumulus.yaml'}, then `cumulus init` again")
        return
    plan = read_plan(project.state)
    views = len(project.views if plan is None else plan.views)
    click.echo(f"{project.name}: {len(project.relations)} relations, {views} views; the catalog is ready")
    for note in () if plan is None else (*plan.notes_since(before), advice_on(project, plan)):
        if note is not None:
            click.echo(f"note: {note}", err=True)
    if written:
        where = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
        click.echo(f"next: {where}cumulus run && cumulus query {next(iter(project.views))}")


@main.command("compile")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--emit",
    type=click.Choice(["algebra", "deltas", "merged", "m3", "dataflow"]),
    help="Print the result of this stage instead of the explanation.",
)
@click.option("--full", is_flag=True, help="Also who writes and reads each map, and every statement.")
@click.option("--view", help="Only what this view needs.")
@click.option("--rows", multiple=True, metavar="RELATION=N", help="Rows of a relation, for the costs; repeat it.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write a picture of the dataflow there.")
@PROJECT
def compile_(
    file: Path | None,
    emit: str | None,
    full: bool,
    view: str | None,
    rows: tuple[str, ...],
    svg: Path | None,
    folder: Path,
) -> None:
    """Compile the SQL in FILE against the project's relations, and explain the result: its maps, what is re-evaluated,
    what an event costs, and in which tables and copies the maps are kept. Without FILE, all that the project maintains."""
    from cumulus_ops.cli.analysing import advice_of
    from cumulus_ops.cli.compiling import rows_by_relation, source_of

    with explained():
        project = load_project(folder)
        source, statistics = source_of(project, file), rows_by_relation(project, rows)
    with explained(source.where):
        if emit:
            click.echo(source.emitted(emit, view))
        else:
            click.echo(source.explained(view, statistics, full=full), nl=False)
            line = advice_of(project, source.program(view))
            if line is not None:
                click.echo(f"note: {line}", err=True)
        if svg is not None:
            _draw(source.program(view), svg)


def _draw(program: Program, file: Path) -> None:
    from cumulus_ops.project.errors import InputProblem
    from m3.picture.drawing import to_svg

    try:
        file.write_text(to_svg(program), encoding="utf-8")
    except OSError as error:
        hint = "name a file in a folder that exists"
        raise InputProblem(f"cannot write it: {error.strerror}", kind="no-file", place=str(file), hint=hint) from error
    click.echo(f"wrote {file}", err=True)


@main.command()
@FOLDER
@click.option("--relations", metavar="A,B", help="A batch with events of these relations only.")
@click.option("--rows", multiple=True, metavar="RELATION=N", help="Rows of a relation, for the estimates; repeat it.")
@click.option("--events", type=click.IntRange(min=1), default=1_000_000, show_default=True, help="Events of the batch.")
@click.option("--tasks", type=click.IntRange(min=2), default=4, show_default=True, help="Tasks of the Spark job.")
@JSON
def explain(folder: Path, relations: str | None, rows: tuple[str, ...], events: int, tasks: int, as_json: bool) -> None:
    """Show how the maps of PROJECT are kept, and how a large batch is spread over the tasks of a Spark job: which maps are
    partitioned by what or replicated, what is sent in which stage, and how many bytes. `layout:` in cumulus.yaml overrides
    it."""
    from cumulus_ops.cli.compiling import rows_by_relation
    from cumulus_ops.cli.explaining import (
        explain_layout,
        layout_json,
        plan_of,
        relations_of,
        scheduled,
        touched_groups,
    )

    with explained():
        project = load_project(folder)
        plan, sizes = plan_of(project), rows_by_relation(project, rows)
        chosen = relations_of(plan, relations)
        stages, counts = scheduled(plan, project, chosen, sizes, events, tasks)
        groups = touched_groups(plan, chosen, sizes)
    if as_json:
        click.echo(layout_json(stages, counts, groups))
    else:
        click.echo(explain_layout(plan, project, stages, counts, groups), nl=False)


@main.command()
@click.argument("tables", type=click.Path(path_type=Path, exists=True, file_okay=False))
@PROJECT
@EXECUTOR
@JSON
def load(tables: Path, folder: Path, executor: str | None, as_json: bool) -> None:
    """Begin with existing tables: land the files RELATION.parquet of the folder TABLES as the first drop, and apply it in
    large batches. Run again after an interruption, it goes on; done before, it does nothing."""
    from cumulus_ops.append.delivery import TABLES, land_tables
    from cumulus_ops.epochs.minibatch import run_minibatch, settle
    from cumulus_ops.opening.runtime import open_runtime

    out = console()
    with explained():
        project = load_project(folder)
        _initialise(project)
        land_tables(project, tables)
        with open_runtime(project, executor) as runtime:
            report = run_minibatch(runtime, 0, [TABLES], on_batch=lambda rows: _progress(out, rows, silent=as_json))
            settle(runtime)
    if as_json:
        print_json(report)
    elif report is None:
        out.print("these tables were loaded before")
    else:
        out.print(f"loaded {report.events:,} rows in {report.seconds:.1f} s, {report.quarantined:,} quarantined")
    if report is not None and report.set_aside:
        click.echo(f"set aside: {len(report.set_aside)} of its batches; see `cumulus batch list`", err=True)
        sys.exit(EXIT_SET_ASIDE)


def _progress(out: Console, rows: int, *, silent: bool) -> None:
    if not silent:
        out.print(f"{rows:,} rows applied")


@main.command()
@PROJECT
@EXECUTOR
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help="Complete so many epochs, each with a share of what has landed, or none; by default, as many as all of it takes.",
)
@JSON
def run(folder: Path, executor: str | None, epochs: int | None, as_json: bool) -> None:
    """Apply all that has landed, commit, publish and validate epochs, all in this process, without Airflow. Ends, after having done the
    rest, with exit code 1 if a snapshot or a final partition is wrong (or unproved, with `validation: {unproved: fail}`), with 2 if a source stands still, and with 3 if a batch was set aside."""
    from cumulus_ops.epochs.driver import run_epochs, run_waiting
    from cumulus_ops.epochs.status import status
    from cumulus_ops.opening.runtime import open_runtime

    out = console()
    with explained():
        project = load_project(folder)
        _initialise(project)
        with open_runtime(project, executor) as runtime:
            before = status(runtime)
            tell: Callable[[str], None] = (
                (lambda _: None) if as_json else lambda line: out.print(shown(visible(line)), soft_wrap=True)
            )
            if epochs is not None:
                run_epochs(runtime, epochs, tell)
            elif not run_waiting(runtime, tell):
                tell(f"nothing waits in {project.landing}")
            done = status(runtime)
    if as_json:
        print_json(done)
    else:
        print_status(done)
    known = {e.epoch for e in before.epochs if e.state in ("validated", "unproved", "failed")}
    outcomes = {e.validation for e in done.epochs if e.epoch not in known}
    outcomes |= {FAILED} if done.finals.wrong > before.finals.wrong else set()
    outcomes |= {UNPROVED} if done.finals.unproved > before.finals.unproved else set()
    if any(map(project.validation.is_failure, outcomes)):
        sys.exit(EXIT_INVALID)
    if {b.batch for b in done.set_aside} - {b.batch for b in before.set_aside}:
        sys.exit(EXIT_SET_ASIDE)
    if done.standing:
        sys.exit(EXIT_USER)


@main.command()
@click.argument("epoch", type=click.IntRange(min=0))
@click.option("--view", "views", multiple=True, help="Only this view; repeat it. By default all of them.")
@PROJECT
@JSON
def validate(epoch: int, views: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Prove the snapshot of EPOCH: recompute its views on Spark from the event log, compare, and write the report. Any epoch that
    is retained, at any time, whatever `validation:` in cumulus.yaml says; ends with exit code 1 if a view is wrong, and with 2 if
    nothing that was compared is, but something could not be compared (with `unproved: fail`: 1)."""
    from cumulus_ops.opening.runtime import open_runtime
    from cumulus_ops.validation.run import validate as prove

    with explained():
        project = load_project(folder)
        with open_runtime(project) as runtime:
            click.echo(f"epoch {epoch}: recomputing on Spark", err=True)
            report = prove(runtime, epoch, views=views or None, on_view=_say_view)
    if as_json:
        print_json(report)
    else:
        console().print(str(report), markup=False, soft_wrap=True)
    if report.outcome == FAILED or project.validation.is_failure(report.outcome):
        sys.exit(EXIT_INVALID)
    if report.outcome == UNPROVED:
        sys.exit(EXIT_UNPROVED)


def _say_view(done: int, count: int, view: str) -> None:
    click.echo(f"view {done:,} of {count:,}: {visible(view)}", err=True)


@main.command()
@PROJECT
@JSON
def status(folder: Path, as_json: bool) -> None:
    """Show where coordinators and epochs are."""
    from cumulus_ops.epochs.status import status as read_status
    from cumulus_ops.opening.runtime import open_runtime

    with explained():
        project = load_project(folder)
        with open_runtime(project, "inprocess") as runtime:
            now = read_status(runtime)
    if as_json:
        print_json(now)
    else:
        print_status(now)


@main.command()
@PROJECT
@JSON
def scrub(folder: Path, as_json: bool) -> None:
    """Verify every byte of the stored maps, the event log, the quarantine and the key indexes against its checksum, also what is seldom
    read, and that each key index says what the log says. What is damaged or differs is listed, with exit code 2. Other processes may go on
    working meanwhile."""
    from cumulus_ops.cli.serving import progress_lines, require_intact, summary
    from cumulus_ops.epochs.scrubbing import scrub as verify
    from cumulus_ops.opening.runtime import open_runtime

    out = console()
    with explained():
        project = load_project(folder)
        with open_runtime(project, "inprocess") as runtime:
            report = verify(runtime, progress_lines((lambda _: None) if as_json else out.print))
        if as_json:
            print_json(report)
        else:
            out.print(summary(report))
        require_intact(report)


@main.command()
@click.argument("view")
@PROJECT
@click.option("--as-of", type=click.IntRange(min=0), help="The snapshot of this epoch instead of the newest.")
@click.option("--tentative", is_flag=True, help="What is applied so far: fresher, and may still be corrected.")
@click.option(
    "--provenance", is_flag=True, help="One more column, final_by: by what each row is final. JSON has it always."
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"At most so many rows; by default {SHOWN} of a table, and all in other formats.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet", "arrow"]),
    help="How; by default a table, or what the name of --output ends in.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file, which is replaced as a whole. Without it, CSV and JSON go to standard output.",
)
@JSON
def query(
    view: str,
    folder: Path,
    as_of: int | None,
    tentative: bool,
    provenance: bool,
    limit: int | None,
    form: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print the rows of VIEW that are final, and by what: as applied so far where none is ever retracted, else the partitions that are sealed, and the newest
    snapshot of the rest; or the snapshot of an epoch, or what is applied so far. If the view is in error, say which
    expression fails, where it is written, and for which row, and end with exit code 4; partitions that were final before are printed all the same.

    Values stay exact: decimals, dates and times are texts in JSON, integers are numbers with all their digits; NULL is nothing in CSV."""
    from cumulus_ops.opening.runtime import open_runtime
    from cumulus_ops.project.errors import ViewInError
    from cumulus_ops.query.answers import read_answer
    from cumulus_ops.query.errors import described_error

    if tentative and as_of is not None:
        raise click.UsageError("--as-of names a snapshot, --tentative is newer than all: give one of them")
    form = _format_of(form, output, as_json=as_json)
    with explained():
        project = load_project(folder)
        with open_runtime(project, "inprocess") as runtime:
            try:
                answer = read_answer(runtime, view, as_of=as_of, tentative=tentative)
            except ViewInError as problem:
                problem, details = described_error(runtime, view, problem, as_of=as_of, tentative=tentative)
                if form == "json":
                    print_json({"in_error": details})
                show(problem)
                sys.exit(EXIT_IN_ERROR)
        rows = answer.with_provenance() if provenance or form == "json" else answer.labelled()
        if form == "table":
            print_rows(rows, _title(answer, as_of), SHOWN if limit is None else limit)
            click.echo(answer.label)
        else:
            from cumulus_ops.cli.writing import write_rows

            write_rows(rows.slice(0, limit), form, output)
            wrote = "" if output is None else f"wrote {len(rows.slice(0, limit)):,} rows to {output}: "
            click.echo(f"{wrote}{answer.label}", err=True)
    if answer.error is not None:
        sys.exit(EXIT_IN_ERROR)


def _format_of(form: str | None, output: Path | None, *, as_json: bool) -> str:
    """The format that is asked for, in one of its ways."""
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form}: give one of them")
    named = output.suffix.removeprefix(".") if output is not None else ""
    chosen = "json" if as_json else form or (named if named in ("csv", "json", "parquet", "arrow") else None)
    if output is not None and chosen in (None, "table"):
        raise click.UsageError(f"--output {output}: say --format csv, json, parquet or arrow")
    return chosen or "table"


def _title(answer: Answer, as_of: int | None) -> str:
    if as_of is not None:
        return f"{answer.view}, snapshot of epoch {as_of}"
    if answer.partitions:
        has_snapshot = answer.epoch is not None and answer.error is None
        return f"{answer.view}, sealed partitions{' and newest snapshot' if has_snapshot else ''}"
    if answer.epoch is not None:
        return f"{answer.view}, newest snapshot"
    return f"{answer.view}, {'tentative' if answer.is_tentative else 'now'}"


@main.command()
@click.option(
    "--scale-factor",
    type=click.FloatRange(min=0.001),
    default=0.1,
    show_default=True,
    help="Of TPC-H; 1 is 6 M lineitems.",
)
@click.option("--epochs", type=click.IntRange(min=1), default=4, show_default=True)
@click.option(
    "--epoch-seconds", type=click.FloatRange(min=3), default=30.0, show_default=True, help="Length of an epoch."
)
@click.option("--once", is_flag=True, help="End when all epochs are validated, instead of at Ctrl-C.")
@click.option("--port", type=click.IntRange(1024, 65535), default=8080, show_default=True, help="Of the Airflow UI.")
@click.option(
    "--home", type=click.Path(path_type=Path), default=Path("var"), show_default=True, help="Data, state, logs."
)
@click.option("--project", "folder", type=click.Path(path_type=Path), default=Path("examples/tpch"), show_default=True)
@click.option(
    "--dags", type=click.Path(path_type=Path), default=Path("dags"), show_default=True, help="Airflow's DAG folder."
)
def demo(
    scale_factor: float, epochs: int, epoch_seconds: float, once: bool, port: int, home: Path, folder: Path, dags: Path
) -> None:
    """Run TPC-H under Airflow on a local Spark, starting afresh (what `make run` does)."""
    from cumulus_ops.demo.runner import DemoOptions, run_demo

    options = DemoOptions(scale_factor, epochs, epoch_seconds, once, port, home, folder, dags)
    with explained():
        sys.exit(run_demo(options))


main.add_command(analyze)
main.add_command(anew)
main.add_command(batch)
main.add_command(simulate)
main.add_command(coordinators)
main.add_command(epoch)
main.add_command(source)
main.add_command(quarantine)
main.add_command(keys)
main.add_command(seals)
main.add_command(doctor)
main.add_command(up)
main.add_command(down)


def _initialise(project: Project) -> None:
    from cumulus_ops.opening.runtime import initialise

    initialise(project)
