"""Final partitions, and what others are in the way of."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cumulus_ops.catalog import seals as value_seals
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.finals import finalise, publish_lost_finals
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import ViewInError
from cumulus_ops.publishing.final_tables import final_table
from cumulus_ops.query.answers import read_answer
from tests.support.catalogs import set_aside
from tests.support.projects import Event, as_row
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
        vote(rt, 0, 0)
        commit(rt, 0)
        after = read_answer(rt, "v")
        assert after.rows.equals(before.rows)
        assert after.final_by.to_pylist() == ["seal campaign=7"]
        assert after.error is not None
        assert "zero" in after.error
        assert after.label.startswith("final by 1 sealed partition; all others are missing")
        with pytest.raises(ViewInError):
            read_answer(rt, "v", as_of=0)


def test_a_view_that_shows_a_form_of_a_value_is_final_where_that_can_be_computed(tmp_path: Path) -> None:
    """``campaign * 9e17`` fails from 11 on, and is NULL where it fails, as it is for NULL: what is shown for NULL is final with its epoch only."""
    views = {"v": "SELECT campaign * 900000000000000000 AS m, COUNT(*) AS n FROM clicks GROUP BY 1"}
    with sealed_project(tmp_path, 1, views=views) as rt:
        apply(rt, [click(1, 5), click(None, 5)], "a", {"clicks": [1, None, 11]})  # type: ignore[arg-type,list-item]
        assert [f.value for f in finalise(rt).partitions] == ['["1"]']
        assert rt.catalog.finals.newly_closed() == []
        answer = read_answer(rt, "v")
        assert answer.rows.to_pylist() == [{"m": 9 * 10**17, "n": 1}]
        assert answer.final_by.to_pylist() == ["seal campaign=1"]
        apply(rt, [click(12, 5)], "b")
        assert read_answer(rt, "v").rows.equals(answer.rows)
        vote(rt, 0, 0)
        commit(rt, 0)
        assert "campaign * 900000000000000000" in str(read_answer(rt, "v").error)


@pytest.mark.parametrize("how", ["damaged", "gone"])
def test_an_unreadable_batch_that_is_set_aside_holds_up_its_own_relation_only(how: str, tmp_path: Path) -> None:
    views = {"v": "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign", "a": "SELECT campaign, name FROM ads"}
    with sealed_project(tmp_path, 1, views=views) as rt:
        aside = append_sealing(rt, 0, [click(7, 5)], "a")
        set_aside(rt.catalog, aside, "its log is damaged")
        apply(rt, [click(8, 5), ("ads", 1, (8, "x"))], "b", {"clicks": [8], "ads": [8]})
        file = rt.project.state / rt.catalog.log.files(batch=aside)[0].path
        file.write_bytes(b"nonsense") if how == "damaged" else file.unlink()
        assert [f.view for f in finalise(rt).partitions] == ["a"]
        rt.catalog.asides.drop_batch(aside)
        assert [f.view for f in finalise(rt).partitions] == ["v"]


def test_many_values_are_recorded_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_seals, "AT_ONCE", 2)
    with sealed_project(tmp_path, 1, views={"counts": VIEWS["counts"]}) as rt:
        apply(rt, [click(i, 1) for i in range(5)], "a", {"clicks": [*range(5)]})
        assert len(finalise(rt).partitions) == 5
        assert rt.catalog.finals.newly_closed() == []
        assert [f.rows for f in rt.catalog.finals.finals("counts")] == [1] * 5


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
        assert rt.catalog.finals.newly_closed() == []
    initialise(project)
    with open_runtime(project) as rt:
        assert rt.catalog.finals.newly_closed() == []


def test_values_that_wait_for_another_relations_seal_are_not_read(tmp_path: Path) -> None:
    views = {name: VIEWS[name] for name in ("counts", "named")}
    seals = {"counts": [("clicks", "campaign")], "named": [("clicks", "campaign"), ("ads", "campaign")]}
    with sealed_project(tmp_path, 1, views=views) as rt:
        looked = lambda: [(v.relation, v.value) for v in rt.catalog.finals.newly_closed(seals)]  # noqa: E731
        apply(rt, [click(7, 1), click(8, 1), ("ads", 1, (9, "x"))], "a", {"clicks": [7, 8], "ads": [9]})
        assert looked() == [("clicks", '["7"]'), ("clicks", '["8"]')]  # for counts; 9 waits for clicks
        assert [f.view for f in finalise(rt).partitions] == ["counts", "counts"]
        assert looked() == []
        assert len(rt.catalog.finals.newly_closed()) == 3
        apply(rt, [], "b", {"ads": [8]})
        assert looked() == [("clicks", '["8"]'), ("ads", '["8"]')]
        assert [(f.view, f.value) for f in finalise(rt).partitions] == [("named", '["8"]')]
        assert looked() == []
        assert {v.value for v in rt.catalog.finals.newly_closed()} == {'["7"]', '["9"]'}


def published(rt: Runtime, view: str) -> list[tuple[object, ...]]:
    path = final_table(rt.project, view)
    return sorted(as_row(row.values()) for row in DeltaTable(str(path)).to_pyarrow_table().to_pylist())


@pytest.mark.parametrize(
    "what", ["is gone", "is an older copy", "was put in order", "was put in order, and its log cleaned up"]
)
def test_a_table_of_final_rows_has_each_value_once_whatever_became_of_it(what: str, tmp_path: Path) -> None:
    with sealed_project(tmp_path, 1, views={"v": "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign"}) as rt:
        path = final_table(rt.project, "v")
        assert path is not None
        for n in range(3):
            apply(rt, [click(n, 5)], f"d{n}", {"clicks": [n]})
            finalise(rt)
            if n == 0:
                shutil.copytree(path, tmp_path / "older")
        if what.startswith("is"):
            path.rename(tmp_path / "away")
        if what == "is an older copy":
            (tmp_path / "older").rename(path)
        if what.startswith("was"):
            table = DeltaTable(str(path))
            table.optimize.compact()
            table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        if "cleaned" in what:
            table.create_checkpoint()
            for log in sorted((path / "_delta_log").glob("*.json"))[:-1]:
                log.unlink()
        versions = DeltaTable(str(path)).version() if path.exists() else -1
        apply(rt, [click(3, 5)], "d3", {"clicks": [3]})
        finalise(rt)
        assert published(rt, "v") == [(n, 1) for n in range(4)]
        assert DeltaTable(str(path)).version() == versions + 1
        assert publish_lost_finals(rt) == []
        path.rename(tmp_path / "again")
        assert publish_lost_finals(rt) == ["v"]
        assert published(rt, "v") == [(n, 1) for n in range(4)]


def test_an_append_that_was_not_recorded_is_found_or_all_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sealed_project(tmp_path, 1, views={"v": "SELECT campaign, COUNT(*) AS n FROM clicks GROUP BY campaign"}) as rt:
        path = final_table(rt.project, "v")
        for n in range(4):
            apply(rt, [click(n, 5)], f"d{n}", {"clicks": [n]})
            if n % 2:
                with monkeypatch.context() as patched:
                    patched.setattr(type(rt.catalog.finals), "record_final_tables", _die)
                    with pytest.raises(InterruptedError):
                        finalise(rt)
            if n == 3:
                table = DeltaTable(str(path))
                table.optimize.compact()
                table.create_checkpoint()
                for log in sorted((Path(str(path)) / "_delta_log").glob("*.json"))[:-1]:
                    log.unlink()  # which values were appended last, nothing says any more
            finalise(rt)
            assert published(rt, "v") == [(m, 1) for m in range(n + 1)]


def _die(*_: object, **__: object) -> None:
    raise InterruptedError
