"""`cumulus fsck` and `cumulus recover`: whether all that is stored is as it was written, and making it again where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from rich.markup import escape

from cumulus_ops.cli.options import EXECUTOR, JSON, PROJECT, explain_errors
from cumulus_ops.cli.output import console, print_json, size_text
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.repair.damage import Damage, Report
from cumulus_ops.repair.fsck import Progress, Sample
from cumulus_ops.repair.fsck import fsck as find_damages
from cumulus_ops.repair.plan import Plan
from cumulus_ops.repair.recover import Recovered, look_at_claim, open_claim
from cumulus_ops.repair.recover import recover as run_recovery

__all__ = ["fsck", "plan_lines", "progress_lines", "recover", "require_intact", "result_lines", "summary"]


#: A line is printed whenever so many bytes more are done, or so much time has passed.
STEP_BYTES, STEP_S = 1_000_000_000, 10.0
NAMES = {
    "run": ("run of maps", "runs of maps"),
    "log": ("file of the log", "files of the log"),
    "quarantine": ("file of the quarantine", "files of the quarantine"),
    "key-index": ("run of key indexes", "runs of key indexes"),
    "net-table": ("net table", "net tables"),
    "published": ("published version", "published versions"),
    "state-file": ("small file", "small files"),
}


@click.command()
@PROJECT
@click.option(
    "--sample",
    type=click.FloatRange(0, 100, min_open=True),
    help="Look at so many percent of the files only, each day at others; of 15, a week looks at all.",
)
@click.option(
    "--rows",
    is_flag=True,
    help="Decode maps, too, and compare what they hold with their hashes: about 30 times as long.",
)
@JSON
def fsck(folder: Path, sample: float | None, rows: bool, as_json: bool) -> None:
    """Look at every file under the state folder of PROJECT: whether all that the catalog names is there and is what was written, byte by byte,
    whether there is anything else, and whether each key index says what the log says. What is not so is listed, with exit code 2. Changes
    nothing; other processes may go on working meanwhile."""
    out = console()
    with explain_errors():
        project = load_project(folder)
        show = progress_lines((lambda _: None) if as_json else out.print)
        if damages := look_at_claim(project):  # it keeps the rest from being looked at
            require_intact(Report({}, 0, 0.0, tuple(damages)))
        report = _fsck(project, show, None if sample is None else Sample.today(sample), with_rows=rows)
        if as_json:
            print_json(report)
        else:
            out.print(summary(report))
        require_intact(report)


@resumes
def _fsck(project: Project, show: Callable[[Progress], None], sample: Sample | None, *, with_rows: bool) -> Report:
    with open_runtime(project, "inprocess", complete=False) as runtime:
        return find_damages(runtime, show, sample, with_rows=with_rows)


def progress_lines(
    show: Callable[[str], None], step: int = STEP_BYTES, every_s: float = STEP_S
) -> Callable[[Progress], None]:
    """What is called with the progress, and shows a line now and then."""
    last = Progress(0, 0, 0, 0, 0.0)

    def advance(now: Progress) -> None:
        nonlocal last
        if now.bytes // step > last.bytes // step or now.seconds - last.seconds >= every_s:
            last = now
            if now.files < now.all_files:
                done, left = f"{size_text(now.bytes)} of {size_text(now.all_bytes)}", f"about {now.left_s:.0f} s left"
                show(f"{now.files:,} of {now.all_files:,} files, {done} verified, {left}")

    return advance


def summary(report: Report) -> str:
    """What was looked at, and how long it took."""
    counts = (f"{n:,} {NAMES[kind][n != 1]}" for kind, n in report.looked_at.items() if n)
    lines = [f"{', '.join(counts) or 'nothing'}: {size_text(report.bytes)} verified in {report.seconds:.1f} s"]
    if report.part < 100:
        lines.append(f"that is a part of all files, {report.part:.0f} %")
    if report.without_checksums:
        count = len(report.without_checksums)
        lines.append(
            f"of these {count:,} {'is' if count == 1 else 'are'} of an older version, without checksums: decoded, which finds less "
            "(--json names them)"
        )
    if report.proved:
        many = len(report.proved) > 1
        lines.append(
            f"the log says what the key index{'es' * many} of {', '.join(report.proved)} say{'s' * (not many)}"
        )
    return "\n".join(lines)


def require_intact(report: Report) -> None:
    """Name on stderr what is not as it has to be.

    Raises:
        IntegrityProblem: there is something.
    """
    for said in (*report.damages, *report.unproved):
        click.echo(str(said), err=True)
    if report.damages:
        raise _problem(report.damages)
    if report.unproved:
        raise IntegrityProblem(report.unproved[0], kind="unproved-key-index", hint="run it again")


def _problem(damages: tuple[Damage, ...]) -> IntegrityProblem:
    files = len({damage.file for damage in damages})
    message = "1 file is not as it was written" if files == 1 else f"{files:,} files are not as they were written"
    return IntegrityProblem(message, kind="damaged-files", hint=damages[0].hint)


# `cumulus recover`: what is damaged is made again.


@click.command()
@PROJECT
@click.argument("files", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Only say what would be done, from what, and how long it takes.")
@EXECUTOR
@JSON
def recover(folder: Path, files: tuple[str, ...], dry_run: bool, executor: str | None, as_json: bool) -> None:
    """Make what is damaged or missing under the state folder of PROJECT again, from what is intact, and prove it: FILES (relative to the state folder, as
    `cumulus fsck` names them), or all that is found. Nothing else is written; epochs go on meanwhile. Killed, it goes on when it is called again. Ends
    with exit code 2 if something cannot be made again, and says what that concerns."""
    out = console()
    show: Callable[[str], None] = (lambda _: None) if as_json else out.print
    with explain_errors():
        project = load_project(folder)
        if not dry_run:
            open_claim(project, show)
        result = _recover(project, executor, files, show, dry_run)
        if as_json:
            print_json(result)
        else:
            for line in plan_lines(result.plan) if dry_run else result_lines(result):
                out.print(escape(line), soft_wrap=True)
        if result.outcome.left:
            count = len(result.outcome.left)
            what = "1 part of the state is" if count == 1 else f"{count} parts of the state are"
            raise IntegrityProblem(f"{what} damaged still", kind="not-recovered", hint="see what is said of each")


@resumes
def _recover(
    project: Project, executor: str | None, files: Sequence[str], show: Callable[[str], None], dry_run: bool
) -> Recovered:
    with open_runtime(project, executor, complete=False) as runtime:
        return run_recovery(runtime, files, show, progress_lines(show), dry_run=dry_run)


def plan_lines(plan: Plan) -> Iterator[str]:
    """What would be done."""
    if not plan.repairs:
        yield "nothing is damaged: there is nothing to do"
        return
    for repair in plan.repairs:
        yield from map(str, repair.damages)
        reads = f", {repair.rows:,} rows to read" if repair.rows else ""
        yield f"  made again from {repair.source}{reads}, about {repair.seconds:.1f} s"
        if repair.wider:
            yield f"  if that does not help: {repair.wider}"
    yield f"about {plan.seconds:.1f} s in all; no other file is touched, and epochs go on meanwhile"


def result_lines(result: Recovered) -> Iterator[str]:
    """What was done, and what is left."""
    done, left = result.outcome.done, result.outcome.left
    yield (
        f"{len(done)} of {len(done) + len(left)} damages repaired in {result.seconds:.1f} s"
        if done or left
        else "nothing is damaged"
    )
    for damage, how in done:
        yield f"repaired: {damage.holds}, {damage.place}: {how}"
    for damage, why in left:
        yield f"left: {damage.holds}, {damage.place}: {why}"
