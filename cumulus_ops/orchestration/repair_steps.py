"""What tasks do about damaged files: say from what they are made again, and do that once a person has agreed. No Airflow in here."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from cumulus_ops.light import lazy_module
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.names import code, escape
from cumulus_ops.project.project_file import load_project

if TYPE_CHECKING:
    from cumulus_ops.cli import repairing as words
    from cumulus_ops.repair import recover
else:  # few tasks repair anything
    words = lazy_module("cumulus_ops.cli.repairing")
    recover = lazy_module("cumulus_ops.repair.recover")

__all__ = ["Asked", "plan_recovery", "recover_agreed"]

log = logging.getLogger(__name__)


class Asked(TypedDict):
    """What a person is asked, as it travels between tasks: whether these ``files`` are made again (all that are damaged, if there are none), as ``markdown`` says. Nothing is done if
    ``to_do`` is ""."""

    to_do: Literal["recover", ""]
    markdown: str
    files: list[str]


@resumes
def plan_recovery(folder: str, *, files: str | None = None, dry_run: bool = False) -> Asked:
    """Look at files, and plan how those that are damaged are made again. Nothing is changed.

    Args:
        folder: the project.
        files: names of files relative to the state folder, with blanks between them; None: all.
        dry_run: nobody is asked.
    """
    project, named = load_project(Path(folder)), (files or "").split()
    found = recover.look_at_claim(project)
    if found:  # the rest is looked at when the project can be opened
        again = "it is written again from the catalog; what else is damaged can be seen then, and is made again, too"
        lines = [*(str(damage) for damage in found), again]
    else:
        with open_runtime(project, "inprocess", complete=False) as runtime:
            planned = recover.recover(runtime, named, dry_run=True)
        found = list(planned.found.damages)
        lines = list(words.plan_lines(planned.plan))
    for line in lines:
        log.info("%s", line)
    if not found or dry_run:  # nobody is asked, and why is what the log of the next task says
        return Asked(to_do="", markdown="\n".join(lines), files=named)
    return Asked(to_do="recover", markdown=_say_plan(lines), files=named)


def _say_plan(lines: Sequence[str]) -> str:
    """A plan's lines in Markdown: what is damaged as a list, what is said of it below it in words; what is said of all as a paragraph.

    >>> print(_say_plan(["missing: map m", "missing: map n", "  made again from the log", "about 1 s"]))
    - `missing: map m`
    - `missing: map n`
        - made again from the log
    <BLANKLINE>
    about 1 s
    """
    *listed, last = lines
    items = (f"    - {escape(line)}" if line.startswith("  ") else f"- {code(line)}" for line in listed)
    return "\n".join([*items, *[""] * bool(listed), escape(last)])


@resumes
def recover_agreed(folder: str, asked: Asked) -> dict[str, int]:
    """Make again what is damaged. Killed at any point it can be called again, and goes on.

    Returns:
        how many damages were ``repaired``.

    Raises:
        IntegrityProblem: some cannot be made again; all others are.
    """
    project = load_project(Path(folder))
    recover.open_claim(project, lambda line: log.info("%s", line))
    with open_runtime(project, complete=False) as runtime:
        result = recover.recover(runtime, asked["files"], lambda line: log.info("%s", line))
    for line in words.result_lines(result):
        log.info("%s", line)
    if result.outcome.left:
        damage, why = result.outcome.left[0]
        raise IntegrityProblem(f"{damage.holds} cannot be made again: {why}", kind="not-recovered", place=damage.file)
    return {"repaired": len(result.outcome.done)}
