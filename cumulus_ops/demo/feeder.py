"""Data that arrives over time: a thread that lands the drops of each period when its time has come."""

from __future__ import annotations

import datetime
import threading
from pathlib import Path

from cumulus_ops.rhythm import Rhythm

__all__ = ["Feeder"]


class Feeder(threading.Thread):
    """Lands period p's drops at ``rhythm.period_start(p)``; a period whose time is over lands at once.

    Args:
        staging: the whole stream, made beforehand.
        landing: where the project looks for drops.
        rhythm: the project's rhythm.
        periods: how many periods there are.
    """

    def __init__(self, staging: Path, landing: Path, rhythm: Rhythm, periods: int) -> None:
        super().__init__(name="feeder", daemon=True)
        self.staging, self.landing, self.rhythm, self.periods = staging, landing, rhythm, periods
        self.error: BaseException | None = None
        self._stopped = threading.Event()

    def run(self) -> None:
        """The thread's work; an error is kept in ``error``."""
        from cumulus_ops.demo.events import deliver_period

        try:
            for period in range(self.periods):
                wait = (self.rhythm.period_start(period) - datetime.datetime.now(datetime.UTC)).total_seconds()
                if self._stopped.wait(max(0.0, wait)):
                    return
                deliver_period(self.staging, self.landing, period)
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopped.set()
        self.join()
