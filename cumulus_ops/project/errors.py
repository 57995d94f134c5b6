"""Errors of the running system, grouped by what the handler would do about them.

========================  =======================================================
:class:`InputProblem`     fix the data or the project folder
:class:`ViewInError`      fix the rows that it names, or the view's SQL; go on with the other views
:class:`SetupProblem`     fix the machine: Java, a port, the disk, a connection
:class:`Conflict`         somebody else committed first: run the step again
:class:`NotYet`           a condition is not met yet: come back later
:class:`IntegrityProblem` state on disk contradicts the catalog: recover, or report a bug
========================  =======================================================
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from typing import TypeVar

from m3.errors import LONGEST_MESSAGE, M3Error, shortened

__all__ = [
    "COLUMN_NOT_DEPLOYED",
    "DAMAGED",
    "LOST",
    "ColumnsWait",
    "Conflict",
    "CumulusError",
    "InputProblem",
    "IntegrityProblem",
    "NotYet",
    "RevisionOver",
    "SetupProblem",
    "ViewInError",
    "columns_wait",
    "combine",
]


#: The kind of problem of what has columns that are declared, and not deployed yet.
COLUMN_NOT_DEPLOYED = "column-not-deployed"
#: The kinds of problems that go away as soon as a file is as it was written again. What needs the file waits for that, and has not failed.
DAMAGED = frozenset({"damaged-run", "damaged-log", "damaged-quarantine", "delta-unreadable"})


#: The system's errors that say that what was written is not there, or cannot be read from the disk any more. With all others it may be whole: somebody may not
#: read it, or has too many files open.
LOST = frozenset(
    getattr(errno, name)
    for name in ("ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "EIO", "EBADMSG", "EUCLEAN")
    if hasattr(errno, name)
)


def columns_wait(columns: Sequence[str]) -> str:
    """What is said of what has such columns.

    >>> columns_wait(["tag"])
    'has the column tag, which cumulus.yaml declares, and which is not deployed yet'
    """
    words = ("column", "is") if len(columns) == 1 else ("columns", "are")
    return (
        f"has the {words[0]} {', '.join(columns)}, which cumulus.yaml declares, and which {words[1]} not deployed yet"
    )


class CumulusError(Exception):
    """Root of all errors of :mod:`cumulus_ops`.

    Args:
        message: what is wrong, in one sentence.
        kind: stable identifier for handlers.
        place: where (file:line, or map, batch, epoch), "" if nowhere.
        hint: what to do about it.
        others: further errors that were found with it and do not follow from it.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "cumulus",
        place: str = "",
        hint: str = "",
        others: Iterable[CumulusError | M3Error] = (),
    ) -> None:
        message = shortened(message, LONGEST_MESSAGE)
        super().__init__(message)
        self.message, self.kind, self.place, self.hint, self.others = message, kind, place, hint, tuple(others)

    @property
    def all(self) -> tuple[CumulusError | M3Error, ...]:
        """This error and those that were found with it."""
        return (self, *(e for other in self.others for e in other.all))

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{place}{self.message} [{self.kind}]{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.kind, self.place, self.hint, self.others)


Problem = TypeVar("Problem", bound=CumulusError)


def _rebuild(
    cls: type[CumulusError], message: str, kind: str, place: str, hint: str, others: Iterable[CumulusError | M3Error]
) -> CumulusError:
    return cls(message, kind=kind, place=place, hint=hint, others=others)


def combine(problems: Sequence[Problem]) -> Problem:
    """The first of some errors, at least one, which knows the others. One that was met twice is one.

    >>> [error.message for error in combine([NotYet("a"), NotYet("b"), NotYet("a")]).all]
    ['a', 'b']
    """
    every = {str(e): e for problem in problems for e in problem.all}
    first = problems[0]
    others = [e for text, e in every.items() if text != str(first)]
    return type(first)(first.message, kind=first.kind, place=first.place, hint=first.hint, others=others)


class InputProblem(CumulusError):
    """The data or the project folder is wrong."""


class ColumnsWait(InputProblem):
    """A file has ``columns`` that are declared, and not deployed yet: it is for later, since now they would be left out."""

    @classmethod
    def of(cls, columns: Iterable[str], place: str) -> ColumnsWait:
        """What is said of such a file; it is taken up by itself when they are deployed."""
        names = tuple(sorted(columns))
        problem = cls(
            columns_wait(names),
            kind=COLUMN_NOT_DEPLOYED,
            place=place,
            hint="`cumulus deploy`: then it is taken up by itself",
        )
        problem.columns = names
        return problem

    columns: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).of, (self.columns, self.place)


class ViewInError(InputProblem):
    """A view has no rows to show, because an expression of it fails for some of the data; other views have."""


class SetupProblem(CumulusError):
    """The machine lacks something."""


class RevisionOver(SetupProblem):
    """The project was deployed anew since this process opened it; nothing was changed, and the process has to open it again."""

    @staticmethod
    def of(old: int, new: int) -> RevisionOver:
        """What is said to a process that has opened an earlier revision."""
        return RevisionOver(
            f"revision {new} of the project has been deployed since this process opened revision {old}",
            kind="revision-over",
            hint="start it again; nothing of what it has committed is lost",
        )


class Conflict(CumulusError):
    """Another process committed first; nothing was changed, the step can be run again."""


class NotYet(CumulusError):
    """A precondition does not hold yet, e.g. the token is elsewhere."""


class IntegrityProblem(CumulusError):
    """What is on disk contradicts the catalog."""
