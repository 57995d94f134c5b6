"""Settings for all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers must find this environment's packages

#: The folders whose tests start servers. One process runs them all, one after the other, so that they share what they start, and one
#: another's processor they need not; the other files are for whichever process is free.
SERVERS = ("airflow", "browser", "e2e", "spark")
HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in its own hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say which tests belong together when several processes run them (``pytest -n 2 --dist loadgroup``)."""
    for item in items:
        place = item.path.relative_to(HERE)
        item.add_marker(pytest.mark.xdist_group("servers" if place.parts[0] in SERVERS else str(place)))
