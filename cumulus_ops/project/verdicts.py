"""What a validation says, in the words that every report, page and command uses.

==============  ==================================================================================================
of a view       when
==============  ==================================================================================================
``equal``       all that is to be compared was compared, and is the same
``differs``     something that was compared is not the same
``in error``    the view is in error, and so is its recomputation
``unproved``    something could not be compared, and nothing that was compared differs
==============  ==================================================================================================

A snapshot has ``failed`` if anything about it is wrong, is ``unproved`` if that was not found and some view is, and has ``passed`` otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

__all__ = ["DIFFERS", "EQUAL", "FAILED", "IN_ERROR", "PASSED", "UNPROVED", "outcome_of", "summary"]


EQUAL, DIFFERS, IN_ERROR, UNPROVED = "equal", "differs", "in error", "unproved"
PASSED, FAILED = "passed", "failed"


def outcome_of(verdicts: Iterable[str], failures: Collection[str] = ()) -> str:
    """The outcome for a snapshot: of the verdicts on its views, and of what else was found to be wrong.

    >>> outcome_of([EQUAL, UNPROVED]), outcome_of([UNPROVED, DIFFERS]), outcome_of([EQUAL], ["no vote of 1"]), outcome_of([])
    ('unproved', 'failed', 'failed', 'passed')
    """
    found = set(verdicts)
    if failures or DIFFERS in found or not found <= {EQUAL, IN_ERROR, UNPROVED}:
        return FAILED
    return UNPROVED if UNPROVED in found else PASSED


def summary(verdicts: Iterable[str], views: int) -> str:
    """How many views were found to be what.

    Args:
        verdicts: those on the views that were looked at.
        views: how many there are.

    >>> summary([EQUAL, EQUAL, UNPROVED, IN_ERROR], 5)
    '2 of 5 views equal their recomputation, 1 is in error as its recomputation is, 1 unproved, 1 not looked at'
    >>> summary([EQUAL], 1)
    '1 of 1 view equals its recomputation'
    """
    counts = Counter(verdicts)
    equal = counts[EQUAL]
    equals = "equals its" if equal == 1 else "equal their"
    parts = [f"{equal} of {views} view{'' if views == 1 else 's'} {equals} recomputation"]
    if (count := counts[IN_ERROR]) > 0:
        parts.append(
            f"{count} {'is in error as its recomputation is' if count == 1 else 'are in error as their recomputations are'}"
        )
    parts += [f"{counts[kind]} {said}" for kind, said in ((DIFFERS, "wrong"), (UNPROVED, "unproved")) if counts[kind]]
    if (left := views - counts.total()) > 0:
        parts.append(f"{left} not looked at")
    return ", ".join(parts)
