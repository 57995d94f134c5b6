"""What one invocation measures, and where it keeps tables, states and results."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.progress import say

__all__ = ["ALL_QUERIES", "HOME", "REPOSITORY", "RESULTS", "Settings"]

REPOSITORY = Path(__file__).parent.parent
#: Everything that can be made again: tables, states, the peers' environments.
HOME = Path(os.environ.get("CUMULUS_BENCH_HOME", REPOSITORY / "var" / "bench"))
RESULTS = Path(os.environ.get("CUMULUS_BENCH_RESULTS", Path(__file__).parent / "results"))
ALL_QUERIES = tuple(f"q{number}" for number in range(1, 23))


@dataclass(frozen=True)
class Settings:
    """The options of ``run``. None or an empty tuple means the case's own choice.

    ``fractions`` are parts of all rows that one change touches; ``batch_sizes`` are events; ``cores`` is the N of
    ``local[N]``, the larger number of a cluster's workers, and what the peers get; ``part`` is how much of the stream the slow peers are given (0 to 1).
    """

    scale_factors: tuple[float, ...] = ()
    queries: tuple[str, ...] = ()
    repetitions: int | None = None
    contestants: tuple[str, ...] = ()
    fractions: tuple[float, ...] = ()
    batch_sizes: tuple[int, ...] = ()
    cores: int = 2
    part: float = 1.0
    budget_minutes: float | None = None
    keep: bool = False
    home: Path = HOME
    started: float = field(default_factory=time.monotonic)

    def wants(self, contestant: str) -> bool:
        """Whether this contestant takes part."""
        return not self.contestants or contestant in self.contestants

    def has_time(self) -> bool:
        """False once the budget is used up; what has not begun then is left for another invocation."""
        if self.budget_minutes is None or time.monotonic() - self.started < self.budget_minutes * 60:
            return True
        say("the budget is used up: what is left is not measured now, earlier rows stay")
        return False
