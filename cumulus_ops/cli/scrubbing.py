"""`cumulus scrub`: its progress, and what it found."""

from __future__ import annotations

from collections.abc import Callable

import click

from cumulus_ops.cli.output import size_text
from cumulus_ops.errors import IntegrityProblem
from cumulus_ops.snapshot import DamagedRun, ScrubReport

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
    runs = report.runs - len(report.damaged)
    size = report.bytes - sum(run.bytes for run in report.damaged)
    return f"{runs:,} run{'s' * (runs != 1)}, {size_text(size)}, verified in {report.seconds:.1f} s"


def require_intact(report: ScrubReport) -> None:
    """Name the damaged runs on stderr.

    Raises:
        IntegrityProblem: there are some.
    """
    for run in report.damaged:
        click.echo(_line(run), err=True)
    if report.damaged:
        count = len(report.damaged)
        raise IntegrityProblem(
            f"{count} of {report.runs:,} runs {'is' if count == 1 else 'are'} damaged",
            kind="damaged-run",
            hint=report.damaged[0].hint,
        )


def _line(run: DamagedRun) -> str:
    return f"damaged: {run.group} by [{', '.join(run.by)}], {run.file}, byte {run.offset}: {run.problem}"
