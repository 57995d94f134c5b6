"""What was once chosen of how a program's maps are kept, and stays: it is stored, and no version of Cumulus chooses it again.

The rules by which groups and copies are found may get better, and the estimates that they rest on change; what lies on disk does not. So a plan is made
from its choices (decision 62). When a project changes, what is kept has the choices that it had, and only what is new is chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field

from cumulus_ops.maps.runs import AccessPath
from cumulus_ops.project.errors import SetupProblem

__all__ = ["FORMAT", "NOTHING", "Choices"]

#: Of what :meth:`Choices.to_json` writes.
FORMAT = 1


@dataclass(frozen=True)
class Choices:
    """What was chosen for the maps of a program.

    ``alike``: the maps that were found to differ in their values alone, a tuple for each group of them, called after its first. ``moves``: which of
    these are kept within a wider one, as (narrow, wide), one after the other. ``copies``: of each group that is kept, the first one with all columns.
    ``ranks``: the places of relations in a batch; ``stages``: those of derivations, by the map that they compute."""

    alike: tuple[tuple[str, ...], ...] = ()
    moves: tuple[tuple[str, str], ...] = ()
    copies: Mapping[str, tuple[AccessPath, ...]] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    stages: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """As it is stored."""
        copies = [astuple(path) for paths in self.copies.values() for path in paths]
        data = {
            "format": FORMAT,
            "alike": self.alike,
            "moves": self.moves,
            "copies": copies,
            "ranks": dict(self.ranks),
            "stages": dict(self.stages),
        }
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Choices:
        """Inverse of :meth:`to_json`.

        >>> made = Choices((("m", "n"),), (), {"m": (AccessPath("m", (0, 1), -1, None, ("n",)),)}, {"r": 0}, {"m": 1024})
        >>> Choices.from_json(made.to_json()) == made
        True

        Raises:
            SetupProblem: another version of Cumulus wrote it.
        """
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise SetupProblem(
                f"the stored plan has format {data['format']}, and this version of Cumulus reads {FORMAT}",
                kind="plan-format",
                hint="use the version of Cumulus that wrote it, or `cumulus anew`, which makes the maps again from the event log",
            )
        copies: dict[str, list[AccessPath]] = {}
        for name, bound, order, keys, values, again in data["copies"]:
            kept = None if keys is None else tuple(keys), None if values is None else tuple(values)
            copies.setdefault(name, []).append(AccessPath(name, tuple(bound), order, *kept, again))
        return Choices(
            tuple(map(tuple, data["alike"])),
            tuple((narrow, wide) for narrow, wide in data["moves"]),
            {name: tuple(paths) for name, paths in copies.items()},
            data["ranks"],
            data["stages"],
        )

    def of(self, kept: frozenset[str]) -> Choices:
        """What stays chosen where only some of the maps are kept: groups go or stay as a whole, with those that they are kept in."""
        alike = tuple(names for names in self.alike if kept.issuperset(names))
        left = {names[0] for names in alike}
        moves = tuple(pair for pair in self.moves if left.issuperset(pair))
        return Choices(
            alike,
            moves,
            {name: paths for name, paths in self.copies.items() if name in left},
            self.ranks,
            {name: stage for name, stage in self.stages.items() if name in kept},
        )

    def together(self) -> dict[str, frozenset[str]]:
        """For each map those that are kept in one table with it, itself included: they stay or go together."""
        home = dict(self.moves)
        tables: dict[str, set[str]] = {}
        for names in self.alike:
            name = names[0]
            while name in home:
                name = home[name]
            tables.setdefault(name, set()).update(names)
        return {name: frozenset(names) for names in tables.values() for name in names}


#: Of a program of which nothing is stored.
NOTHING = Choices()
