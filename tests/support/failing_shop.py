"""A project on disk with a view that fails for an order with the id 0, and one that does not."""

from __future__ import annotations

import json
from pathlib import Path

from cumulus_ops.cli.scaffold import write_project
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.project_file import load_project

ODD = "SELECT o_customer,\n  SUM(o_price / o_id) AS x FROM orders GROUP BY 1"


def make_failing_shop(folder: Path) -> None:
    """Write it, with the views ``revenue`` and ``odd``; its state is where ``CUMULUS_HOME`` says."""
    write_project(folder, "shop")
    file = folder / "cumulus.yaml"
    text = file.read_text().replace("kind: spark", "kind: inprocess")
    file.write_text(text.replace("  revenue: views/revenue.sql", "  revenue: views/revenue.sql\n  odd: views/odd.sql"))
    (folder / "views" / "odd.sql").write_text(ODD)
    initialise(load_project(folder))


def land_order(folder: Path, op: str, order: int, event: int) -> None:
    """Land a drop with one event of one order."""
    drop = load_project(folder).landing / "0" / f"d{event}"
    drop.mkdir(parents=True)
    row = {"o_id": order, "o_customer": "ann", "o_price": "6.00", "o_note": None, "op": op, "event": event}
    (drop / "orders.ndjson").write_text(json.dumps(row) + "\n")
    (drop / "_SUCCESS").touch()
