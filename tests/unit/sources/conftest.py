"""What tests of sources share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that a source reads, empty at first."""
    found = tmp_path / "stream"
    found.mkdir()
    return found
