"""What waits to be appended for a coordinator, from all of its sources."""

from __future__ import annotations

import datetime
import heapq
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice

from cumulus_ops.append.attempts import DEATHS, attempt
from cumulus_ops.append.delivery import Delivery
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.project.errors import Conflict, CumulusError
from cumulus_ops.project.settings import Project
from cumulus_ops.sources.drops import Ignored
from cumulus_ops.sources.foreign import deliveries_of, explain_errors, make_source, try_source
from cumulus_ops.sources.landing import Landing, ignored_in, taken_up
from cumulus_ops.sources.source import Source

__all__ = ["Sources"]

log = logging.getLogger(__name__)

#: So many deliveries of a source are looked at ahead: one is appended while the one before is applied.
AHEAD = 2
#: A source that could not be asked, or whose delivery could not be read, is left alone for so long.
PAUSE_S = 30.0


class Sources:
    """The sources of a project, as one process has them open. They are made and opened when they are first asked, and closed together.

    ``problems``: by name, why a source stands still: it could not be asked, or what it handed over could not be read. It is tried again
    after a while, and holds nobody up meanwhile. The catalog tells others, who do not ask it themselves.

    Args:
        project: the project.
        catalog: its catalog.
    """

    def __init__(self, project: Project, catalog: Catalog) -> None:
        self._project, self._catalog = project, catalog
        self._landings: dict[int, Landing] = {}
        self._queues: dict[str, _Queue] = {}
        self._resting: dict[str, float] = {}
        self._unread: set[str] = set()
        self._until: datetime.datetime | None = None
        self.problems: dict[str, str] = {}

    @contextmanager
    def as_of_now(self) -> Iterator[None]:
        """Within, only what waits now is pending, so that there is an end to it, however much comes meanwhile: drops that have arrived,
        and what sources hand over when they are asked once more."""
        self._until = datetime.datetime.now(datetime.UTC)
        for queue in self._queues.values():
            queue.asked = 0
        try:
            yield
        finally:
            self._until = None

    def check(self) -> None:
        """See that all that the project names can be made; nothing is opened.

        Raises:
            InputProblem: a kind is unknown, or an option wrong.
        """
        for settings in self._project.sources:
            make_source(self._project, settings, self._catalog).close()

    def landing(self, coordinator: int) -> Landing:
        """The landing folder of a coordinator."""
        if coordinator not in self._landings:
            self._landings[coordinator] = Landing(self._project, self._catalog, coordinator)
        return self._landings[coordinator]

    def pending(self, coordinator: int) -> list[Delivery]:
        """Deliveries that are not in the log yet, in the order of their arrival; each source's own order is kept.

        All drops that have landed are among them, files that have waited for columns that are deployed by now, and of other sources the next few
        deliveries.
        """
        names = [s.name for s in self._project.sources if s.coordinator == coordinator]
        drops = [d for d in self.landing(coordinator).poll(None) if self._until is None or d.arrived <= self._until]
        asides = self._catalog.deliveries.waiting_files(coordinator)
        waiting = [list(taken_up(self._project, asides)), drops, *(self._waiting(name) for name in names)]
        return list(heapq.merge(*waiting, key=lambda delivery: delivery.arrived))

    def ignored(self) -> tuple[Ignored, ...]:
        """What lies in the landing folder and will not be taken as it is."""
        members = [m.coordinator for m in self._catalog.members.membership().active()]
        return tuple(ignored_in(self._project, members, self._catalog.log.drops))

    def settles_in(self, coordinators: Iterable[int]) -> float | None:
        """In how many seconds the next of the drops that were not complete at the last look may be; None if there is none."""
        times = (self.landing(c).settles_in() for c in coordinators)
        return min((t for t in times if t is not None), default=None)

    def _waiting(self, name: str) -> list[Delivery]:
        """What a source has; nothing while it stands still, so that the others are not held up."""
        if self._resting.get(name, 0.0) > time.monotonic():
            return []
        try:
            with attempt(self._project.state, "poll", name) as before:
                if before >= DEATHS:
                    try_source(self._project, name, self._catalog.deliveries.source_position(name))
                if name not in self._queues:
                    settings = next(s for s in self._project.sources if s.name == name)
                    with explain_errors(name):
                        source = make_source(self._project, settings, self._catalog)
                    self._queues[name] = _Queue(self._project, source, self._catalog)
                found = self._queues[name].waiting(once=self._until is not None)
        except Conflict:  # it was asked with a position that somebody else has moved since
            self._queues[name].forget()
            return []
        except CumulusError as problem:
            self._stand_still(name, problem)
            return []
        if name not in self._unread:
            self.problems.pop(name, None)
            if not found and self._until is None:
                self._catalog.problems.source_goes_on(
                    name
                )  # it was asked, and has nothing that would have to be read first
        return found

    def goes_on(self, name: str) -> None:
        """A source could be asked, and what it had handed over could be read."""
        self.problems.pop(name, None)
        self._unread.discard(name)
        if any(s.name == name for s in self._project.sources):
            self._catalog.problems.source_goes_on(name)

    def stand_still(self, name: str, problem: CumulusError) -> None:
        """Leave a source alone for a while whose delivery could not be read, until one can be (:meth:`goes_on`)."""
        self._unread.add(name)
        self._stand_still(name, problem)

    def _stand_still(self, name: str, problem: CumulusError) -> None:
        """Leave a source alone for a while, and say why, once."""
        if self.problems.get(name) != str(problem):
            log.error("source %s stands still: %s", name, problem)
            self._catalog.problems.source_stands_still(name, str(problem))
        self.problems[name] = str(problem)
        self._resting[name] = time.monotonic() + PAUSE_S
        if name in self._queues:
            self._queues[name].forget()

    def close(self) -> None:
        """Close all that were asked."""
        with ExitStack() as stack:
            for source in (*self._landings.values(), *(q.source for q in self._queues.values())):
                stack.callback(_close, source)
        self._landings, self._queues = {}, {}


def _close(source: Source) -> None:
    try:
        with explain_errors(source.name):
            source.close()
    except CumulusError as problem:
        log.error("a source cannot be closed: %s", problem)


class _Queue:
    """A source with a position, and the deliveries that it has handed over and that are not in the log yet: it is asked again
    only for what comes behind them."""

    def __init__(self, project: Project, source: Source, catalog: Catalog) -> None:
        self._project, self.source, self._catalog = project, source, catalog
        self._taken: list[Delivery] = []
        self._rest: Iterator[Delivery] = iter(())
        self.asked = 0

    def forget(self) -> None:
        """What it has handed over is to be asked for again."""
        self._taken, self._rest = [], iter(())

    def waiting(self, *, once: bool = False) -> list[Delivery]:
        """The next deliveries. ``once``: the source is not asked for more if it has been before, but for what comes after its first
        delivery of all, which may have taken long."""
        position = self._catalog.deliveries.source_position(self.source.name)
        while self._taken and self._taken[0].begin != position:
            self._taken.pop(0)  # appended; or somebody else was quicker, and then none of them begins there
        if not self._taken and not (once and self.asked):
            found = deliveries_of(self.source.name, partial(self.source.poll, position))
            self._rest = (
                replace(d, trial=partial(try_source, self._project, self.source.name, d.begin, d.name)) for d in found
            )
            self.asked += position is not None
        self._taken += islice(self._rest, AHEAD - len(self._taken))
        return list(self._taken)
