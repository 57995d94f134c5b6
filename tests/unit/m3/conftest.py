"""Golden files: a missing one fails; ``UPDATE_GOLDEN=1 pytest tests/unit/m3`` rewrites them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.golden import compare_golden


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """``golden(name, text)``: the text must be what the golden file holds."""
    return compare_golden
