"""Settings for all tests."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

import cumulus_ops  # noqa: F401 - the language's tests match regular expressions, which it does not do by itself
from tests.support.sharing import share_catalogs, use_memory

use_memory()  # before pytest asks where temporary folders lie
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers must find this environment's packages

#: The folders whose tests start servers. One process runs them all, one after the other: they share what they start, and need not share
#: the processors with one another. The other files are for whichever process is free.
SERVERS = ("airflow", "browser", "e2e", "spark")


class ByFile(LoadScopeScheduling):
    """What a process takes at once: all tests that start servers, or one of the other files."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return "servers" if file.split("/")[1] in SERVERS else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Several processes (``pytest -n 2``) divide the tests so."""
    return ByFile(config, log)


@pytest.fixture(scope="session", autouse=True)
def shared_catalogs() -> Iterator[None]:
    """What catalogs are made of is made once for all tests of a process."""
    with share_catalogs():
        yield


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what is imported; it would look at it every few milliseconds."""
    gc.collect()
    gc.freeze()
