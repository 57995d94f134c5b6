"""The first files of a new project."""

from __future__ import annotations

import re
from pathlib import Path

from cumulus_ops.errors import InputProblem
from cumulus_ops.project_file import FILE_NAME

__all__ = ["write_project"]

CUMULUS_YAML = """\
# What this project maintains. Values may use ${{NAME}} and ${{NAME:-default}} from the environment.
name: {name}

# The tables whose inserts and deletes arrive. Types: bigint, int, decimal(p,s), string, date, timestamp, boolean;
# ` null` after the type: may be NULL. Without a key, rows may repeat.
relations:
  orders:
    columns:
      o_id: bigint
      o_customer: string
      o_price: decimal(15,2)
      o_note: string null
    key: [o_id]

# Where drops appear: <landing>/<coordinator>/<drop>/<relation>.<parquet|csv|ndjson>, each drop by one rename.
sources:
  landing: ${{CUMULUS_HOME:-var}}/landing

coordinators: 1

# One snapshot per epoch; the DAGs follow this rhythm.
epochs:
  length: 15m
  start: 2026-01-01T00:00:00Z

# What to keep fresh: SELECT ... SUM/COUNT/AVG ... GROUP BY.
views:
  revenue: views/revenue.sql

state: ${{CUMULUS_HOME:-var}}/state
publish:
  path: ${{CUMULUS_HOME:-var}}/published
# Snapshots are compared with recomputation on Spark: fail, warn or off; every N epochs; all views, or so many in turn.
validation:
  policy: fail
  every: 1 epoch
  views: all
  reports: ${{CUMULUS_HOME:-var}}/reports
executor:
  kind: spark
  master: local[2]
"""
REVENUE_SQL = """\
SELECT o_customer, SUM(o_price) AS revenue, COUNT(*) AS orders
FROM orders
GROUP BY o_customer
"""


def write_project(folder: Path, name: str | None = None) -> list[Path]:
    """Write the files of a first project, unless ``folder`` has one already.

    Returns:
        the files written.
    """
    if (folder / FILE_NAME).exists():
        return []
    chosen = name or re.sub(r"\W+", "_", folder.resolve().name).strip("_") or "project"
    if not re.fullmatch(r"[A-Za-z_]\w*", chosen):
        raise InputProblem(f"{chosen!r} is not a name", kind="bad-name", hint="give one: --name my_project")
    (folder / "views").mkdir(parents=True, exist_ok=True)
    files = {folder / FILE_NAME: CUMULUS_YAML.format(name=chosen), folder / "views" / "revenue.sql": REVENUE_SQL}
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return list(files)
