"""What long work says while it lasts: lines on stderr, with the minutes since the program began."""

from __future__ import annotations

import sys
import time

__all__ = ["say"]

_STARTED = time.monotonic()


def say(text: str) -> None:
    """One line on stderr."""
    elapsed = int(time.monotonic() - _STARTED)
    print(f"[{elapsed // 60:3}:{elapsed % 60:02}] {text}", file=sys.stderr, flush=True)
