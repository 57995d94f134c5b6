"""What a deployment costs beside recomputing everything: 20 edits that change what views say, fixed beforehand, one by one, of a project that maintains 17 queries of TPC-H.

Seconds are of the process's CPU: for a deployment to find the change, fill and switch; for recomputing to load all tables and apply them for all 17 views, which are compiled already.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.experiments.data import merge_csv
from benchmarks.progress import say
from benchmarks.settings import HOME, REPOSITORY
from benchmarks.states import scratch
from benchmarks.workload import tables_of
from cumulus_ops.append.delivery import TABLES, land_tables
from cumulus_ops.deploying.deploy import deploy
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch, settle
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import ExecutorSettings, Project

__all__ = ["EDITS", "run_edits"]

QUERIES = tuple(f"q{i}" for i in (1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19))
#: A view, what is replaced in its text, and by what. Nothing replaced: the query is added; nothing instead: removed.
EDITS = (
    ("q6", "l_quantity < 24", "l_quantity < 25"),
    ("q1", "sum(l_quantity) as sum_qty,", "sum(l_quantity) as sum_qty, min(l_quantity) as least,"),
    ("q3", "BUILDING", "AUTOMOBILE"),
    ("q4", "1993", "1994"),
    ("q5", "ASIA", "EUROPE"),
    ("q12", "SHIP", "AIR"),
    ("q14", "PROMO", "ECONOMY"),
    ("q19", "Brand#12", "Brand#13"),
    ("q10", "'R'", "'A'"),
    ("q13", "special", "pending"),
    ("q17", "Brand#23", "Brand#24"),
    ("q18", "300", "250"),
    ("q16", "Brand#45", "Brand#44"),
    ("q11", "GERMANY", "FRANCE"),
    ("q9", "green", "red"),
    ("q7", "FRANCE", "CHINA"),
    ("q8", "AMERICA", "EUROPE"),
    ("q22", "", "added"),
    ("q15", "", "added"),
    ("q9", "removed", ""),
)
Views = Mapping[str, str]


def run_edits(out: Path, sf: float) -> None:
    """Measure all edits, and Q3 beside Q5 and Q10, and write ``edits.csv``."""
    tables, base = tables_of(HOME, sf), load_project(REPOSITORY / "examples" / "tpch")
    with scratch(HOME) as folder:
        measured = _Measured(folder, base, tables)
        views = {name: _text(name) for name in QUERIES}
        all_s, rows = measured.load("all", views), list[dict[str, Any]]()
        for name, old, new in EDITS:
            views = _edit(views, name, old, new)
            found = measured.deploy("all", views)
            shown = f"{old or 'not there'} -> {new or 'not there'}"
            rows.append({"sf": sf, "view": name, "edit": shown, "recompute_s": round(all_s, 3), **found})
            say(f"{name}: {shown}: {all_s / found['deploy_s']:.1f} times")
        alone_s = measured.load("alone", {"q3": _text("q3")})
        beside = {name: _text(name) for name in ("q5", "q10")}
        measured.load("beside", beside)
        found = measured.deploy("beside", {**beside, "q3": _text("q3")})
        rows.append({"sf": sf, "view": "q3", "edit": "beside q5 and q10", "recompute_s": round(alone_s, 3), **found})
    merge_csv(out / "data" / "edits.csv", rows, ("sf", "view", "edit"))
    ratios = [row["recompute_s"] / row["deploy_s"] for row in rows[:-1]]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    say(f"geometric mean {mean:.1f} times, worst {min(ratios):.1f}")


def _text(query: str) -> str:
    return (REPOSITORY / "examples" / "tpch" / "views" / f"{query}.sql").read_text(encoding="utf-8")


def _edit(views: Views, name: str, old: str, new: str) -> dict[str, str]:
    if not old:
        return {**views, name: _text(name)}
    if not new:
        return {other: text for other, text in views.items() if other != name}
    if old not in views[name]:
        raise ValueError(f"{old!r} is not in {name}")
    return {**views, name: views[name].replace(old, new)}


@dataclass(frozen=True)
class _Measured:
    """Projects in one folder, over the same tables."""

    folder: Path
    base: Project
    tables: Path

    def load(self, name: str, views: Views) -> float:
        """Make a project of some views, append all tables and apply them; the seconds of CPU."""
        project = self._project(name, views)
        initialise(project)
        land_tables(project, self.tables)
        with open_runtime(project) as rt:
            before = time.process_time()
            run_minibatch(rt, 0, [TABLES])
            settle(rt)
            seconds = time.process_time() - before
            run_waiting(rt, validating=False)
        return seconds

    def deploy(self, name: str, views: Views) -> dict[str, Any]:
        """Deploy other views; the seconds of CPU, those of the switch that passed, and the events that were read."""
        with open_runtime(self._project(name, views)) as rt:
            before = time.process_time()
            deployed = deploy(rt)
            seconds = time.process_time() - before
        assert deployed is not None
        return {"deploy_s": round(seconds, 3), "switch_s": round(deployed.switch_s, 3), "events": deployed.filled}

    def _project(self, name: str, views: Views) -> Project:
        folder = self.folder / name
        return replace(
            self.base,
            views=dict(views),
            view_files={},
            landing=folder / "landing",
            state=folder / "state",
            catalog_url=f"sqlite:///{folder}/state/catalog.db",
            published=None,
            reports=folder / "reports",
            coordinators=1,
            executor=ExecutorSettings(kind="inprocess"),
        )
