"""Deliveries of transactions: what is rejected is a whole one, with its rows of all relations, each with its own reason."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.delivery import Delivery, Part
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.epochs.quarantine import drop_put_aside, put_aside, retry_put_aside
from cumulus_ops.files.columns import RawFile
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import InputProblem, SetupProblem
from cumulus_ops.project.settings import KeySettings, Project
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import make_project

ACCOUNT = Relation("account", (Column("id", INT), Column("owner", INT)), ("id",))
TRANSFER = Relation("transfer", (Column("amount", INT),))
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
Row = tuple[int, str, tuple[object, ...]]  # transaction, op, values


@pytest.fixture
def project(tmp_path: Path) -> Project:
    views = {"v": "SELECT COUNT(*) AS n FROM account, transfer WHERE id = amount"}
    project = make_project(tmp_path, (ACCOUNT, TRANSFER), views=views, coordinators=1)
    project = dataclasses.replace(project, keys={"account": KeySettings("strict")})
    initialise(project)
    return project


@pytest.fixture
def catalog(project: Project) -> Iterator[Catalog]:
    catalog = Catalog(project.catalog_url, project.state)
    yield catalog
    catalog.close()


def part(relation: Relation, rows: list[Row], *, broken: bool = False) -> Part:
    columns = {"op": [op for _, op, _ in rows], "event": [t for t, _, _ in rows]}
    columns |= {
        c.name: [None if v[i] is None else str(v[i]) for _, _, v in rows] for i, c in enumerate(relation.columns)
    }

    def read() -> Iterator[RawFile]:
        for i in range(len(rows)):  # in pieces of a row: events do not cross them here
            yield RawFile(pa.table({n: v[i : i + 1] for n, v in columns.items()}), np.arange(i, i + 1))
        if broken:
            raise InputProblem("breaks off", kind="broken", place=relation.name, hint="mend it")

    return Part(relation.name, relation.name, read)


def append(project: Project, catalog: Catalog, *parts: Part, begin: str | None = None, position: str = "1") -> None:
    delivery = Delivery("bank", f"to {position}", NOON, lambda: parts, begin, position, transactional=True)
    append_delivery(project, catalog, 0, delivery)


def log(project: Project, catalog: Catalog) -> dict[str, list[int]]:
    return {f.relation: pq.read_table(project.state / f.path)["_offset"].to_pylist() for f in catalog.log.files()}


def rejected(project: Project, catalog: Catalog) -> Counter[tuple[str, int, str]]:
    """(relation, transaction, kind) of what is in the quarantine."""
    found: Counter[tuple[str, int, str]] = Counter()
    for q in catalog.deliveries.quarantined_rows():
        assert q.transactional
        for row in pq.read_table(project.state / q.path).to_pylist():
            found[q.relation, int(json.loads(row["record"])["event"]), row["kind"]] += 1
    return found


def test_a_transaction_is_rejected_with_its_rows_of_all_relations(project: Project, catalog: Catalog) -> None:
    accounts: list[Row] = [(1, "I", (1, 1)), (2, "I", (1, 2)), (3, "I", (3, 3)), (4, "I", (4, 4))]
    transfers: list[Row] = [(1, "I", (10,)), (2, "I", (20,)), (3, "I", ("x",)), (4, "I", (40,)), (5, "I", (50,))]
    append(project, catalog, part(ACCOUNT, accounts), part(TRANSFER, transfers))
    assert log(project, catalog) == {"account": [1, 4], "transfer": [1, 4, 5]}
    assert rejected(project, catalog) == {
        ("account", 2, "doubled-key"): 1,
        ("transfer", 2, "transaction"): 1,
        ("account", 3, "transaction"): 1,
        ("transfer", 3, "not-an-int"): 1,
    }
    assert catalog.deliveries.source_position("bank") == "1"


@pytest.mark.parametrize("number", ["x", "", str(2**63), "1.5"])
def test_a_row_whose_transaction_cannot_be_read_is_rejected(project: Project, catalog: Catalog, number: str) -> None:
    table = pa.table({"op": ["I", "I"], "event": ["1", number], "amount": ["1", "2"]})
    rows = Part("transfer", "transfer", lambda: iter([RawFile(table, np.arange(2))]))
    append(project, catalog, rows, part(ACCOUNT, [(1, "I", (1, 1)), (7, "I", (7, 7))]))
    assert {q.relation: sum(q.reasons.values()) for q in catalog.deliveries.quarantined_rows()} == {
        "transfer": 2,
        "account": 1,
    }
    assert log(project, catalog) == {"account": [7]}


def test_what_is_right_only_after_a_rejected_transaction_is_rejected_too(project: Project, catalog: Catalog) -> None:
    accounts: list[Row] = [(1, "I", (1, 1)), (2, "D", (1, 1)), (3, "I", (1, 5))]
    transfers: list[Row] = [(2, "I", (None,))]
    append(project, catalog, part(ACCOUNT, accounts), part(TRANSFER, transfers))
    assert log(project, catalog) == {"account": [1]}
    assert sorted((t, kind) for _, t, kind in rejected(project, catalog)) == [
        (2, "null"),
        (2, "transaction"),
        (3, "doubled-key"),
    ]


def test_a_part_that_cannot_be_read_leaves_the_source_where_it_was(project: Project, catalog: Catalog) -> None:
    parts = part(ACCOUNT, [(1, "I", (1, 1))]), part(TRANSFER, [(1, "I", (10,))], broken=True)
    with pytest.raises(InputProblem, match="breaks off"):
        append(project, catalog, *parts)
    lacking = Part("transfer", "transfer", lambda: iter([RawFile(pa.table({"op": ["I"], "event": [1]}), np.arange(1))]))
    with pytest.raises(InputProblem, match="amount"):
        append(project, catalog, parts[0], lacking)
    assert (log(project, catalog), catalog.deliveries.source_position("bank"), catalog.deliveries.files_aside()) == (
        {},
        None,
        [],
    )


def test_a_source_that_numbers_its_rows_anew_each_time_stops_instead_of_losing_some(
    project: Project, catalog: Catalog
) -> None:
    orders = itertools.cycle([[1, 2, 2, 3], [2, 3, 1, 2]])

    def read() -> Iterator[RawFile]:
        values = [str(v) for v in next(orders)]
        table = pa.table({"id": values, "owner": ["0"] * 4, "op": ["I"] * 4, "event": range(4)})
        yield RawFile(table, np.arange(4))

    with pytest.raises(SetupProblem) as caught:
        append(project, catalog, Part("account", "account", read))
    assert caught.value.kind == "unsteady-source"
    assert (log(project, catalog), catalog.deliveries.source_position("bank")) == ({}, None)


@pytest.mark.parametrize("decide", [retry_put_aside, drop_put_aside])
@pytest.mark.parametrize("label", [0, 1])
def test_whatever_batches_its_rows_are_in_a_transaction_is_decided_as_a_whole(project: Project, decide, label) -> None:
    project = dataclasses.replace(project, batch_rows=4)
    with open_runtime(project) as rt:
        accounts: list[Row] = [(i, "I", (i if i != 2 else "x", 1)) for i in range(10)]
        append(project, rt.catalog, part(ACCOUNT, accounts), part(TRANSFER, [(i, "I", (i,)) for i in range(10)]))
        kept = put_aside(rt).rows
        assert len({r.batch for r in kept}) == len(kept) == 2
        done = decide(rt, [kept[label].label])
        if decide is retry_put_aside:
            assert [(r.accepted, r.rejected, len(r.labels)) for r in done] == [(0, 2, 2)]
            assert {q.relation for q in put_aside(rt).rows} == {"account", "transfer"}
        else:
            assert [r.label for r in done] == [r.label for r in kept]
            assert put_aside(rt).rows == ()
        offsets = [pq.read_table(project.state / f.path)["_offset"].to_pylist() for f in rt.catalog.log.files()]
        assert 2 not in [offset for some in offsets for offset in some]
