"""Which rows a LIMIT shows does not depend on where they are stored."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cumulus_ops.query.read import in_order
from m3.datatypes import INT
from m3.program import OutputColumn, View
from m3.scalars import Var

COLUMNS = tuple(OutputColumn(name, Var(name, INT.with_null())) for name in "ab")
ROWS = pa.table({"a": [1, 1, None], "b": [3, 2, 9]})


@pytest.mark.parametrize(("offset", "limit", "due"), [(0, 2, [(None, 9), (1, 2)]), (1, None, [(1, 2), (1, 3)])])
def test_without_order_by_all_columns_decide(offset: int, limit: int | None, due: list[tuple[int, int]]) -> None:
    found = in_order(View("v", (), (), None, COLUMNS, limit=limit, offset=offset), ROWS)
    assert [tuple(row.values()) for row in found.to_pylist()] == due


def test_a_view_without_a_limit_is_left_as_it_is_stored() -> None:
    assert in_order(View("v", (), (), None, COLUMNS), ROWS).equals(ROWS)
