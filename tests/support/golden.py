"""Golden files: a missing one fails; ``UPDATE_GOLDEN=1 pytest ...`` rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["GOLDEN", "compare_golden"]

GOLDEN = Path(__file__).parents[1] / "golden"


def compare_golden(name: str, text: str) -> None:
    """The text must be what the golden file holds."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if not path.exists():
        pytest.fail(f"no golden file {path}; run with UPDATE_GOLDEN=1 and review it")
    assert text == path.read_text(encoding="utf-8"), f"{path} differs; UPDATE_GOLDEN=1 rewrites it"
