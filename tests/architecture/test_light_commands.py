"""What answers at once must not import what it does not need: a guard for the seconds that a person waits."""

import json
import os
import subprocess
import sys

import pytest

from cumulus_ops.cli.scaffold import write_project
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.project_file import load_project
from tests.support.golden import GOLDEN

HEAVY = {
    "airflow",
    "alembic",
    "deltalake",
    "great_expectations",
    "lark",
    "matplotlib",
    "networkx",
    "pandas",
    "pyspark",
    "sqlalchemy.dialects.postgresql",
}
RUN = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from cumulus_ops.cli.main import main
main(sys.argv[1:])
"""
TASK = """
import json, sys
from cumulus_ops.orchestration import steps
steps.vote_epoch(sys.argv[1], 0, 0, patience_s=0)
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
WORKER = """
import json, sys
import cumulus_ops.compute.staged, cumulus_ops.compute.steps
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project that is initialised."""
    path = tmp_path_factory.mktemp("light")
    write_project(path, "light")
    initialise(load_project(path))
    return path


def modules_of(code, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    ("arguments", "also"),
    [
        (["status"], {"sqlglot"}),
        (["query", "revenue", "--tentative"], {"sqlglot"}),
        (["coordinators"], {"sqlglot"}),
        (["compile"], {"sqlalchemy"}),
        (["analyze", str(GOLDEN / "coordination" / "ads_poor.yaml")], {"sqlalchemy", "sqlglot", "m3.compiler"}),
    ],
    ids=lambda a: a[0] if isinstance(a, list) else "",
)
def test_a_command_that_answers_at_once_imports_nothing_heavy(folder, arguments, also, monkeypatch):
    monkeypatch.setenv("CUMULUS_PROJECT", str(folder))
    assert not modules_of(RUN, *arguments) & (HEAVY | also)


def test_a_task_starts_light(folder):
    assert not modules_of(TASK, str(folder)) & ((HEAVY | {"sqlglot"}) - {"airflow"})


def test_a_worker_of_spark_imports_neither_the_catalog_nor_the_compiler():
    heavy = (HEAVY | {"sqlalchemy", "sqlglot", "m3.compiler"}) - {"pyspark"}
    # pyarrow looks for pandas with the first array that it makes of a list: in the process that Spark forks its workers from, once
    assert not modules_of(WORKER) & (heavy - {"pandas"})


@pytest.mark.parametrize("module", ["cli.main", "compute.worker_daemon", "orchestration.steps", "web"])
def test_arrow_allocates_by_malloc_unless_somebody_wants_otherwise(module):
    code = f"import cumulus_ops.{module}, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    others = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    for chosen, expected in (({}, "system"), ({"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc")):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=others | chosen)
        assert done.stdout.decode().strip() == expected
