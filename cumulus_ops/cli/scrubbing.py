"""`cumulus scrub`: its progress, and what it found."""

from __future__ import annotations

from collections.abc import Callable

import click

from cumulus_ops.cli.output import size_text
from cumulus_ops.errors import IntegrityProblem
from cumulus_ops.snapshot import DamagedFile, DamagedRun, ScrubReport

__all__ = ["progress_lines", "require_intact", "summary"]

#: A line is printed whenever so many bytes more are done.
STEP_BYTES = 1_000_000_000


def progress_lines(show: Callable[[str], None], step: int = STEP_BYTES) -> Callable[[int, int], None]:
    """What is called with the bytes done so far and all bytes, and shows a line now and then."""
    last = 0

    def advance(done: int, total: int) -> None:
        nonlocal last
        if done // step > last // step and done < total:
            show(f"{size_text(done)} of {size_text(total)} verified")
        last = done

    return advance


def summary(report: ScrubReport) -> str:
    """How much is as it was written, and how long it took to find out."""
    runs, files = report.runs - len(report.damaged), report.files - len(report.damaged_files)
    size = report.bytes - sum(run.bytes for run in report.damaged)
    lines = [
        f"{runs:,} run{'s' * (runs != 1)}, {size_text(size)}, verified in {report.seconds:.1f} s",
        f"{files:,} file{'s' * (files != 1)} of the log, the quarantine and key indexes, {size_text(report.file_bytes)}, verified",
    ]
    if report.without_checksums:
        count = len(report.without_checksums)
        lines.append(
            f"of these {count:,} {'is' if count == 1 else 'are'} of an older version, without checksums: decoded, which finds less "
            "(--json names them)"
        )
    if report.proved:
        lines.append(
            f"the log says what the key index{'es' * (len(report.proved) > 1)} of {', '.join(report.proved)} say{'s' * (len(report.proved) == 1)}"
        )
    return "\n".join(lines)


def require_intact(report: ScrubReport) -> None:
    """Name on stderr what is damaged, and the key indexes that are not proved.

    Raises:
        IntegrityProblem: there are some.
    """
    for line in (*map(_line, report.damaged), *map(_file_line, report.damaged_files)):
        click.echo(line, err=True)
    for index in report.wrong_indexes:
        click.echo(f"the key index of {index.relation} {index.problem}", err=True)
        for row in index.shown:
            click.echo(f"  {row}", err=True)
    if report.damaged:
        raise _problem("damaged-run", len(report.damaged), f"{report.runs:,} runs", "damaged", report.damaged[0].hint)
    if report.damaged_files:
        files = f"{report.files:,} files of the log, the quarantine and key indexes"
        raise _problem("damaged-file", len(report.damaged_files), files, "damaged", report.damaged_files[0].hint)
    if report.wrong_indexes:
        indexes = f"{len(report.proved) + len(report.wrong_indexes)} key indexes"
        raise _problem(
            "wrong-key-index", len(report.wrong_indexes), indexes, "not proved", report.wrong_indexes[0].hint
        )


def _problem(kind: str, count: int, whole: str, what: str, hint: str) -> IntegrityProblem:
    return IntegrityProblem(f"{count} of {whole} {'is' if count == 1 else 'are'} {what}", kind=kind, hint=hint)


def _file_line(file: DamagedFile) -> str:
    return f"damaged: {file.holds}, {file.file}: {file.problem}"


def _line(run: DamagedRun) -> str:
    return f"damaged: {run.group} by [{', '.join(run.by)}], {run.file}, byte {run.offset}: {run.problem}"
