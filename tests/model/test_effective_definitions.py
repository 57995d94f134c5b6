"""A view that has final rows says something else from a value on: what was final stays, to the row, and the whole is what DuckDB says of both definitions.
Each way in which that would go wrong is refused, also if it comes about while the change is deployed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from cumulus_ops.catalog.revisions import Revisions
from cumulus_ops.deploying import deploy as deploying
from cumulus_ops.deploying.deploy import deploy, previous
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.finals import finalise
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.effective import Effective
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import Project
from cumulus_ops.publishing.final_tables import final_table
from cumulus_ops.query.read import read_view
from tests.support.projects import Event
from tests.support.sealed import append_sealing, sealed_settings

#: What a view says before, and since; all of it is final by campaign.
CHANGES = {
    "a sum": (
        "SELECT campaign, COUNT(*) AS n, SUM(price) AS total FROM clicks GROUP BY campaign",
        "SELECT campaign, COUNT(*) AS n, SUM(price + 1) AS total FROM clicks GROUP BY campaign",
    ),
    "a condition": (
        "SELECT campaign, COUNT(*) AS n, SUM(price) AS total FROM clicks GROUP BY campaign",
        "SELECT campaign, COUNT(*) AS n, MAX(price) AS total FROM clicks WHERE price > 1 GROUP BY campaign HAVING COUNT(*) > 1 -- those that matter",
    ),
    "rows": (
        "SELECT campaign, price FROM clicks WHERE price > 1",
        "SELECT campaign, price * 2 AS price FROM clicks WHERE price > 0;",
    ),
    "a derivation": (
        "SELECT campaign, MAX(price) AS most FROM clicks GROUP BY campaign",
        "SELECT campaign, MIN(price) AS most FROM clicks GROUP BY campaign",
    ),
}
OLD, NEW = CHANGES["a sum"]


def effective(value: int, before: str = OLD, since: str = NEW) -> Effective:
    return Effective("campaign", str(value), str(value), before, since)


def changed(project: Project, what: Effective) -> Project:
    return dataclasses.replace(project, views={"v": what.text("v")}, effective={"v": what})


@contextmanager
def maintained(folder: Path, before: str = OLD) -> Iterator[Runtime]:
    project = sealed_settings(folder, 1, views={"v": before}, published=folder / "published")
    initialise(project)
    with open_runtime(project) as rt:
        yield rt


def feed(rt: Runtime, events: list[Event], drop: str, seals: list[Any] = []) -> None:  # noqa: B006
    append_sealing(rt, 0, events, drop, {"clicks": seals} if seals else {})
    run_minibatch(rt, 0, [])
    finalise(rt)


def final_rows(rt: Runtime) -> Counter[Any]:
    """What readers have, of partitions that nobody takes back."""
    place = final_table(rt.project, "v")
    assert place is not None
    rows = DeltaTable(place).to_pyarrow_table().to_pylist() if (place / "_delta_log").exists() else []
    return Counter(tuple(v for name, v in row.items() if not name.startswith("_")) for row in rows)


def of_both(events: list[Event], what: Effective) -> Counter[Any]:
    """The rows of both definitions, each of its values, by another database."""
    with duckdb.connect() as database:
        database.execute("CREATE TABLE clicks (id BIGINT, campaign BIGINT, price BIGINT)")
        rows = Counter[Any]()
        for _, sign, row in events:
            rows[row] += sign
        for row in rows.elements():
            database.execute("INSERT INTO clicks VALUES (?, ?, ?)", row)
        old, new = (database.execute(sql.rstrip(";")).fetchall() for sql in (what.before, what.since))
    value = int(what.value)
    return Counter(
        [row for row in old if row[0] is None or row[0] < value] + [row for row in new if (row[0] or 0) >= value]
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_final_stays_and_the_whole_is_both(tmp_path: Path, name: str, seed: int) -> None:
    random, (before, since) = Random(f"{name}{seed}"), CHANGES[name]
    events: list[Event] = []

    def some(values: list[int | None]) -> list[Event]:
        new: list[Event] = [
            ("clicks", 1, (len(events) + i, random.choice(values), random.randrange(4))) for i in range(8)
        ]
        events.extend(new)
        return new

    value = random.randint(3, 5)
    what = effective(value, before, since)
    with maintained(tmp_path, before) as rt:
        closed: list[int | None] = [*range(value - 1), *([None] if seed else [])]
        feed(rt, some([*closed, 9]), "a", closed)
        if seed == 1:
            run_waiting(rt, validating=False)
        was, project = final_rows(rt), changed(rt.project, what)
        assert was
        assert len(rt.catalog.finals.finals("v")) == len(closed)
    with open_runtime(project) as rt:
        done = deploy(rt)
        assert done is not None
    with open_runtime(project) as rt:
        assert final_rows(rt) == was
        feed(rt, some([value - 1, value, 7, 9]), "b", [value - 1, 7])
        assert not was - final_rows(rt)
        run_waiting(rt, validating=False)
        rows = read_view(rt, "v", as_of=rt.catalog.snapshots.newest()).to_pylist()
        right = of_both(events, what)
        assert Counter(tuple(row.values()) for row in rows) == right
        in_tables = final_rows(rt)
        assert in_tables == Counter({r: n for r, n in right.items() if r[0] in {*closed, value - 1, 7}})
        project = changed(project, dataclasses.replace(what, since=since.replace("price", "(price - 1)", 1)))
    with open_runtime(project) as rt, pytest.raises(InputProblem, match="campaign 7 is one of them"):
        deploy(rt)
    project = changed(project, effective(9, what.text("v"), since.replace("price", "(price)", 1)))
    with open_runtime(project) as rt:  # a third definition, from a later value on
        deploy(rt)
    with open_runtime(project) as rt:
        assert final_rows(rt) == in_tables
        with pytest.raises(InputProblem, match="final"):
            deploy(previous(rt))


REFUSED = {
    "a value that is final": (effective(2), "campaign 2 is one of them"),
    "another definition before": (effective(5, before=NEW), "`before` is not what it has said"),
    "another column": (dataclasses.replace(effective(5), column="n"), "which has to be the same column"),
    "other types": (effective(5, since=NEW.replace("SUM(price + 1)", "SUM(price) * 0.5")), "CAST the new definition's"),
    "rows that depend on others": (
        effective(5, since="SELECT campaign, COUNT(*) AS n, (SELECT SUM(price) FROM clicks) AS total FROM clicks GROUP BY campaign"),
        "not final by the same seals",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_redefine_final_rows_is_refused(tmp_path: Path, name: str) -> None:
    what, words = REFUSED[name]
    with maintained(tmp_path) as rt:
        feed(rt, [("clicks", 1, (i, i % 3, i)) for i in range(9)], "a", [0, 2])
        project = changed(rt.project, what)
    with open_runtime(project) as rt, pytest.raises(InputProblem, match=words) as refused:
        deploy(rt)
    assert refused.value.kind == "final-view-changed"


@pytest.mark.parametrize("point", ["_settle", "commit_switch"])
@pytest.mark.parametrize(
    ("late", "what"), [(3, effective(5)), (6, effective(5)), (3, None), (3, effective(5, before=NEW))]
)
def test_what_becomes_final_while_the_change_is_deployed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, late: int, what: Effective | None
) -> None:
    """Nothing is final when the change is found; a value is, before it is switched to, or between the last look and that."""
    with maintained(tmp_path) as rt:
        append_sealing(rt, 0, [("clicks", 1, (i, 3 + i % 4, i)) for i in range(9)], "a", {"clicks": [late]})
        run_minibatch(rt, 0, [])
        bare = dataclasses.replace(rt.project, views={"v": NEW})
        project = bare if what is None else changed(rt.project, what)
    where: Any = deploying if point == "_settle" else Revisions
    does, done = getattr(where, point), list[str]()

    def meanwhile(*arguments: Any, **rest: Any) -> Any:
        if not done:
            done.append(point)
            finalise(rt)
        return does(*arguments, **rest)

    monkeypatch.setattr(where, point, meanwhile)
    with open_runtime(project) as rt:
        if what is not None and what.before == OLD and late < 5:
            assert deploy(rt) is not None
        else:
            with pytest.raises(InputProblem, match="final by seals"):
                deploy(rt)
        assert done
    with open_runtime(project) as rt:
        events: list[Event] = [("clicks", 1, (i, 3 + i % 4, i)) for i in range(9)]
        old = of_both(events, effective(99))
        assert final_rows(rt) == Counter({row: n for row, n in old.items() if row[0] == late})


def test_a_view_that_is_gone_and_comes_back_has_the_final_rows_that_it_had(tmp_path: Path) -> None:
    with maintained(tmp_path) as rt:
        feed(rt, [("clicks", 1, (i, i % 3, i)) for i in range(9)], "a", [0, 2])
        project = rt.project
    for views, refused in (({"w": OLD}, False), ({"w": OLD, "v": NEW}, True), ({"w": OLD, "v": OLD}, False)):
        with open_runtime(dataclasses.replace(project, views=views)) as rt:
            if refused:
                with pytest.raises(InputProblem, match="was another one when it had them"):
                    deploy(rt)
            else:
                deploy(rt)
