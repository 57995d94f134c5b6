"""The grain of versions: batches where events may be summed, events where their order counts."""

from __future__ import annotations

import pytest

from cumulus_ops.coordination import BATCH, EVENT, granularity_of


@pytest.mark.parametrize(("from_sql", "grain"), [(True, BATCH), (False, EVENT)])
def test_a_text_alone_does_not_prove_that_order_is_free(from_sql: bool, grain: str) -> None:
    assert granularity_of(from_sql=from_sql) == grain
