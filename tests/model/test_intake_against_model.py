"""Whatever lands, in whatever order, however often: each row counts once, or is counted as a repeat, quarantined, or in a file that is set
aside. A plain model says which; processes die while they append."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.append import append
from cumulus_ops.append.append import append_delivery
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.settings import Project
from cumulus_ops.sources.pending import Sources
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import make_project

RELATIONS = ("left", "right")
COORDINATORS = 2
Row = tuple[int | None, str, int]  # event, op, value
NUMBERS = st.integers(0, 6)
EVENTS = st.dictionaries(
    NUMBERS, st.lists(st.tuples(st.sampled_from("ID"), st.integers(0, 1)), min_size=1, max_size=3), max_size=4
)
FILES = st.one_of(
    EVENTS.map(lambda events: [(e, op, v) for e in sorted(events) for op, v in events[e]]),
    st.lists(st.tuples(st.none(), st.sampled_from("ID"), st.integers(0, 1)), min_size=1, max_size=3),
)


@dataclass(frozen=True)
class Drop:
    """What lands: the rows of each relation, or, in ``damaged`` ones, as many in a file that nobody can read. ``again``: as an earlier drop."""

    coordinator: int
    files: dict[str, list[Row]]
    damaged: frozenset[str]
    again: int | None
    dies: str | None


@st.composite
def drops(draw: st.DrawFn) -> list[Drop]:
    made: list[Drop] = []
    for _ in range(draw(st.integers(1, 7))):
        again = draw(st.one_of(st.none(), st.integers(0, len(made) - 1))) if made else None
        files = (
            draw(st.dictionaries(st.sampled_from(RELATIONS), FILES, max_size=2)) if again is None else made[again].files
        )
        damaged = draw(st.frozensets(st.sampled_from(RELATIONS), max_size=1))
        dies = draw(st.one_of(st.none(), st.sampled_from(["before-files", "before-commit", "after-commit"])))
        coordinator = draw(st.integers(0, COORDINATORS - 1)) if again is None else made[again].coordinator
        made.append(Drop(coordinator, files, damaged if again is None else made[again].damaged, again, dies))
    return made


@dataclass
class Counts:
    accepted: int = 0
    repeated: int = 0
    quarantined: int = 0
    files: int = 0


@dataclass
class Model:
    """What has been accepted: the rows of each numbered event, and the drops that had events without numbers."""

    events: dict[tuple[int, str, int], Counter[tuple[str, int]]] = field(default_factory=dict)
    contents: dict[tuple[int, str], bool] = field(default_factory=dict)
    log: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    def take(self, drop: Drop) -> Counts:
        counts, readable = Counts(), {r: rows for r, rows in drop.files.items() if r not in drop.damaged}
        key = (drop.coordinator, json.dumps({r: (drop.files[r], r in drop.damaged) for r in sorted(drop.files)}))
        unnumbered = any(rows and rows[0][0] is None for rows in readable.values())
        if unnumbered and key in self.contents:
            return Counts(files=1)
        self.contents[key] = True
        counts.files = len(drop.files) - len(readable)
        for relation, rows in readable.items():
            self._take(drop.coordinator, relation, rows, counts)
        return counts

    def _take(self, coordinator: int, relation: str, rows: list[Row], counts: Counts) -> None:
        events: dict[int | None, list[tuple[str, int]]] = {}
        for event, op, value in rows:
            events.setdefault(event, []).append((op, value))
        for event, found in events.items():
            known = None if event is None else self.events.get((coordinator, relation, event))
            if known is None:
                counts.accepted += len(found)
                self.log.update((relation, op, value) for op, value in found)
                if event is not None:
                    self.events[coordinator, relation, event] = Counter(found)
            elif known == Counter(found):
                counts.repeated += len(found)
            else:
                counts.quarantined += len(found)


class Died(BaseException):
    """A process that is no more."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    relations = [Relation(name, (Column("v", INT),)) for name in RELATIONS]
    views = {"n": "SELECT COUNT(*) AS n FROM left AS l, right AS r WHERE l.v = r.v"}
    project = make_project(tmp_path_factory.mktemp("intake"), relations, views=views, coordinators=COORDINATORS)
    initialise(project)
    return project


def write(project: Project, drop: Drop, name: str) -> None:
    folder = project.landing / str(drop.coordinator) / f".{name}"
    folder.mkdir(parents=True)
    for relation, rows in drop.files.items():
        columns = {"op": [op for _, op, _ in rows], "v": pa.array([v for _, _, v in rows], pa.int64())}
        if not rows or rows[0][0] is not None:
            columns["event"] = pa.array([e for e, _, _ in rows], pa.int64())
        file = folder / f"{relation}.parquet"
        pq.write_table(pa.table(columns), file)
        if relation in drop.damaged:
            file.write_bytes(file.read_bytes()[:-20])
    (folder / "_SUCCESS").touch()
    folder.rename(folder.with_name(name))


def take(project: Project, catalog: Catalog, drop: Drop, name: str) -> None:
    """Append what waits, again if the process dies; a new one knows what the catalog knows."""
    dies = drop.dies

    def reach(place: str) -> None:
        nonlocal dies
        if place == f"append.{dies}":
            dies = None
            raise Died

    while True:
        waiting = Sources(project, catalog).pending(drop.coordinator)
        if not waiting:
            return
        with patch.object(append, "reach", reach):
            try:
                append_delivery(project, catalog, drop.coordinator, waiting[0])
            except Died:
                continue
        assert waiting[0].name == name


@settings(deadline=None)
@given(drops())
def test_every_row_is_accounted_for(template: Project, landed: list[Drop]) -> None:
    saved = template.state.with_name("saved")
    if not saved.exists():
        shutil.copytree(template.state, saved)
    shutil.rmtree(template.state)
    shutil.rmtree(template.landing, ignore_errors=True)
    shutil.copytree(saved, template.state)
    model, catalog = Model(), Catalog(template.catalog_url, template.state)
    try:
        for number, drop in enumerate(landed):
            name = f"d{number}"
            write(template, drop, name)
            take(template, catalog, drop, name)
            expected = model.take(drop)
            batches = [b for b in catalog.log.batches() if b.drop == name]
            assert (
                Counts(
                    sum(b.events for b in batches),
                    sum(b.duplicates for b in batches),
                    sum(b.quarantined for b in batches),
                    sum(f.delivery == name for f in catalog.deliveries.files_aside()),
                )
                == expected
            )
        check_log(template, catalog, model)
    finally:
        catalog.close()


def check_log(project: Project, catalog: Catalog, model: Model) -> None:
    found: Counter[tuple[str, str, int]] = Counter()
    for file in catalog.log.files():
        for row in pq.read_table(project.state / file.path).to_pylist():
            found[file.relation, "I" if row["_sign"] > 0 else "D", row["v"]] += 1
    assert found == model.log
    kept = sum(pq.read_metadata(project.state / q.path).num_rows for q in catalog.deliveries.quarantined_rows())
    assert (
        kept
        == sum(b.quarantined for b in catalog.log.batches())
        == sum(sum(q.reasons.values()) for q in catalog.deliveries.quarantined_rows())
    )
