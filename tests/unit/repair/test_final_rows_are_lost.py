"""A file of a table of final rows is lost: batches and epochs go on, it is found, and the table begins anew with all rows that are final."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from cumulus_ops.epochs.finals import finalise
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.repair.recover import recover
from tests.support.sampling import sampled
from tests.support.sealed import CLICKS, VIEWS, append_sealing, sealed_project
from tests.unit.repair.test_any_file_is_lost import SPOILS


def seal(rt: Runtime, campaign: int) -> None:
    rows = [(1, CLICKS.name, (10 * campaign + i, campaign, i)) for i in range(3)]
    append_sealing(rt, 0, [(name, sign, row) for sign, name, row in rows], f"d{campaign}", {CLICKS.name: [campaign]})
    run_minibatch(rt, 0)
    finalise(rt)


@pytest.mark.parametrize("spoil", sampled(SPOILS, 2))
@pytest.mark.parametrize("what", ["*.parquet", "_delta_log/*.json"])
def test_any_file_of_a_table_of_final_rows(tmp_path: Path, what: str, spoil: str) -> None:
    with sealed_project(tmp_path, 1, views={"counts": VIEWS["counts"]}) as rt:
        for campaign in (1, 2):
            seal(rt, campaign)
        table = tmp_path / "published" / "counts.final"
        first, last = sorted(table.glob(what), key=lambda path: path.stat().st_mtime_ns)
        assert fsck(rt).damages == ()
        SPOILS[spoil](first, last)
        (damage,) = fsck(rt).damages
        assert damage.holds.startswith("final rows of view counts")
        seal(rt, 3)
        ((_, how),) = recover(rt).outcome.done
        assert how.startswith(
            "its table begins anew with all rows that are final, from the maps; what was there is kept in"
        )
        assert fsck(rt).damages == ()
        seal(rt, 4)
        rows = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
        assert sorted((row["campaign"], row["n"], row["total"]) for row in rows) == [(c, 3, 3) for c in (1, 2, 3, 4)]
