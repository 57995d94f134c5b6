"""Settings for all tests."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

import cumulus_ops  # noqa: F401 - the language's tests match regular expressions, which it does not do by itself
from tests.support.sharing import share_bytecode, share_catalogs, share_programs, use_memory

gc.disable()  # until all is collected: what is imported stays, and to look at it again and again takes a seventh of that time
use_memory()  # before pytest asks where temporary folders lie
share_bytecode()
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers must find this environment's packages
#: Spark's JVM compiles each of many small plans, and runs it once: its second compiler and its parallel collector cost more than half of its time (39.6 s of a processor, and 16.9 s without).
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("SPARK_SUBMIT_OPTS", f'{JVM} -Dspark.executor.extraJavaOptions="{JVM}"')
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", JVM)  # of a cluster's master and workers

#: What the tests draw at random is the same in each run, and little, so that a change that fails is the change's fault. ``--hypothesis-profile=random`` draws anew, and much more.
#: No example is judged by how long it takes: a busy machine would fail.
settings.register_profile("fixed", max_examples=10, derandomize=True, print_blob=True, deadline=None)
settings.register_profile("random", max_examples=400, print_blob=True, deadline=None)
settings.load_profile("fixed")

#: Units of work, the longest first: a process takes one as a whole. Those who start Airflow, Chromium or a cluster stand in a queue, since each of them
#: keeps all processors busy; the tests in ``spark`` share one session, and so do others that prove snapshots, which would each start one. Every other file is a unit of its own.
QUEUES = {
    "servers": re.compile(r"tests/(airflow|browser)/|tests/e2e/test_(tutorial|compose_commands|served_shape)\b"),
    "spark": re.compile(
        r"tests/spark/|tests/e2e/test_all_of_tpch\b|tests/unit/(cli/test_(batches|commands|one_line_errors|query_formats)|orchestration/test_steps|local/test_hidden_secrets)\b"
    ),
}
LONG = re.compile(r"tests/(e2e|model|fuzz)/|papers/")


def queue_of(nodeid: str) -> str:
    """The unit of work to which a test belongs."""
    return next((name for name, files in QUEUES.items() if files.match(nodeid)), nodeid.split("::")[0])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Several processes begin with what takes long, so that none works alone in the end. In one, tests have the order that was asked for."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    order = {**{name: i for i, name in enumerate(QUEUES)}, "long": len(QUEUES), "": len(QUEUES) + 1}
    items.sort(key=lambda item: order.get(queue_of(item.nodeid), order["long" if LONG.match(item.nodeid) else ""]))


class ByQueue(LoadScopeScheduling):
    """What a process takes at once: a queue, or a file."""

    def _split_scope(self, nodeid: str) -> str:
        return queue_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Several processes (``pytest -n 2``) divide the tests so, in the order of the tests."""
    gc.enable()  # in the process that hands tests out, which collects none
    config.option.loadscopereorder = False
    return ByQueue(config, log)


@pytest.fixture(scope="session", autouse=True)
def shared() -> Iterator[None]:
    """What catalogs are made of is made once for all tests of a process, and so is a program."""
    with share_catalogs(), share_programs():
        yield


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what is imported; it would look at it every few milliseconds."""
    gc.collect()
    gc.freeze()
    gc.enable()
