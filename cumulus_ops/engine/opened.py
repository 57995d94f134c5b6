"""What a process remembers of stored runs: opened ones, those that it wrote itself, and merged views of small recent ones.

Every mini-batch leaves a small run in each access path, and a lookup meets all of them until they are merged on disk. Making
one run of several costs as much as some lookups save, so :data:`FANOUT` of them, oldest first, become one in memory when
:data:`WORTH` lookups have met them: who pays rent until it has paid the price and then buys never pays more than twice the least
possible (the ski rental problem). Nothing is only in memory: whatever is forgotten is read from the files again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from cumulus_ops.catalog import NewRun, Run
from cumulus_ops.mapstore import RunData, build_run, open_run, stack

__all__ = ["OpenedRuns", "opened_runs"]

#: As many small runs are looked up as one.
FANOUT = 4
#: As many lookups in them cost what making them one costs.
WORTH = 12
#: Larger runs are looked up by themselves.
SMALL_ROWS = 16_384
#: What an opened run takes at least: its header.
HEADER_BYTES = 4_096
DEFAULT_BYTES = 1 << 30

#: As many groups of runs are counted.
OFFERS = 100_000

Place = tuple[str, int]  # a pack's file, and where in it
Key = tuple[Place, ...]


class OpenedRuns:
    """A memory of runs, within a budget; what was used longest ago is forgotten first.

    Args:
        budget_bytes: about how much memory they may take, mapped files not counted.
    """

    def __init__(self, budget_bytes: int = DEFAULT_BYTES) -> None:
        self.budget_bytes = budget_bytes
        self._offered: dict[Key, int] = {}
        self._kept: OrderedDict[Key, tuple[RunData, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def limit(self, budget_bytes: int) -> None:
        """Set the budget."""
        self.budget_bytes = budget_bytes
        with self._lock:
            self._forget()

    def open(self, root: str, run: NewRun) -> RunData:
        """A run, mapped from its file unless this process has it already."""
        key = (_place(root, run),)
        found = self._get(key)
        return found if found is not None else self._put(key, open_run(f"{root}/{run.path}", run.offset, run.bytes), 0)

    def keep(self, root: str, run: NewRun, data: RunData) -> None:
        """Remember a run that was just written; only small ones, which would be read again soon."""
        if run.rows <= SMALL_ROWS:
            self._put((_place(root, run),), data, data.nbytes)

    def together(self, root: str, runs: Sequence[Run], names: Sequence[str]) -> list[RunData]:
        """The runs of one access path, small ones in groups.

        Args:
            root: the state folder.
            runs: the runs.
            names: names of the group's key columns.
        """
        small = [run for run in runs if run.rows <= SMALL_ROWS]
        if len(small) < FANOUT:
            return [self.open(root, run) for run in runs]
        single = [run for run in runs if run.rows > SMALL_ROWS]
        full = len(small) // FANOUT * FANOUT
        merged = [part for i in range(0, full, FANOUT) for part in self._merged(root, small[i : i + FANOUT], names)]
        return [*(self.open(root, run) for run in single), *merged, *(self.open(root, run) for run in small[full:])]

    def _merged(self, root: str, runs: Sequence[Run], names: Sequence[str]) -> list[RunData]:
        """The runs as one, if that is worth its while."""
        key = tuple(_place(root, run) for run in runs)
        found = self._get(key)
        if found is not None:
            return [found]
        parts = [self.open(root, run) for run in runs]
        self._offered[key] = self._offered.get(key, 0) + 1
        if self._offered[key] < WORTH:
            return parts
        del self._offered[key]
        values = list(dict.fromkeys(name for part in parts for name in part.values))
        merged = build_run(stack([part.table(names, values) for part in parts]), parts[0].path)
        return [self._put(key, merged, merged.nbytes)]

    def _get(self, key: Key) -> RunData | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def _put(self, key: Key, data: RunData, size: int) -> RunData:
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                return known[0]
            self._kept[key] = data, size + HEADER_BYTES
            self._bytes += size + HEADER_BYTES
            self._forget()
        return data

    def _forget(self) -> None:
        while self._bytes > self.budget_bytes and len(self._kept) > 1:
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size
        if len(self._offered) > OFFERS:
            self._offered.clear()


def _place(root: str, run: NewRun) -> Place:
    return f"{root}/{run.path}", run.offset


#: This process's.
opened_runs = OpenedRuns()
