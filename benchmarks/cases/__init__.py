"""What is measured, one module per case: a function from :class:`~benchmarks.settings.Settings` to rows, as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.cases import (
    batches,
    cores,
    fixed,
    hotkey,
    keys,
    memory,
    recovery,
    refresh,
    size,
    start,
    state,
    stream,
    together,
    views,
    ways,
)
from benchmarks.rows import Row
from benchmarks.settings import Settings

__all__ = ["CASES", "Case"]

#: Yields the rows of each finished contest.
Case = Callable[[Settings], Iterator[list[Row]]]

CASES: dict[str, Case] = {
    "fixed": fixed.run,
    "state": state.run,
    "refresh": refresh.run,
    "together": together.run,
    "hotkey": hotkey.run,
    "cores": cores.run,
    "batches": batches.run,
    "memory": memory.run,
    "size": size.run,
    "views": views.run,
    "stream": stream.run,
    "keys": keys.run,
    "start": start.run,
    "ways": ways.run,
    "recovery": recovery.run,
}
