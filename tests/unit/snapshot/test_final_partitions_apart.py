"""Final partitions, and what others are in the way of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cumulus_ops.catalog import punctuations
from cumulus_ops.engine import Runtime, initialise, open_runtime
from cumulus_ops.errors import ViewInError
from cumulus_ops.query import read_answer
from cumulus_ops.snapshot import commit, run_minibatch, seal
from cumulus_ops.snapshot.finals import finalise
from tests.support.projects import Event
from tests.support.sealed import SEALS, VIEWS, append_sealing, sealed_project, sealed_settings

FAILING = {
    "in each row": "SELECT campaign, 6 / (price - 1) AS x FROM clicks",
    "in a column": "SELECT campaign, 6 / (SUM(price) - 1) AS x FROM clicks GROUP BY campaign",
    "in a condition": "SELECT campaign, 6 / SUM(price) AS x FROM clicks GROUP BY campaign HAVING 6 / (SUM(price) - 1) > 0",
}


def click(campaign: int, price: int) -> Event:
    return "clicks", 1, (1, campaign, price)


def apply(rt: Runtime, events: list[Event], drop: str, seals: Mapping[str, list[int]] | None = None) -> None:
    append_sealing(rt, 0, events, drop, seals)
    run_minibatch(rt, 0, [])


@pytest.mark.parametrize("where", FAILING)
def test_what_is_final_is_read_although_another_partition_fails(where: str, tmp_path: Path) -> None:
    with sealed_project(tmp_path, 1, views={"v": FAILING[where]}) as rt:
        apply(rt, [click(7, 5)], "a", {"clicks": [7]})
        assert len(finalise(rt).partitions) == 1
        before = read_answer(rt, "v")
        apply(rt, [click(6, 1)], "b")
        assert read_answer(rt, "v").rows.equals(before.rows)
        seal(rt, 0, 0)
        commit(rt, 0)
        after = read_answer(rt, "v")
        assert after.rows.equals(before.rows)
        assert after.final_by.to_pylist() == ["seal campaign=7"]
        assert after.error is not None
        assert "zero" in after.error
        assert after.label.startswith("final by 1 sealed partition; all others are missing")
        with pytest.raises(ViewInError):
            read_answer(rt, "v", as_of=0)


@pytest.mark.parametrize("how", ["damaged", "gone"])
def test_an_unreadable_batch_that_is_set_aside_holds_up_its_own_relation_only(how: str, tmp_path: Path) -> None:
    views = {"v": "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign", "a": "SELECT campaign, name FROM ads"}
    with sealed_project(tmp_path, 1, views=views) as rt:
        aside = append_sealing(rt, 0, [click(7, 5)], "a")
        rt.catalog.set_aside(aside, "its log is damaged")
        apply(rt, [click(8, 5), ("ads", 1, (8, "x"))], "b", {"clicks": [8], "ads": [8]})
        file = rt.project.state / rt.catalog.log_files(batch=aside)[0].path
        file.write_bytes(b"nonsense") if how == "damaged" else file.unlink()
        assert [f.view for f in finalise(rt).partitions] == ["a"]
        rt.catalog.drop_batch(aside)
        assert [f.view for f in finalise(rt).partitions] == ["v"]


def test_many_values_are_recorded_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(punctuations, "AT_ONCE", 2)
    with sealed_project(tmp_path, 1, views={"counts": VIEWS["counts"]}) as rt:
        apply(rt, [click(i, 1) for i in range(5)], "a", {"clicks": [*range(5)]})
        assert len(finalise(rt).partitions) == 5
        assert rt.catalog.newly_closed() == []
        assert [f.rows for f in rt.catalog.finals("counts")] == [1] * 5


def test_values_that_concerned_no_view_are_looked_at_again_when_one_is_sealed(tmp_path: Path) -> None:
    views = {"named": VIEWS["named"]}
    with sealed_project(tmp_path, 1, views=views, seals={"clicks": SEALS["clicks"]}) as rt:
        apply(rt, [click(7, 1), ("ads", 1, (7, "x"))], "a", {"clicks": [7]})
        assert finalise(rt).partitions == ()
    project = sealed_settings(tmp_path, 1, views=views)
    initialise(project)
    with open_runtime(project) as rt:
        apply(rt, [], "b", {"ads": [7]})
        assert [f.value for f in finalise(rt).partitions] == ['["7"]']
        assert rt.catalog.newly_closed() == []
    initialise(project)
    with open_runtime(project) as rt:
        assert rt.catalog.newly_closed() == []


def test_values_that_wait_for_another_relations_seal_are_not_read(tmp_path: Path) -> None:
    views = {name: VIEWS[name] for name in ("counts", "named")}
    seals = {"counts": [("clicks", "campaign")], "named": [("clicks", "campaign"), ("ads", "campaign")]}
    with sealed_project(tmp_path, 1, views=views) as rt:
        looked = lambda: [(v.relation, v.value) for v in rt.catalog.newly_closed(seals)]  # noqa: E731
        apply(rt, [click(7, 1), click(8, 1), ("ads", 1, (9, "x"))], "a", {"clicks": [7, 8], "ads": [9]})
        assert looked() == [("clicks", '["7"]'), ("clicks", '["8"]')]  # for counts; 9 waits for clicks
        assert [f.view for f in finalise(rt).partitions] == ["counts", "counts"]
        assert looked() == []
        assert len(rt.catalog.newly_closed()) == 3
        apply(rt, [], "b", {"ads": [8]})
        assert looked() == [("clicks", '["8"]'), ("ads", '["8"]')]
        assert [(f.view, f.value) for f in finalise(rt).partitions] == [("named", '["8"]')]
        assert looked() == []
        assert {v.value for v in rt.catalog.newly_closed()} == {'["7"]', '["9"]'}
