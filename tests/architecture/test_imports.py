"""The house's rules: who may import whom, and how light DAG parsing stays."""

import json
import os
import subprocess
import sys
from pathlib import Path

from cumulus_ops.coordination.barriers import ALL
from cumulus_ops.coordination.plan import CoordinationPlan, write_plan

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("pyspark", "great_expectations", "pyarrow", "pandas", "deltalake", "sqlglot", "numpy")
PARSE = "import json, sys; import cumulus_dags; print(json.dumps(sorted(m for m in sys.modules if '.' not in m)))"


def test_import_directions():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([str(lint)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_parsing_the_dags_loads_nothing_heavy(tmp_path):
    write_plan(tmp_path / "cumulus" / "state", CoordinationPlan("batch", barriers=ALL))
    environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "dags")}
    environment["CUMULUS_HOME"] = str(tmp_path / "cumulus")
    environment.pop("CUMULUS_PROJECT", None)
    done = subprocess.run(
        [sys.executable, "-c", PARSE], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert "airflow" in loaded
    assert not set(HEAVY) & set(loaded)


def test_no_file_names_a_package_index_or_secret_host():
    constraints = (ROOT / "constraints.txt").read_text()
    assert "://" not in constraints
    assert all("==" in line for line in constraints.splitlines())
