"""Which column of a file is which of the relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cumulus_ops.eventlog.raw import bad_columns

__all__ = ["found_columns", "ignored_columns"]


def found_columns(place: Path | str, found: Sequence[str], wanted: Sequence[str]) -> Mapping[str, int]:
    """Where the wanted columns are: by their very name, or by one that differs in case and surrounding blanks alone.

    >>> found_columns("orders.csv", ["ID ", "Price", "other"], ["id", "price", "note"])
    {'id': 0, 'price': 1}

    Returns:
        wanted name -> its index among the found ones; what is missing is left out.

    Raises:
        InputProblem: there are several candidates.
    """
    places: dict[str, int] = {}
    plain = [_plain(name) for name in found]
    for name in wanted:
        candidates = [i for i, other in enumerate(found) if other == name]
        if not candidates and [_plain(w) for w in wanted].count(_plain(name)) == 1:
            candidates = [i for i, other in enumerate(plain) if other == _plain(name)]
        if len(candidates) > 1:
            raise bad_columns(place, f"has the column {name!r} twice", "doubled-column")
        if candidates:
            places[name] = candidates[0]
    return places


def ignored_columns(found: Sequence[str], places: Mapping[str, int]) -> tuple[str, ...]:
    """The names of those columns that nobody asked for."""
    used = set(places.values())
    return tuple(name for i, name in enumerate(found) if i not in used)


def _plain(name: str) -> str:
    return name.strip().casefold()
