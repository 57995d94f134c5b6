"""Sums of DOUBLE: rounded once, whatever the order, the same in the engine and in the interpreter."""

import math
from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.compute.collected import collect, sum_doubles
from cumulus_ops.compute.vector import operate
from cumulus_ops.epochs.checkpoint import refresh
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.maps.lookup import Slices
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.query.read import read_view
from m3 import Interpreter
from m3.collected import STATISTICS, collected, rounded_sum, takes_pairs
from m3.datatypes import DOUBLE, INT
from m3.evaluate import evaluate
from m3.program import Column, Input, Relation
from m3.scalars import Call, Var, call
from tests.support.doubles import DOUBLES
from tests.support.projects import append_events, make_project
from tests.support.views_in_error import counted

FLOATS = st.floats(allow_nan=False).map(lambda x: x + 0.0) | st.sampled_from(
    [0.1, 0.2, -0.1, 1e16, -1e16, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]
)
TERMS = st.lists(st.tuples(st.integers(0, 2), FLOATS, st.sampled_from([1, 1, -1, 3, 2**54])), max_size=12)


@settings(deadline=None)
@given(TERMS)
def test_vectorised_sums_are_the_reference(terms):
    requests, values, counts = (list(x) for x in zip(*terms, strict=True)) if terms else ([], [], [])
    columns = [np.array(x, np.int64) for x in (requests, counts)]
    found = Slices(columns[0], (pa.array(values, pa.float64()),), {"n": columns[1], "other": columns[1] + 1})
    totals = Counter()
    for request, value, count in terms:
        totals[request, value] += count
    for request, ours in enumerate(sum_doubles(found, "n", 3).to_pylist()):
        theirs = rounded_sum([(v, c) for (r, v), c in totals.items() if r == request and c])
        assert ours == theirs or (math.isnan(ours) and math.isnan(theirs))


PAIRS = st.lists(st.tuples(st.integers(0, 2), FLOATS, FLOATS, st.sampled_from([1, 1, -1, 3])), max_size=10)


@settings(deadline=None)
@given(PAIRS, st.sampled_from(sorted(STATISTICS)))
def test_vectorised_statistics_are_the_reference(terms, kind):
    requests, y, x, counts = (list(c) for c in zip(*terms, strict=True)) if terms else ([], [], [], [])
    columns = [np.array(c, np.int64) for c in (requests, counts)]
    width = 2 if takes_pairs(kind) else 1
    free = tuple(pa.array(c, pa.float64()) for c in (y, x)[-width:])
    found = Slices(columns[0], free, {"n": columns[1]})
    ours = collect(Input("s", "m", kind), DOUBLE, found, "n", 3).to_pylist()
    for request in range(3):
        totals = Counter()
        for r, *pair, count in terms:
            if r == request:
                totals[tuple(map(repr, pair[-width:]))] += count
        entries = [(tuple(map(float, pair)), count) for pair, count in totals.items() if count > 0]
        theirs = collected(Input("s", "m", kind), entries) if entries else None
        assert repr(ours[request]) == repr(theirs)


def test_sums_and_averages_of_floats_follow_deletes(tmp_path):
    relation = Relation("r", (Column("k", INT.with_null()), Column("x", DOUBLE.with_null())))
    views = {
        "v": "SELECT k, SUM(x) AS total, AVG(x) AS average, SUM(DISTINCT x) AS once FROM r GROUP BY k",
        "w": "SELECT k FROM r WHERE x > (SELECT AVG(x) FROM r)",
        "s": "SELECT k, VAR_POP(x) AS a, STDDEV(x) AS b, VARIANCE(DISTINCT x) AS c, CORR(x, k) AS d, REGR_SLOPE(k, x) AS e, REGR_SXX(k, x) AS f, "
        "COVAR_SAMP(x, x * 3) AS g, REGR_INTERCEPT(x, k) AS h, REGR_R2(x, k) AS i FROM r GROUP BY k",
        "p": "SELECT k, PRODUCT(x) AS a, MAD(x) AS b, MAD(DISTINCT k) AS c, KURTOSIS_POP(x) AS d FROM r GROUP BY k",
        "o": "SELECT k, x, MEDIAN(x) OVER (PARTITION BY k) AS a, CORR(x, k) OVER (ORDER BY x) AS b, COUNT(*) OVER (ORDER BY x RANGE BETWEEN 0.25 PRECEDING AND 1 FOLLOWING) AS c FROM r",
        "t": "SELECT STDDEV(x) AS a, CORR(x, k) AS b, REGR_SLOPE(x, k) AS c, REGR_AVGX(k, x) AS d FROM r WHERE x < 1e9",
    }
    rows = [(k, x) for k in (1, 2, None) for x in (math.nan, 0.1, 0.2, 0.2, 1e16, -1e16, None, 1 / 3)]
    batches = [[(1, r) for r in rows], [(-1, r) for r in rows[::2]], [(1, (1, 0.7)), (-1, rows[1])]]
    project = make_project(tmp_path, [relation], views=views, coordinators=1)
    initialise(project)
    with open_runtime(project) as rt:
        oracle = Interpreter(rt.program)
        for number, batch in enumerate(batches):
            apply_batch(rt, append_events(rt, 0, [("r", sign, row) for sign, row in batch], f"d{number}"))
            refresh(rt)
            for sign, row in batch:
                oracle.apply(sign, "r", row)
            for view in views:
                table = read_view(rt, view, tentative=True, ordered=False)
                ours = counted(zip(*(c.to_pylist() for c in table.columns), strict=True))
                assert ours == counted(oracle.view_rows(view, ordered=False)), (view, number)


def test_rows_are_ordered_with_nan_as_the_greatest_number(tmp_path):
    relation = Relation("r", (Column("k", INT), Column("x", DOUBLE.with_null())), ("k",))
    orders = ("x, k", "x DESC, k", "x NULLS LAST, k", "x DESC NULLS FIRST, k", "-x, k DESC")
    views = {f"v{i}": f"SELECT k, -x AS y, x FROM r ORDER BY {order} LIMIT 5" for i, order in enumerate(orders)}
    rows = [(k, x) for k, x in enumerate([1.5, math.nan, None, *DOUBLES])]
    project = make_project(tmp_path, [relation], views=views, coordinators=1)
    initialise(project)
    with open_runtime(project) as rt:
        oracle = Interpreter(rt.program)
        apply_batch(rt, append_events(rt, 0, [("r", 1, row) for row in rows], "d"))
        for row in rows:
            oracle.apply(1, "r", row)
        for view, order in zip(views, orders, strict=True):
            table = read_view(rt, view, tentative=True)
            found = [str(row) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)]
            assert found == [str(row) for row in oracle.view_rows(view)], order


SOME = st.none() | st.sampled_from(DOUBLES)


@settings(deadline=None)
@given(st.lists(st.tuples(SOME, SOME, SOME), min_size=1, max_size=12))
def test_nan_equals_itself_and_is_the_greatest_as_in_the_interpreter(rows):
    x, y, z = (Var(name, DOUBLE.with_null()) for name in "xyz")
    scalars = [*(call(op, x, y) for op in ("eq", "ne", "lt", "le", "gt", "ge", "same")), call("in", x, y, z)]
    columns = [pa.array(c, pa.float64()) for c in zip(*rows, strict=True)]
    for scalar in scalars:
        assert isinstance(scalar, Call)
        ours = operate(scalar, columns[: len(scalar.args)]).to_pylist()
        assert ours == [evaluate(scalar, dict(zip("xyz", row, strict=True))) for row in rows], scalar.op
    assert evaluate(call("eq", x, y), {"x": math.nan, "y": float("nan")}) is True
    assert evaluate(call("gt", x, y), {"x": math.nan, "y": math.inf}) is True
