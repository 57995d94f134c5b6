"""Time goes on: whatever ticks come when, of whichever coordinator, late, twice or in one batch with rows, every committed epoch equals the
serial interpreter; and that equals DuckDB, asked the views' SQL with the time written out."""

from __future__ import annotations

import datetime
import tempfile
import unittest.mock
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.epochs import voting
from cumulus_ops.opening.runtime import initialise, open_runtime
from m3 import parse
from m3.clock import CLOCK
from tests.model.test_engine_against_interpreter import QUICK, World, _play
from tests.support.projects import interpret, make_project
from tests.support.sampling import sampled

RELATIONS = parse(
    "RELATION c(id INT, k INT, ts TIMESTAMP NULL, d DATE, x INT NULL); RELATION u(k INT, since TIMESTAMP, w INT);"
).relations
TABLES = "CREATE TABLE c (id INT, k INT, ts TIMESTAMP, d DATE, x INT); CREATE TABLE u (k INT, since TIMESTAMP, w INT)"
DAY = datetime.datetime(2024, 2, 27)
#: Name -> views; each is one project. `ts` is a time, `d` a day, `since` from when on a row is there.
VIEWS = {
    "leave": {
        "leaving": "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM c WHERE ts > now() - INTERVAL '2 days' GROUP BY k",
        "entering": "SELECT id, ts FROM c WHERE ts <= now()",
        "both": "SELECT k, MAX(x) AS m FROM c WHERE ts BETWEEN now() - INTERVAL '36 hours' AND now() GROUP BY k",
        "today": "SELECT COUNT(*) AS n FROM c WHERE d = current_date",
    },
    "join": {
        "joined": "SELECT c.k, COUNT(*) AS n FROM c JOIN u ON c.k = u.k WHERE ts > now() - INTERVAL '2 days' AND since <= now() GROUP BY c.k",
        "outer": "SELECT c.id, u.w FROM c LEFT JOIN u ON c.k = u.k AND u.since > now() - INTERVAL '1 day' WHERE c.d >= current_date",
        "missing": "SELECT k FROM u WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k = u.k AND c.ts > now() - INTERVAL '1 day')",
        "own": "SELECT a.id, b.id AS other FROM c a JOIN c b ON a.k = b.k AND a.id < b.id WHERE a.ts > now() AND b.d < current_date",
    },
    "derived": {
        "silent": "SELECT k, MAX(ts) AS last FROM c GROUP BY k HAVING MAX(ts) <= now() - INTERVAL '1 day'",
        "kinds": "SELECT DISTINCT k FROM c WHERE d + INTERVAL '1 day' >= current_date",
        "ranked": "SELECT id, RANK() OVER (PARTITION BY k ORDER BY ts, id) AS r FROM c WHERE now() - ts < INTERVAL '3 days'",
        "parts": "SELECT k, COUNT(*) FILTER (WHERE ts > now() - INTERVAL '1 day') AS n, COUNT(*) AS every FROM c GROUP BY k",
    },
}
QUERIES = (
    "SELECT id, k FROM c WHERE {0}",
    "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM c WHERE {0} AND {1} GROUP BY k",
    "SELECT DISTINCT k FROM c WHERE NOT ({0}) AND x > 0",
    "SELECT c.id, w FROM c LEFT JOIN u ON c.k = u.k AND {0} WHERE {1}",
    "SELECT w FROM u WHERE since <= now() AND k IN (SELECT k FROM c WHERE {0})",
    "SELECT k FROM c WHERE {0} EXCEPT SELECT k FROM c WHERE {1}",
)

moments = st.integers(0, 16).map(lambda n: DAY + n * datetime.timedelta(hours=8))
small = st.integers(0, 3)
maybe = st.one_of(st.none(), small)
rows = st.one_of(
    st.tuples(
        st.just("c"),
        st.tuples(small, small, st.one_of(st.none(), moments), moments.map(lambda m: m.date()), maybe),
    ),
    st.tuples(st.just("u"), st.tuples(small, moments, small)),
    st.tuples(st.just(CLOCK), st.tuples(moments)),
)
times = st.tuples(
    st.sampled_from(["ts", "CAST(d AS TIMESTAMP)", "ts + INTERVAL '30 hours'"]),
    st.sampled_from(["<", "<=", ">", ">=", "="]),
    st.sampled_from(["now()", "now() - INTERVAL '1 day'", "now() - INTERVAL '1 month'", "DATE_TRUNC('day', now())"]),
)
days = st.tuples(
    st.sampled_from(["d", "CAST(ts AS DATE)"]),
    st.sampled_from(["<", "<=", ">", ">=", "="]),
    st.sampled_from(["current_date", "CAST(now() - INTERVAL '2 days' AS DATE)"]),
)
conditions = st.one_of(times, days).flatmap(
    lambda parts: st.sampled_from([" ".join(parts), " ".join((parts[2], parts[1], parts[0]))])
)
views = st.lists(st.builds(str.format, st.sampled_from(QUERIES), conditions, conditions), min_size=1, max_size=3).map(
    lambda texts: {f"v{i}": text for i, text in enumerate(texts)}
)


class Asking(World):
    """A world that asks DuckDB, too."""

    def expected(self, epoch: int) -> dict[str, object]:
        events = [e for key in sorted(self.log) if key[0] <= epoch for e in self.log[key]]
        now = max((row[0] for name, _, row in events if name == CLOCK), default=None)
        oracle, database = interpret(self.rt.program, events), duckdb.connect()
        database.execute(TABLES)
        for name, width in (("c", 5), ("u", 3)):
            held = [row for relation, sign, row in events if relation == name and sign > 0]
            for gone in (row for relation, sign, row in events if relation == name and sign < 0):
                held.remove(gone)
            if held:
                database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * width)})", held)
        for view in self.rt.program.views:
            text = str(view.sql).replace("now()", "CAST(? AS TIMESTAMP)").replace("current_date", "CAST(? AS DATE)")
            asked = database.execute(text, [now] * text.count("?")).fetchall()
            assert sorted(oracle.view_rows(view.name), key=repr) == sorted(asked, key=repr), (view.sql, now)
        return super().expected(epoch)


def _play_in(folder: str, texts: Mapping[str, str], data: st.DataObject) -> None:
    project = make_project(Path(folder), RELATIONS, views=texts)
    initialise(project)
    # ticks come when the test says so
    with open_runtime(project) as rt, unittest.mock.patch.object(voting, "tick_if_due", return_value=False):
        _play(Asking(rt, rows=rows), data)


@pytest.mark.parametrize("name", sampled(VIEWS, 2))
@settings(QUICK)
@given(data=st.data())
def test_snapshots_are_right_whatever_ticks_come(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _play_in(folder, VIEWS[name], data)


@settings(QUICK)
@given(texts=views, data=st.data())
def test_random_filters(texts: dict[str, str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _play_in(folder, texts, data)
