"""A project at a glance: what its views, epochs and coordinators are like now. Reads of the catalog only, as many for a long history as
for a short one."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.epochs import (
    EpochNumbers,
    InError,
    LeftOut,
    Member,
    Membership,
    Newest,
    Quarantined,
    StepProblem,
    Transition,
    in_error,
    left_out,
)
from cumulus_ops.catalog.records import FileAside, StandingSource, moment_of_now
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.settings import Project
from cumulus_ops.sources.landing import Landing

__all__ = [
    "DEPLOY",
    "EpochStory",
    "Lag",
    "Overview",
    "RevisionState",
    "SourceState",
    "TooLate",
    "UnderWay",
    "ViewState",
    "epoch_story",
    "failing_steps",
    "lags",
    "overdue_members",
    "overview",
    "revisions",
    "source_states",
    "standing_sources",
    "too_late",
    "under_way",
    "view_states",
]


# How far each coordinator is behind what has come for it, and what keeps it: read off the landing folder and the catalog. Sources are not asked, for that may
# cost their servers something; what waits in them is not known.


#: An epoch that is over is to be voted on in as long a time as it took; short ones in this.
LEAST_PATIENCE = datetime.timedelta(minutes=1)


@dataclass(frozen=True)
class Lag:
    """A coordinator: the epoch that it has open, and what waits. ``drops`` are not in the log yet; ``batches`` with ``rows`` are, and not
    applied. ``oldest``: since when the oldest of the drops waits. ``overdue``: since when its epoch is over, if for so long that somebody should
    look why nobody votes to end it (:func:`overdue_members`); ``failing``: its steps that failed when they were tried last."""

    coordinator: int
    epoch: int
    holds_token: bool
    is_late: bool
    drains: bool
    drops: int
    oldest: datetime.datetime | None
    batches: int
    rows: int
    overdue: datetime.datetime | None = None
    failing: tuple[StepProblem, ...] = ()


def lags(project: Project, catalog: Catalog) -> Sequence[Lag]:
    """The coordinators that have an epoch to work in, in their order."""
    members = sorted(catalog.members.membership().active(), key=lambda m: m.coordinator)
    token, waiting, failing = (
        catalog.votes.token_holder(),
        catalog.history.waiting_rows(),
        catalog.problems.step_problems(),
    )
    overdue = overdue_members(project, catalog, members, Rhythm.of(project))
    return [
        replace(
            _lag(project, catalog, m, token, waiting.get(m.coordinator, (0, 0))),
            overdue=overdue.get(m.coordinator),
            failing=tuple(f for f in failing if f.coordinator == m.coordinator),
        )
        for m in members
    ]


def failing_steps(catalog: Catalog) -> tuple[StepProblem, ...]:
    """The steps that failed when they were tried last, the longest failing first; without those of coordinators that are gone, and without deployments: nothing that
    is maintained stands still because of one, and :func:`under_way` tells of it."""
    failing = [problem for problem in catalog.problems.step_problems() if problem.step != DEPLOY]
    members = {None, *(m.coordinator for m in catalog.members.membership().active())} if failing else set()
    return tuple(problem for problem in failing if problem.coordinator in members)


def overdue_members(
    project: Project, catalog: Catalog, members: Sequence[Member], rhythm: Rhythm
) -> Mapping[int, datetime.datetime]:
    """coordinator -> when its open epoch was to end, if that was so long ago that somebody should look why nobody votes to end it.

    Nobody is overdue while nothing has come for anybody since the newest snapshot: without Airflow an epoch is ended when there is something in it. What
    waits in sources is not known, so it is taken to be something.
    """
    now, patience = datetime.datetime.now(datetime.UTC), max(rhythm.length, LEAST_PATIENCE)
    ends = {
        m.coordinator: catalog.members.boundary(m.coordinator, m.epoch, rhythm).ends_at
        for m in members
        if not rhythm.is_over(m.epoch)
    }
    found = {who: ends_at for who, ends_at in ends.items() if now - ends_at > patience}
    is_waiting = found and (
        project.sources
        or catalog.history.has_uncommitted()
        or any(Landing(project, catalog, m.coordinator).waiting() for m in members)
    )
    return found if is_waiting else {}


def _find_change(drop: Path) -> datetime.datetime | None:
    """When a drop's folder got its name, as far as that can be seen now; None if it is gone."""
    try:
        return datetime.datetime.fromtimestamp(drop.stat().st_ctime, datetime.UTC)
    except OSError:
        return None


def _lag(project: Project, catalog: Catalog, member: Member, token: int, waiting: tuple[int, int]) -> Lag:
    who = member.coordinator
    landing = project.landing / str(who)
    arrived = [
        at for name in Landing(project, catalog, who).waiting() if (at := _find_change(landing / name)) is not None
    ]
    late, drains = member.awaited_since is not None, member.last is not None
    return Lag(who, member.epoch, who == token, late, drains, len(arrived), min(arrived, default=None), *waiting)


@dataclass(frozen=True)
class SourceState:
    """A source beside the landing folder. ``epoch``: the last that something of it is in, None if it has not begun; ``standing``: why it
    stands still, if it does."""

    name: str
    kind: str
    coordinator: int
    epoch: int | None
    standing: StandingSource | None


def source_states(project: Project, catalog: Catalog) -> list[SourceState]:
    """The sources that the project names, in its order."""
    standing, epochs = (
        {s.source: s for s in standing_sources(project, catalog)},
        catalog.deliveries.last_epochs(),
    )
    return [
        SourceState(s.name, s.kind, s.coordinator, epochs.get(s.name), standing.get(s.name)) for s in project.sources
    ]


def standing_sources(project: Project, catalog: Catalog) -> list[StandingSource]:
    """Those that stand still, in the project's order: who asked them last said so, or nobody asks them."""
    known = {s.source: s for s in catalog.problems.standing_sources()} if project.sources else {}
    members = {m.coordinator for m in catalog.members.membership().active()}
    found = []
    for source in project.sources:
        if (who := source.coordinator) not in members:
            hint = f"`cumulus coordinators add {who}`, or name another `coordinator:`"
            said = f"there is no coordinator {who} to ask it\n  hint: {hint}"
            found.append(StandingSource(source.name, said, None))
        elif source.name in known:
            found.append(known[source.name])
    return found


@dataclass(frozen=True)
class ViewState:
    """A view: the ``newest`` snapshot that has rows of it, why it is in error in the newest of all, and (epoch, rows) of what was
    published lately, ascending."""

    name: str
    newest: Newest | None
    error: InError | None = None
    rows: Sequence[tuple[int, int]] = ()

    @property
    def published(self) -> int | None:
        """The newest epoch of which it was published lately."""
        return self.rows[-1][0] if self.rows else None


@dataclass(frozen=True)
class Overview:
    """A project. ``epochs``: the latest, ascending; ``totals``: the sums of all; ``set_aside``: the batches about which somebody has to
    decide; ``settled``: whether tentative answers are those of all that is in the log, but for what is set aside; if not, ``unapplied``: how many batches
    are in none of them, and ``behind``: how many have yet to be corrected. ``failing``: the steps that failed when they were tried last; ``corrected``: which groups of maps were corrected in the
    epochs, None where that is not known."""

    epochs: Sequence[EpochNumbers]
    views: Sequence[ViewState]
    totals: EpochNumbers
    transitions: Sequence[Transition]
    membership: Membership
    set_aside: Sequence[LeftOut]
    quarantined: Sequence[Quarantined]
    files_aside: Sequence[FileAside]
    token: int
    settled: bool
    behind: int
    unapplied: int
    failing: Sequence[StepProblem] = ()
    corrected: Mapping[int, frozenset[str] | None] = field(default_factory=dict)


def overview(catalog: Catalog, views: Sequence[str], epochs: int = 60, drawn: int = 8) -> Overview:
    """What there is to say now.

    Args:
        catalog: the project's.
        views: its views.
        epochs: how many of the latest to look at.
        drawn: and of how many of them the moments as well.
    """
    newest = catalog.history.newest_epoch()
    is_corrected = catalog.commits.unsettled() is None
    unapplied = sum(batches for batches, _ in catalog.history.waiting_rows().values())
    return Overview(
        catalog.history.epoch_numbers(newest - epochs + 1),
        view_states(catalog, views, newest - epochs + 1),
        catalog.history.totals(),
        catalog.history.transitions(newest - drawn),
        catalog.members.membership(),
        [batch for batch in catalog.history.failed() if batch.state == "aside"],
        catalog.history.quarantined(),
        catalog.deliveries.files_aside(),
        catalog.votes.token_holder(),
        is_corrected and not unapplied,
        0 if is_corrected else catalog.commits.behind(),
        unapplied,
        failing_steps(catalog),
        catalog.history.corrected_maps(newest - epochs + 1),
    )


def view_states(catalog: Catalog, views: Sequence[str], first: int) -> list[ViewState]:
    """The views, with what was published of them in the epochs from ``first`` on."""
    snapshot = catalog.snapshots.newest()
    errors = {e.view: e for e in in_error(catalog.results.view_errors(), -1 if snapshot is None else snapshot)}
    newest, rows = catalog.history.newest_right(views), catalog.history.published_rows(first)
    nows = {epoch: now_of(catalog, epoch) for epoch in {found.epoch for found in newest.values()}}
    newest = {name: replace(found, now=nows[found.epoch]) for name, found in newest.items()}
    return [ViewState(name, newest.get(name), errors.get(name), rows.get(name, ())) for name in views]


def now_of(catalog: Catalog, epoch: int) -> datetime.datetime | None:
    """What now() is in the snapshot of an epoch, if there is one and views depend on it."""
    snapshot = catalog.snapshots.at(epoch)
    return None if snapshot is None else moment_of_now(snapshot.now)


@dataclass(frozen=True)
class EpochStory:
    """All about one epoch. ``numbers`` is None where nothing is known of it. ``without``: the batches that its snapshot does not have;
    ``proved``: how many views the validation found to be what; ``now``: what now() is in its snapshot."""

    epoch: int
    numbers: EpochNumbers | None
    members: Sequence[int]
    transitions: Sequence[Transition]
    in_error: Sequence[InError]
    without: Sequence[LeftOut]
    findings: Sequence[str]
    seconds: float | None
    expired: Sequence[str]
    proved: str = ""
    now: datetime.datetime | None = None


def epoch_story(catalog: Catalog, epoch: int) -> EpochStory:
    """What is known of one epoch."""
    numbers = next(iter(catalog.history.epoch_numbers(epoch, epoch)), None)
    validation = catalog.results.validations(epoch, epoch).get(epoch)
    return EpochStory(
        epoch,
        numbers,
        catalog.members.membership().of(epoch),
        catalog.history.transitions(epoch, epoch),
        in_error(catalog.results.view_errors(), epoch),
        left_out(catalog.history.failed(), epoch),
        validation.findings if validation else (),
        validation.seconds if validation else None,
        catalog.snapshots.expired().get(epoch, ()),
        validation.summary if validation else "",
        now_of(catalog, epoch),
    )


# Values that were sealed while rows that may be of them were put aside: nothing takes a seal back, so somebody is told.

#: Reasons of rows that came too late, or were never to come: their values are not open for them.
NOT_OPEN = ("sealed-value", "other-producer", "part")


@dataclass(frozen=True)
class TooLate:
    """What a coordinator had put aside of a relation when it sealed values of that: what of it is of such a value will never count. ``rows`` in the
    quarantine, and ``files``."""

    relation: str
    coordinator: int
    rows: int = 0
    files: int = 0

    def __str__(self) -> str:
        """For people.

        >>> print(TooLate("clicks", 0, 3, 1))
        coordinator 0 has sealed values of clicks with 3 rows in the quarantine, 1 file set aside: of sealed values they cannot count any more
        """
        counts = ((self.rows, "row", "in the quarantine"), (self.files, "file", "set aside"))
        told = ", ".join(f"{n:,} {what}{'s' * (n > 1)} {where}" for n, what, where in counts if n)
        return f"coordinator {self.coordinator} has sealed values of {self.relation} with {told}: of sealed values they cannot count any more"


def too_late(rt: Runtime) -> tuple[TooLate, ...]:
    """What was put aside before values of its relation were sealed, and waits for a decision; what was refused for its sealed value is left out."""
    rows, files = rt.catalog.deliveries.quarantined_rows(), rt.catalog.deliveries.files_aside()
    sealed = rt.catalog.seals.newest_seals() if rt.project.seals and (rows or files) else {}
    found: list[TooLate] = []
    for (relation, coordinator), (batch, at) in sorted(sealed.items()):
        mine = [r for r in rows if (r.relation, r.coordinator) == (relation, coordinator)]
        earlier = [r for r in mine if batch is None or r.batch <= batch]
        before = sum(n for r in earlier for kind, n in r.reasons.items() if kind not in NOT_OPEN)
        left = sum(
            f.relation == relation and f.coordinator == coordinator and f.recorded_at.timestamp() <= at for f in files
        )
        if before or left:
            found.append(TooLate(relation, coordinator, before, left))
    return tuple(found)


# What is maintained, was, and is to be: the latest revisions, and the deployment that is under way.

#: The step that deploys.
DEPLOY = "deploy"


@dataclass(frozen=True)
class UnderWay:
    """A deployment that is neither over nor given up. ``revision``: of what it makes the next one; ``state``: ``fills`` or ``switches`` (somebody is at it), ``fails`` (it did
    when it was tried last, ``at`` that moment, and nobody is at it) or ``rests`` (nobody is at it). ``upto``: the epoch up to which its groups have all there is, None if they have nothing yet; ``newest``:
    up to which they have to have it, with so many ``epochs`` and ``events`` in between; ``keeps``: the epoch whose snapshot stays because of it. ``changes``: what it changes; ``command``: what goes
    on with it."""

    revision: int
    begun_at: datetime.datetime
    state: str
    upto: int | None
    newest: int
    epochs: int
    events: int
    keeps: int | None
    changes: tuple[str, ...]
    command: str
    problem: str = ""
    at: datetime.datetime | None = None
    waits: bool = False

    @property
    def is_at_work(self) -> bool:
        """Whether somebody is at it."""
        return self.state in ("fills", "switches")

    def __str__(self) -> str:
        """What is the matter with it."""
        done = "nothing is filled yet" if self.upto is None else f"filled up to epoch {self.upto}"
        left = (
            f", {self.epochs:,} {'epoch' if self.epochs == 1 else 'epochs'} with {self.events:,} events to go"
            if self.epochs
            else ""
        )
        said = {
            "fills": "is being deployed",
            "switches": "is switched to, and no batch begins meanwhile",
            "fails": f"could not be deployed: {self.problem}",
            "rests": "is not deployed yet, and nobody is at it",
        }
        return f"revision {self.revision} {said[self.state]}; {done}{left}"

    @property
    def hint(self) -> str:
        """What can be done about it."""
        kept = "" if self.keeps is None or self.keeps < 0 else f"; the snapshot of epoch {self.keeps} is kept meanwhile"
        give_up = f"`cumulus deploy --abort` gives it up, and what is maintained is not concerned{kept}"
        first = "`cumulus recover` makes the damaged file again; then " if self.waits else ""
        return give_up if self.is_at_work else f"{first}`{self.command}` goes on with it, {give_up}"


def under_way(catalog: Catalog) -> UnderWay | None:
    """The deployment that is under way, if there is one."""
    begun = catalog.revisions.deployment()
    if begun is None:
        return None
    of, stand = (
        next(r for r in catalog.revisions.all() if r.number == begun.number),
        catalog.revisions.stand(begun.number),
    )
    newest = catalog.snapshots.newest()
    missing = catalog.history.epoch_numbers(0 if begun.base is None else begun.base + 1, newest)
    failed = [p for p in catalog.problems.step_problems() if p.step == DEPLOY and p.at >= of.made_at]
    state = "switches" if stand.switches else "fills" if stand.works else "fails" if failed else "rests"
    options = [
        *(["--rollback"] if of.changes.back_to is not None else []),
        *(["--replan"] if of.changes.is_replanned else []),
    ]
    return UnderWay(
        begun.number,
        of.made_at,
        state,
        begun.base,
        newest,
        newest - (-1 if begun.base is None else begun.base),
        sum(e.inserts + e.deletes for e in missing),
        stand.pinned,
        of.changes.lines(),
        " ".join(["cumulus deploy", *options]),
        failed[0].told if state == "fails" else "",
        failed[0].at if state == "fails" else None,
        state == "fails" and failed[0].waits,
    )


@dataclass(frozen=True)
class RevisionState:
    """A revision: ``current``, ``past``, ``being deployed`` or ``given up``. ``first`` and ``last``: the epochs that are its own, None for no such, or for no end yet; ``begun_at``: when its deployment
    began; ``changes``: what it has changed; ``problem``: why it was given up."""

    number: int
    state: str
    first: int | None
    last: int | None
    begun_at: datetime.datetime
    changes: tuple[str, ...]
    problem: str = ""


def revisions(catalog: Catalog, latest: int) -> tuple[RevisionState, ...]:
    """The latest revisions, newest first."""
    found: list[RevisionState] = []
    following: int | None = None  # the first epoch that is the next one's
    for r in reversed(catalog.revisions.all()):
        state = (
            "given up"
            if r.problem
            else "being deployed"
            if r.since is None
            else "current"
            if following is None
            else "past"
        )
        last = None if following is None or r.since is None else following - 1
        found.append(RevisionState(r.number, state, r.since, last, r.made_at, r.changes.lines(), r.problem or ""))
        following = following if r.since is None else r.since
    return tuple(found[:latest])
