"""What waits to be appended for a coordinator, from all of its sources."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project
from cumulus_ops.errors import CumulusError
from cumulus_ops.eventlog import Delivery
from cumulus_ops.sources.drops import Ignored
from cumulus_ops.sources.kinds import make_source
from cumulus_ops.sources.landing import Landing, ignored_in
from cumulus_ops.sources.source import Source

__all__ = ["Sources"]

log = logging.getLogger(__name__)

#: So many deliveries of a source are looked at ahead: one is appended while the one before is applied.
AHEAD = 2


class Sources:
    """The sources of a project, as one process has them open. They are made and opened when they are first asked, and closed together.

    ``problems``: by name, why a source could not be asked the last time.

    Args:
        project: the project.
        catalog: its catalog.
    """

    def __init__(self, project: Project, catalog: Catalog) -> None:
        self._project, self._catalog = project, catalog
        self._landings: dict[int, Landing] = {}
        self._queues: dict[str, _Queue] = {}
        self.problems: dict[str, str] = {}

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

        All drops that have landed are among them, and of other sources the next few deliveries.
        """
        names = [s.name for s in self._project.sources if s.coordinator == coordinator]
        waiting = [list(self.landing(coordinator).poll(None)), *(self._waiting(name) for name in names)]
        return list(heapq.merge(*waiting, key=lambda delivery: delivery.arrived))

    def ignored(self) -> tuple[Ignored, ...]:
        """What lies in the landing folder and will not be taken as it is."""
        members = [m.coordinator for m in self._catalog.membership().active()]
        return tuple(ignored_in(self._project, members))

    def settles_in(self, coordinators: Iterable[int]) -> float | None:
        """In how many seconds the next of the drops that were not complete at the last look may be; None if there is none."""
        times = (self.landing(c).settles_in() for c in coordinators)
        return min((t for t in times if t is not None), default=None)

    def _waiting(self, name: str) -> list[Delivery]:
        """What a source has; nothing while it cannot be asked, so that the others are not held up."""
        try:
            found = self._queue(name).waiting()
        except CumulusError as problem:
            if self.problems.get(name) != str(problem):
                log.error("source %s: %s", name, problem)
            self.problems[name] = str(problem)
            return []
        self.problems.pop(name, None)
        return found

    def _queue(self, name: str) -> _Queue:
        if name not in self._queues:
            settings = next(s for s in self._project.sources if s.name == name)
            self._queues[name] = _Queue(make_source(self._project, settings, self._catalog), self._catalog)
        return self._queues[name]

    def close(self) -> None:
        """Close all that were asked."""
        with ExitStack() as stack:
            for source in (*self._landings.values(), *(q.source for q in self._queues.values())):
                stack.callback(source.close)
        self._landings, self._queues = {}, {}


class _Queue:
    """A source with a position, and the deliveries that it has handed over and that are not in the log yet: it is asked again
    only for what comes behind them."""

    def __init__(self, source: Source, catalog: Catalog) -> None:
        self.source, self._catalog = source, catalog
        self._taken: list[Delivery] = []
        self._rest: Iterator[Delivery] = iter(())

    def waiting(self) -> list[Delivery]:
        position = self._catalog.source_position(self.source.name)
        while self._taken and self._taken[0].begin != position:
            self._taken.pop(0)  # appended; or somebody else was quicker, and then none of them begins there
        if not self._taken:
            self._rest = self.source.poll(position)
        self._taken += islice(self._rest, AHEAD - len(self._taken))
        return list(self._taken)
