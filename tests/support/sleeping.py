"""Code that sleeps, and does not in a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest


def instead_of_sleep(patch: pytest.MonkeyPatch, module: ModuleType, sleep: Callable[[float], object]) -> None:
    """Call ``sleep`` where the module calls ``time.sleep``, and nowhere else: other threads of the process sleep, too."""
    patch.setattr(module, "time", SimpleNamespace(**{**vars(time), "sleep": sleep}))
