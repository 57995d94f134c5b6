"""Ctrl-C and its like, so that what was started is stopped in peace."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interruptible"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Ctrl-C, SIGTERM and a closed terminal raise KeyboardInterrupt, once: what is being stopped then is stopped in peace. Who stops
    things for another reason sets the event that is given.

    Installing a handler also gives children the default action for SIGINT, which a shell's background job ignores.
    """
    seen = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        if not seen.is_set():
            seen.set()
            raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
