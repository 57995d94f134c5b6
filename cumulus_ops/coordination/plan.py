"""The coordination plan of a program: from when on what is read is final, and what has to be waited for until then.

It is computed once, when a project is initialised, and stored with the program; everything that coordinates reads it there: the version
scheme, the DAGs and their barriers, and whoever reads a view.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cumulus_ops.project.small_files import replace_file

__all__ = [
    "AT_ONCE",
    "COMMITTED",
    "COORDINATION",
    "SEALED",
    "Barrier",
    "CoordinationPlan",
    "EdgePlan",
    "SealOf",
    "Verdict",
    "ViewPlan",
    "read_plan",
    "write_plan",
]


#: From when on the rows of a view are final.
AT_ONCE, SEALED, COMMITTED = "at once", "sealed", "committed"
_SOONER = {AT_ONCE: "at once", SEALED: "by seals"}


@dataclass(frozen=True)
class Verdict:
    """How much order the events of a relation need: ``grain`` is ``batch`` if any order ends in the same maps, proved from the triggers,
    or else ``event``, for the ``reason`` given: two statements that two orders tell apart."""

    relation: str
    grain: str
    reason: str


@dataclass(frozen=True)
class SealOf:
    """A seal by which rows of a view become final: the one called ``seal`` of ``relation``, on its ``columns``; a value of theirs is found in
    the view's visible ``output`` columns, in the same order. A view over several relations needs one of each. ``forms``: what each output has of
    the ``value``, as M3, and an empty text where it is the value itself; nothing if all are."""

    relation: str
    seal: str
    columns: tuple[str, ...]
    output: tuple[str, ...]
    forms: tuple[str, ...] = ()


@dataclass(frozen=True)
class ViewPlan:
    """From when on rows of ``view`` are final: ``at once``, as soon as they are read, for none is retracted; ``sealed``, those of a partition when
    each of ``seals`` has closed it, and all with their epoch; ``committed``, with their epoch. ``label`` is what reads would be without
    coordination (Async, Run, Inst, Diverge), ``coordinated`` what they are with the plan. ``advice`` is the cheapest change that would do
    without order, if there is one."""

    view: str
    label: str
    coordinated: str
    final: str
    reason: str
    seals: tuple[SealOf, ...] = ()
    advice: str | None = None


@dataclass(frozen=True)
class EdgePlan:
    """What a stream needs on its way from ``source`` to ``target``: ``none``, ``seal`` or ``order``. A seal is on ``key``, and ``vote`` says whether
    several producers have to agree; ``order`` is ``logged`` (by version, the same in every run) or ``arrival`` (the same at every replica)."""

    source: str
    target: str
    strategy: str
    label: str
    reason: str
    key: tuple[str, ...] = ()
    vote: bool = False
    order: str | None = None


@dataclass(frozen=True)
class Barrier:
    """Something that has to be waited for. ``name`` is what enforces it (:mod:`cumulus_ops.coordination.barriers`), ``about`` what it concerns: all
    of the program, or a seal; ``reason`` the anomaly without it."""

    name: str
    about: str
    reason: str


@dataclass(frozen=True)
class CoordinationPlan:
    """All of it; ``scheme`` is the version scheme of the program (decision 0023), which the ``verdicts`` on its relations decide."""

    scheme: str
    verdicts: tuple[Verdict, ...] = ()
    views: tuple[ViewPlan, ...] = ()
    edges: tuple[EdgePlan, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def view(self, name: str) -> ViewPlan:
        """What is planned for a view; one that nothing was planned for is final with its epoch."""
        found = (v for v in self.views if v.view == name)
        return next(found, ViewPlan(name, "Run", "Async", COMMITTED, "nothing is known about it"))

    def kept_by(self, other: CoordinationPlan) -> CoordinationPlan:
        """This plan with only the promises that another one makes, too: all other views are final with their epoch.

        >>> now, later = ViewPlan("a", "Async", "Async", AT_ONCE, ""), ViewPlan("a", "Run", "Async", COMMITTED, "")
        >>> CoordinationPlan("batch", views=(now,)).kept_by(CoordinationPlan("batch", views=(later,))).view("a").final
        'committed'
        """
        promises = {(v.view, v.final, v.seals) for v in other.views}
        kept = (
            v if (v.view, v.final, v.seals) in promises else replace(v, final=COMMITTED, seals=()) for v in self.views
        )
        return replace(self, views=tuple(kept))

    def taken_back(self, other: CoordinationPlan) -> tuple[str, ...]:
        """The views of which this plan promises more than another one: their rows may have been read as final, and change.

        >>> now, later = ViewPlan("a", "Async", "Async", AT_ONCE, ""), ViewPlan("a", "Run", "Async", COMMITTED, "")
        >>> CoordinationPlan("batch", views=(now,)).taken_back(CoordinationPlan("batch", views=(later,)))
        ('a',)
        """
        kept = self.kept_by(other).views
        return tuple(old.view for old, new in zip(self.views, kept, strict=True) if old.final != new.final)

    @property
    def advice(self) -> str | None:
        """One line about the views that wait for their epochs and need not, with the cheapest change if it is one view; None if there is none.

        >>> waits = ViewPlan("a", "Run", "Async", COMMITTED, "", advice="seal r on day")
        >>> print(CoordinationPlan("batch", views=(waits, ViewPlan("b", "Async", "Async", AT_ONCE, ""))).advice)
        view a is final with its epochs only; it need not be: seal r on day
        >>> print(CoordinationPlan("batch", views=(waits, waits)).advice)
        2 of 2 views are final with their epochs only, and need not be: `cumulus analyze` says what would change that
        >>> print(CoordinationPlan("batch", views=(ViewPlan("a", "Run", "Async", COMMITTED, ""),)).advice)
        None
        """
        waiting = [v for v in self.views if v.final == COMMITTED and v.advice is not None]
        if len(waiting) == 1:
            return f"view {waiting[0].view} is final with its epochs only; it need not be: {waiting[0].advice}"
        said = "are final with their epochs only, and need not be: `cumulus analyze` says what would change that"
        return f"{len(waiting)} of {len(self.views)} views {said}" if waiting else None

    def notes_since(self, before: CoordinationPlan | None) -> tuple[str, ...]:
        """What a person should know of a new plan: the views whose rows were final earlier under the one ``before``.

        >>> was = CoordinationPlan("batch", views=(ViewPlan("a", "Async", "Async", AT_ONCE, ""),))
        >>> now = CoordinationPlan("batch", views=(ViewPlan("a", "Run", "Async", SEALED, ""),))
        >>> now.notes_since(was), now.notes_since(None)
        (('view a was final at once: rows that were read as final may change now',), ())
        """
        lost = () if before is None else (before.view(name) for name in before.taken_back(self))
        return tuple(
            f"view {v.view} was final {_SOONER[v.final]}: rows that were read as final may change now" for v in lost
        )

    def to_json(self) -> str:
        """As text.

        >>> plan = CoordinationPlan("batch", views=(ViewPlan("v", "Async", "Async", AT_ONCE, "monotone"),))
        >>> CoordinationPlan.from_json(plan.to_json()) == plan
        True
        """
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> CoordinationPlan:
        """From its text."""
        known: Mapping[str, Any] = json.loads(text)
        seals = [
            tuple(
                SealOf(s["relation"], s["seal"], *(tuple(s.get(k, ())) for k in ("columns", "output", "forms")))
                for s in view["seals"]
            )
            for view in known["views"]
        ]
        return cls(
            known["scheme"],
            tuple(Verdict(**v) for v in known["verdicts"]),
            tuple(ViewPlan(**{**v, "seals": s}) for v, s in zip(known["views"], seals, strict=True)),
            tuple(EdgePlan(**{**e, "key": tuple(e["key"])}) for e in known["edges"]),
            tuple(Barrier(**b) for b in known["barriers"]),
            tuple(known["notes"]),
        )


# The plan as a file beside the state: for those who plan without asking the catalog, which has it, too (compare :mod:`cumulus_ops.project.rhythm`).


#: In the state folder.
COORDINATION = "coordination.json"


def read_plan(state: Path) -> CoordinationPlan | None:
    """The plan; None if there is no such file, or none that can be read."""
    try:
        return CoordinationPlan.from_json((state / COORDINATION).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_plan(state: Path, plan: CoordinationPlan) -> None:
    """Write the file anew, by one rename; one that says the same is left alone."""
    if read_plan(state) != plan:
        state.mkdir(parents=True, exist_ok=True)
        replace_file(state / COORDINATION, plan.to_json() + "\n")
