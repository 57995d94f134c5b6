"""The boundary to sources: whatever goes wrong in one, in code of ours or of others, is the source's problem, in words.

A source is asked in four places: when it is made, polled, opened (``parts``) and read. Each of them may raise anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from cumulus_ops.catalog import NewFileAside
from cumulus_ops.errors import CumulusError, SetupProblem
from cumulus_ops.eventlog import Delivery, Part, SealPart
from cumulus_ops.sources.drops import name_problem

__all__ = ["deliveries_of", "told"]

T = TypeVar("T")


@contextmanager
def told(source: str) -> Iterator[None]:
    """Any exception as a problem of a source.

    Raises:
        SetupProblem: something went wrong that it says nothing of.
    """
    try:
        yield
    except CumulusError:
        raise
    except Exception as error:
        hint = "it is asked again after a while; if it stays so, see what its class does"
        message = f"{type(error).__name__}: {error}"
        raise SetupProblem(message, kind="source-failed", place=f"source {source}", hint=hint) from error


def deliveries_of(source: str, poll: Callable[[], Iterable[Delivery]]) -> Iterator[Delivery]:
    """What a source hands over, each with guarded parts.

    Args:
        source: its name.
        poll: asks it.
    """
    return (replace(d, parts=partial(_parts, source, d.parts)) for d in map(_named, _guarded(source, poll)))


def _named(delivery: Delivery) -> Delivery:
    """A delivery with a name that the catalog can keep.

    Raises:
        SetupProblem: it has another.
    """
    problem = "its name has a NUL" if "\0" in delivery.name else name_problem(delivery.name)
    if problem is None:
        return delivery
    hint = "the class of the source names its deliveries: give it shorter names, without NUL"
    message = f"cannot hand over {delivery.name[:40]!r}: {problem}"
    raise SetupProblem(message, kind="bad-name", place=f"source {delivery.source}", hint=hint)


def _parts(
    source: str, parts: Callable[[], Iterable[Part | SealPart | NewFileAside]]
) -> list[Part | SealPart | NewFileAside]:
    return [
        part if isinstance(part, NewFileAside) else replace(part, read=partial(_guarded, source, part.read))
        for part in _guarded(source, parts)
    ]


def _guarded(source: str, ask: Callable[[], Iterable[T]]) -> Iterator[T]:
    with told(source):
        found = iter(ask())
    while True:
        with told(source):
            one = next(found, None)
        if one is None:
            return
        yield one
