"""The first files of a new project: it runs as it is, on the sample data that comes with it."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import click

from cumulus_ops.cli.analysing import advice_on
from cumulus_ops.cli.options import explain_errors
from cumulus_ops.coordination.plan import read_plan
from cumulus_ops.opening.compiling import build_program
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import FILE_NAME, load_project
from m3.explain.report import scan_notes

__all__ = ["init", "land_sample", "write_project"]

CUMULUS_YAML = """\
# What this project maintains. Values may use ${{NAME}} and ${{NAME:-default}} from the environment.
name: {name}

# The tables whose inserts and deletes arrive. Types: bigint, int, decimal(p,s), string, date, timestamp, boolean, double;
# ` null` after the type: may be NULL. Without a key, rows may repeat. `mode: strict`: a second insert of a key, or a delete of a row that is
# not there, is put aside; `mode: upsert`: rows with op U replace the row of their key; `mode: trusted`: no such thing will happen.
relations:
  orders:
    columns:
      o_id: bigint
      o_customer: string
      o_price: decimal(15,2)
      o_note: string null
    key: [o_id]
    mode: strict
  customers:
    columns:
      c_name: string
      c_city: string
    key: [c_name]
    mode: strict

# Where drops appear: <landing>/<coordinator>/<drop>/<relation>.<csv|ndjson|parquet>, each drop by one rename.
sources:
  landing: ${{CUMULUS_HOME:-var}}/landing

coordinators: 1

# One snapshot per epoch. Under Airflow epochs follow this rhythm; `cumulus run` ends one when all that waits is in it.
epochs:
  length: 5m
  start: {start}

# What to keep fresh: one file with a SELECT for each view.
views:
  revenue: views/revenue.sql
  revenue_by_city: views/revenue_by_city.sql

# Everything that Cumulus writes: its state (log, maps, catalog), the views as Delta tables, the reports.
state: ${{CUMULUS_HOME:-var}}/state
publish:
  path: ${{CUMULUS_HOME:-var}}/published

# Each snapshot is compared with recomputation on Spark: fail, warn or off; what could not be compared: warn or fail;
# every N epochs; all views, or so many in turn.
validation:
  policy: fail
  unproved: warn
  every: 1 epoch
  views: all
  reports: ${{CUMULUS_HOME:-var}}/reports

# Where batches are applied: inprocess is the fastest on one machine, spark (master, or remote: sc://...) for large ones.
executor:
  kind: inprocess
  master: local[2]
"""
REVENUE_SQL = """\
SELECT o_customer, SUM(o_price) AS revenue, COUNT(*) AS orders
FROM orders
GROUP BY o_customer
"""
REVENUE_BY_CITY_SQL = """\
SELECT c_city, SUM(o_price) AS revenue, COUNT(*) AS orders
FROM orders JOIN customers ON o_customer = c_name
GROUP BY c_city
"""
GITIGNORE = """\
var/
__pycache__/
"""
README = """\
# {name}
A Cumulus project: SQL views that stay right while their tables change.

```console
cumulus run               # apply what has landed, commit, publish and validate a snapshot
cumulus query revenue     # its rows
cumulus status            # where it is
cumulus up                # Airflow, Spark and the UI on this machine; Ctrl-C stops them
```

`cumulus.yaml` says what the tables, the views and the folders are. Data arrives in `var/landing/0`: a folder with a file for each
table, such as `orders.csv`, that appears there by one rename. The two sample drops, `sample-1` and `sample-2`, show the columns: those
of the table, `op` (`I` inserts the row, `D` deletes it) and `event`, a number that grows (rows that share one happen at once, which makes an
update of a delete and an insert).
"""
SAMPLE = {
    "sample-1": {
        "customers": """\
c_name,c_city,op,event
ann,Lisbon,I,1
bob,Porto,I,2
cleo,Porto,I,3
""",
        "orders": """\
o_id,o_customer,o_price,o_note,op,event
1,ann,19.90,,I,1
2,bob,5.00,gift,I,2
3,ann,7.25,,I,3
4,cleo,12.00,,I,4
""",
    },
    "sample-2": {
        "orders": """\
o_id,o_customer,o_price,o_note,op,event
2,bob,5.00,gift,D,5
3,ann,7.25,,D,6
3,ann,8.25,price corrected,I,6
5,cleo,30.10,,I,7
""",
    },
}


def write_project(folder: Path, name: str | None = None, now: datetime.datetime | None = None) -> list[Path]:
    """Write the files of a first project, unless ``folder`` has one already.

    Args:
        folder: where.
        name: the project's; by default the folder's.
        now: when its epochs begin.

    Returns:
        the files written.
    """
    if (folder / FILE_NAME).exists():
        return []
    chosen = name or re.sub(r"\W+", "_", folder.resolve().name).strip("_") or "project"
    if not re.fullmatch(r"[A-Za-z_]\w*", chosen):
        raise InputProblem(f"{chosen!r} is not a name", kind="bad-name", hint="give one: --name my_project")
    start = (now or datetime.datetime.now(datetime.UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
    texts = {
        FILE_NAME: CUMULUS_YAML.format(name=chosen, start=start),
        "views/revenue.sql": REVENUE_SQL,
        "views/revenue_by_city.sql": REVENUE_BY_CITY_SQL,
        ".gitignore": GITIGNORE,
        "README.md": README.format(name=chosen),
    }
    files = {folder / path: text for path, text in texts.items() if not (folder / path).exists()}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


def land_sample(folder: Path) -> list[Path]:
    """Land the sample drops of the project in ``folder``, as a source would: each appears by one rename.

    Returns:
        the drops.
    """
    landing = load_project(folder).landing / "0"
    landed = []
    for name, files in SAMPLE.items():
        drop, made = landing / name, landing / f".{name}"
        if drop.exists():
            continue
        made.mkdir(parents=True, exist_ok=True)
        for relation, text in files.items():
            (made / f"{relation}.csv").write_text(text, encoding="utf-8")
        (made / "_SUCCESS").touch()  # as good as a rename to say that it is complete
        made.rename(drop)
        landed.append(drop)
    return landed


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("."))
@click.option("--name", help="The project's name; by default the folder's.")
@click.option("--empty", is_flag=True, help="Write files to change, without sample data; prepare the catalog later.")
def init(folder: Path, name: str | None, empty: bool) -> None:
    """Write a first project into FOLDER, with sample data that has landed; check an existing one. Either way, prepare its catalog."""
    with explain_errors():
        written = write_project(folder, name)
        if written and not empty:
            written += land_sample(folder)
        project = load_project(folder)
        before = read_plan(project.state)
        if not (written and empty):
            initialise(project)
    for path in written:
        click.echo(f"wrote {path}")
    if written and empty:
        click.echo(f"next: describe your tables and views in {folder / 'cumulus.yaml'}, then `cumulus init` again")
        return
    plan = read_plan(project.state)
    views = len(project.views if plan is None else plan.views)
    click.echo(f"{project.name}: {len(project.relations)} relations, {views} views; the catalog is ready")
    for note in () if plan is None else (*plan.notes_since(before), advice_on(project, plan)):
        if note is not None:
            click.echo(f"note: {note}", err=True)
    if before is None:  # else it has been said, and compiling takes time
        for note in scan_notes(build_program(project)):
            click.echo(f"note: {note}", err=True)
    if written:
        where = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
        click.echo(f"next: {where}cumulus run && cumulus query {next(iter(project.views))}")
