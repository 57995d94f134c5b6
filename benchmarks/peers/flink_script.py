"""Runs in Flink's own environment: ``flink_script.py SPEC ANSWER``; see ``flink.py`` for the specification.

First the query runs on small tables, which warms up the machine and whose answer is checked; then on the large ones,
into a sink that discards. A bounded job that ends without an error has read all of its input.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pyflink.common import Configuration  # type: ignore[import-not-found]
from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

OPTIONS = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "20000",
    "taskmanager.memory.network.min": "512mb",
    "taskmanager.memory.network.max": "512mb",
}


def environment(spec: dict[str, Any], folder: str) -> TableEnvironment:
    """A table environment with the relations over a folder's CSV files, and the query as the view ``answer``."""
    configuration = Configuration()
    for name, value in {**OPTIONS, "parallelism.default": str(spec["cores"])}.items():
        configuration.set_string(name, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    tables = TableEnvironment.create(settings)
    for relation, columns in spec["relations"].items():
        declared = ", ".join(f"{name} {type_}" for name, type_ in columns)
        source = f"'connector' = 'filesystem', 'path' = 'file://{folder}/{relation}.csv', 'format' = 'csv'"
        tables.execute_sql(f"CREATE TABLE {relation} ({declared}) WITH ({source})")
    tables.execute_sql(f"CREATE VIEW answer AS {spec['sql']}")
    return tables


def small_answer(tables: TableEnvironment) -> list[list[Any]]:
    """The rows that are left when all changes have been applied."""
    rows: Counter[tuple[Any, ...]] = Counter()
    with tables.execute_sql("SELECT * FROM answer").collect() as changes:
        for change in changes:
            rows[tuple(change)] += 1 if change.get_row_kind().name in ("INSERT", "UPDATE_AFTER") else -1
    return [[encoded(value) for value in row] for row, count in rows.items() for _ in range(count)]


def encoded(value: Any) -> Any:
    """A value that JSON can hold."""
    if value is None or isinstance(value, int | float | str):
        return value
    return {"decimal": str(value)} if type(value).__name__ == "Decimal" else str(value)


def seconds_of(tables: TableEnvironment) -> float:
    """How long the whole stream takes, planning and the job's start included."""
    begun = time.perf_counter()
    tables.execute_sql("CREATE TABLE discarded WITH ('connector' = 'blackhole') AS SELECT * FROM answer").wait()
    return time.perf_counter() - begun


def reason_of(error: Exception) -> str:
    """What Flink's planner said, without the stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if "Exception" in line and not line.startswith("at ")]
    return (said or lines or [type(error).__name__])[0].split("Exception: ", 1)[-1][:200]


def main(told: Path, answer: Path) -> None:
    """Run what ``told`` specifies."""
    spec = json.loads(told.read_text())
    try:
        rows = small_answer(environment(spec, spec["small"]))
    except Exception as error:
        print(error, flush=True)
        answer.write_text(json.dumps({"unsupported": f"Flink SQL: {reason_of(error)}"}))
        return
    seconds = seconds_of(environment(spec, spec["tables"]))
    answer.write_text(json.dumps({"rows": rows, "seconds": seconds}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
