"""Golden files: a missing one fails; ``UPDATE_GOLDEN=1 pytest tests/unit/m3`` rewrites them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """``golden(name, text)``: the text must be what the golden file holds."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists():
            pytest.fail(f"no golden file {path}; run with UPDATE_GOLDEN=1 and review it")
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; UPDATE_GOLDEN=1 rewrites it"

    return compare
