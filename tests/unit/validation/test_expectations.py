"""The comparison is made by the expectation, of what is behind the handles that it is given."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from cumulus_ops.validation.checkpoint import DIFFERING, IMPOSSIBLE, _check, _list_failures, verdicts_of
from cumulus_ops.validation.data_docs import frame, run_checkpoint
from cumulus_ops.validation.judge import Compared, Terms
from cumulus_ops.validation.recompute import OFF_BY
from cumulus_ops.validation.request import ArrowFile, ValidationRequest, ViewVerdict, write_arrow

ROWS = pa.table({"region": ["a", "b"], "total": [1, 2]})


def test_one_value_that_is_altered_behind_a_handle_fails_the_expectation(tmp_path: Path) -> None:
    import expectations

    files = [write_arrow(ROWS, tmp_path / f"{name}.arrow") for name in ("snapshot", "shown", "recomputed")]
    row = Compared("v", *files, Terms(keys=("region",), shown_as="published as version 4"))
    other = Compared("w", files[0], None, None, Terms(impossible="Spark cannot run its query"))

    def verdicts() -> list[ViewVerdict]:
        suite = expectations.views_suite(["v", "w", "x"])
        return list(
            verdicts_of(run_checkpoint(tmp_path / "reports", "run", {"views": (suite, [row.row(), other.row()])}))
        )

    right, unproved, absent = verdicts()
    assert (right.outcome, right.observed) == (
        "equal",
        "2 rows, all equal; published as version 4: 2 rows, all equal",
    )
    assert (unproved.outcome, absent.outcome) == ("unproved", "unproved")
    files[1].path.unlink()
    write_arrow(ROWS.set_column(1, "total", pa.array([1, 3])), files[1].path)
    wrong, _, _ = verdicts()
    assert wrong.outcome == "differs"
    assert wrong.differences == (("differing (published as version 4)", "region = b", "total", "3", "2"),)


def test_the_batch_is_hashed_and_not_pickled() -> None:
    rows = [Compared("v", ArrowFile(Path("a")), None, ArrowFile(Path("b")), Terms(keys=("region",))).row()]
    assert len(pd.util.hash_pandas_object(frame(rows))) == 1


@pytest.mark.parametrize(("error", "fails", "outcome"), [("e", "f", "in error"), ("", "f", "differs")])
def test_a_view_in_error_is_right_if_its_recomputation_fails(error: str, fails: str, outcome: str) -> None:
    from cumulus_ops.validation.judge import judge

    assert judge(Compared("v", None, None, None, Terms(error=error, fails=fails)).row()).outcome == outcome


@pytest.mark.parametrize("off_by", [1, -1])
def test_a_net_table_that_is_off_fails_the_expectation_about_the_log(tmp_path: Path, off_by: int) -> None:
    request = ValidationRequest("shop", 1, (), (), {}, tmp_path, (0,), {0: 1})
    differing = pa.Table.from_pylist([{"relation": "r, net table", "row": '{"a":7}', OFF_BY: off_by}], DIFFERING)
    result, _ = _check(request, [], IMPOSSIBLE.empty_table(), [DIFFERING.empty_table(), differing])
    (failure,) = _list_failures(result)
    assert failure.startswith("event log: 1 rows of net tables are there more or less often than in the log")
    assert '{"a":7}' in failure
    result, _ = _check(request, [], IMPOSSIBLE.empty_table(), [DIFFERING.empty_table()])
    assert not list(_list_failures(result))
