"""The law for numbers beyond 64 bits: keys, values, totals and their products, divisions and errors, wide and narrow mixed."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.query.read import read_view
from m3.datatypes import INT, decimal
from m3.errors import ValueProblem
from m3.program import Column, Relation
from tests.model.test_engine_against_interpreter import QUICK, World, _play
from tests.support.projects import interpret, make_project
from tests.support.runs import HUGE

W = Relation(
    "w",
    (
        Column("k", INT),
        Column("i", INT),
        Column("d", decimal(38, 10).with_null()),
        Column("n", decimal(38, 0)),
    ),
)
V = Relation("v", (Column("k", INT), Column("d", decimal(38, 10)), Column("p", decimal(15, 2))))
PROGRAMS: Mapping[str, Mapping[str, str]] = {
    "totals": {
        "sums": "SELECT k, SUM(d) AS s, SUM(n) AS t, SUM(i) AS u, COUNT(*) AS c FROM w GROUP BY k",
        "product": "SELECT SUM(n * p) AS s, COUNT(*) AS c FROM w, v WHERE w.k = v.k",
        "wide_product": "SELECT w.k, SUM(w.n * v.d) AS s FROM w, v WHERE w.k = v.k GROUP BY w.k",
        "of_totals": "SELECT (SELECT SUM(n) FROM w) * (SELECT SUM(d) FROM v) AS x",
        "having": "SELECT k, AVG(d) AS a FROM w GROUP BY k HAVING SUM(n) > 100 AND SUM(d) < 1",
    },
    "quotients": {
        "sums": "SELECT k, SUM(i / 7) AS s, SUM(d / i) AS t FROM w GROUP BY k",
        "average": "SELECT AVG(p / k) AS a, MAX(p * 1.0 / k) AS m FROM v",
        "rounded": "SELECT k, ROUND(SUM(i / 3), 18) AS r FROM w GROUP BY k",
        "joined": "SELECT v.k, SUM(p / i) AS s FROM w JOIN v ON w.k = v.k GROUP BY v.k",
    },
    "keys": {
        "groups": "SELECT d, COUNT(*) AS c, SUM(i) AS s FROM w GROUP BY d",
        "extremes": "SELECT k, MIN(d) AS lo, MAX(n) AS hi, COUNT(DISTINCT n) AS c FROM w GROUP BY k",
        "joined": "SELECT w.k, COUNT(*) AS c FROM w JOIN v ON w.d = v.d GROUP BY w.k",
    },
    "derived": {
        "large": "SELECT k, SUM(n) AS s FROM w WHERE n > 18446744073709551616 OR d IS NULL GROUP BY k",
        "nested": "SELECT k, n FROM w WHERE n >= (SELECT MAX(n) FROM w AS x WHERE x.k = w.k)",
        "windows": "SELECT k, n, SUM(n) OVER (PARTITION BY k ORDER BY n) AS s FROM w",
    },
}
units = st.integers(-3, 3) | st.integers(-3, 3) | st.sampled_from([u for u in HUGE if abs(u) > 2**63])
small = st.integers(0, 2)
rows = st.one_of(
    st.tuples(
        st.just("w"),
        st.tuples(
            small,
            st.integers(-2, 2) | st.sampled_from([2**63 - 1, -(2**63)]),
            st.none() | units.map(lambda u: Decimal(f"{u}e-10")),
            units.map(Decimal),
        ),
    ),
    st.tuples(
        st.just("v"),
        st.tuples(
            small, units.map(lambda u: Decimal(f"{u}e-10")), st.integers(-300, 300).map(lambda u: Decimal(u).scaleb(-2))
        ),
    ),
)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(QUICK, max_examples=4)
@given(data=st.data())
def test_committed_epochs_equal_the_interpreter(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), (W, V), views=PROGRAMS[name])
        initialise(project)
        with open_runtime(project) as rt:
            world = World(rt, rows=rows)
            _play(world, data)
            oracle = interpret(rt.program, [e for key in sorted(world.log) for e in world.log[key]])
            for view in PROGRAMS[name]:
                try:
                    expected = oracle.view_rows(view)
                except ValueProblem:
                    with pytest.raises(InputProblem):
                        read_view(rt, view)
                else:
                    assert Counter(tuple(row.values()) for row in read_view(rt, view).to_pylist()) == Counter(expected)
