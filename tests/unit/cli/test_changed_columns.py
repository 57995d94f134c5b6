"""Columns that change while a project runs, as a person changes them: what is deployed, what waits, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cumulus_ops.append.append import append_delivery
from cumulus_ops.cli.main import main
from cumulus_ops.deploying import deploy as deploying
from cumulus_ops.epochs.minibatch import _append_first, run_minibatch
from cumulus_ops.opening.runtime import Runtime, open_runtime
from cumulus_ops.orchestration.steps import apply_epoch
from cumulus_ops.project.errors import Conflict, InputProblem, RevisionOver
from cumulus_ops.project.project_file import load_project
from tests.support.projects import append_events

Call = Callable[..., Result]
FILE = """name: shop
relations:
  orders: {{{0}}}
sources: {{landing: {{path: landing, settle: 0s}}}}
epochs: {{length: 1s, start: 2026-01-01T00:00:00Z}}
views: {{{1}}}
executor: {{kind: inprocess}}
validation: {{policy: off}}
"""
COLUMNS = 'columns: {id: bigint, price: "decimal(9,2)", note: string null}'
VIEWS = {"total": "SELECT SUM(price) AS total FROM orders"}


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """A project with an epoch of two orders."""
    monkeypatch.setenv("CUMULUS_PROJECT", str(tmp_path))

    def caller(*arguments: object) -> Result:
        return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)

    declare(tmp_path, COLUMNS, VIEWS)
    land(tmp_path, "d1", "id,price,note,op,event\n1,1.50,x,I,1\n2,2.50,,I,2\n")
    assert caller("init", tmp_path).exit_code == 0
    assert caller("run").exit_code == 0
    return caller


def declare(folder: Path, relation: str, views: dict[str, str]) -> None:
    for name, text in views.items():
        (folder / f"{name}.sql").write_text(text)
    (folder / "cumulus.yaml").write_text(FILE.format(relation, ", ".join(f"{name}: {name}.sql" for name in views)))


def land(folder: Path, drop: str, text: str) -> None:
    place = folder / "landing" / "0" / drop
    place.mkdir(parents=True)
    (place / "orders.csv").write_text(text)


def rows(call: Call, view: str) -> list[dict[str, object]]:
    result = call("query", view, "--json")
    assert result.exit_code == 0, result.output
    return [{name: value for name, value in row.items() if name != "final_by"} for row in json.loads(result.stdout)]


def test_columns_are_added_renamed_widened_and_removed(call: Call, tmp_path: Path) -> None:
    views = {
        "total": "SELECT SUM(amount) AS total FROM orders",
        "tags": "SELECT tag, COUNT(*) AS n FROM orders GROUP BY tag",
    }
    declare(tmp_path, 'columns: {tag: string null, amount: {type: "decimal(12,3)", was: price}, id: bigint}', views)
    land(tmp_path, "d2", "id,price,tag,op,event\n3,3.50,early,I,3\n")
    assert call("run").exit_code == 0
    aside = call("quarantine", "list").stdout
    assert "column-not-deployed" in aside
    assert "cumulus deploy" in aside
    said = call("plan", "--no-rows").stdout
    for words in ("tag added", "note removed", "price is called amount", "DECIMAL(9, 2) becomes DECIMAL(12, 3)"):
        assert words in said
    assert call("deploy", "--yes").exit_code == 0
    land(tmp_path, "d3", "id,amount,tag,op,event\n4,4.125,late,I,4\n")
    land(tmp_path, "d4", "event,op,id,price\n1,I,1,1.50\n5,I,5,5\n")  # by its older name; and an event that came before
    assert call("run").exit_code == 0
    assert rows(call, "total") == [{"total": "16.625"}]
    found = {row["tag"]: row["n"] for row in rows(call, "tags")}
    assert found == {None: 3, "early": 1, "late": 1}


def wait_for_tag(call: Call, folder: Path) -> None:
    """A file has come with a column that is deployed since."""
    views = {**VIEWS, "tags": "SELECT tag, COUNT(*) AS n FROM orders GROUP BY tag"}
    declare(folder, COLUMNS.replace("note: string null", "note: string null, tag: string null"), views)
    land(folder, "d2", "id,price,tag,op,event\n3,3.50,early,I,3\n")
    assert call("run").exit_code == 0
    assert call("deploy", "--yes").exit_code == 0


@pytest.mark.parametrize("meanwhile", ["nothing", "another process", "a drop", "no file", "a bad file"])
def test_what_waited_is_taken_up_once_or_stays_set_aside(call: Call, tmp_path: Path, meanwhile: str) -> None:
    wait_for_tag(call, tmp_path)
    file = tmp_path / "landing" / "0" / "d2" / "orders.csv"
    with open_runtime(load_project(tmp_path)) as rt:
        (found,) = rt.sources.pending(0)
        if meanwhile == "another process":
            with open_runtime(load_project(tmp_path)) as other:
                assert run_minibatch(other, 0) is not None
            with pytest.raises(Conflict):
                append_delivery(rt.project, rt.catalog, 0, found)
        elif meanwhile == "a drop":
            rt.catalog.deliveries.drop_file_aside(1)
            assert _append_first(rt, 0, [found]) == ()
        elif meanwhile == "no file":
            file.unlink()
            assert _append_first(rt, 0, [found]) == ()
        elif meanwhile == "a bad file":
            file.write_text("price,tag,op,event\n3.50,early,I,3\n")
    assert call("run").exit_code == 0
    assert call("run").exit_code == 0
    is_taken = meanwhile in ("nothing", "another process")
    tags = {row["tag"]: row["n"] for row in rows(call, "tags")}
    assert tags == ({None: 2, "early": 1} if is_taken else {None: 2})
    left = json.loads(call("quarantine", "list", "--json").stdout)["files"]
    kinds = {"no file": ["column-not-deployed"], "a bad file": ["missing-column"]}
    assert [file["kind"] for file in left] == kinds.get(meanwhile, [])


def test_a_file_waits_until_all_of_its_columns_are_deployed(call: Call, tmp_path: Path) -> None:
    more = COLUMNS.replace("note: string null", "note: string null, tag: string null, kind: string null")
    declare(tmp_path, more, VIEWS)
    land(tmp_path, "d2", "id,price,tag,kind,op,event\n3,3.50,early,k,I,3\n")
    assert call("run").exit_code == 0
    assert "columns kind, tag" in call("quarantine", "list").stdout
    declare(tmp_path, COLUMNS, VIEWS)  # for a moment nothing is declared: that takes nothing up without its values
    assert call("run").exit_code == 0
    declare(tmp_path, COLUMNS.replace("note: string null", "note: string null, tag: string null"), VIEWS)
    assert call("deploy", "--yes").exit_code == 0
    assert call("run").exit_code == 0
    assert rows(call, "total") == [{"total": "4.00"}]
    declare(tmp_path, more, {**VIEWS, "kinds": "SELECT tag, kind FROM orders WHERE kind IS NOT NULL"})
    assert call("deploy", "--yes").exit_code == 0
    apply_epoch(str(tmp_path), 0, 3)  # what a task of Airflow does
    with open_runtime(load_project(tmp_path)) as rt:
        assert rt.catalog.log.batches()[-1].drop == "d2/F1"
    assert call("run").exit_code == 0
    assert rows(call, "total") == [{"total": "7.50"}]
    assert rows(call, "kinds") == [{"tag": "early", "kind": "k"}]


def test_rows_that_came_without_a_column_have_its_default(call: Call, tmp_path: Path) -> None:
    columns = COLUMNS.replace("note: string null", "note: string null, kind: {type: string, default: retail}")
    kinds = "SELECT kind, SUM(price) AS total FROM orders GROUP BY kind"
    declare(tmp_path, columns, {**VIEWS, "kinds": kinds})
    assert call("deploy", "--yes").exit_code == 0
    land(tmp_path, "d2", "id,price,op,event\n1,1.50,D,3\n3,4,I,4\n")
    land(tmp_path, "d3", "id,price,kind,op,event\n4,8,whole,I,5\n2,2.50,retail,D,6\n5,9,,I,7\n")
    assert call("run").exit_code == 0
    assert sorted(row["total"] for row in rows(call, "kinds")) == ["4.00", "8.00"]
    assert "null" in call("quarantine", "list").stdout
    for other in ("default: whole", "default: 'retail '"):
        declare(tmp_path, columns.replace("default: retail", other), {**VIEWS, "kinds": kinds})
        refused = call("plan", "--no-rows")
        assert ("default-changed" in refused.stderr) == ("whole" in other)
    # that is how it is from now on, whatever is said of it
    declare(tmp_path, columns.replace("{type: string, default: retail}", "string"), {**VIEWS, "kinds": kinds})
    assert call("plan", "--exit-code").exit_code == 0
    land(tmp_path, "d4", "id,price,op,event\n6,16,I,8\n")
    assert call("run").exit_code == 0
    assert sorted(row["total"] for row in rows(call, "kinds")) == ["20.00", "8.00"]
    assert call("deploy", "--rollback", "--yes").exit_code == 0
    assert rows(call, "total") == [{"total": "28.00"}]
    declare(tmp_path, columns, {**VIEWS, "kinds": kinds})
    assert call("deploy", "--yes").exit_code == 0  # a new column: what had another value came without this one
    assert rows(call, "kinds") == [{"kind": "retail", "total": "28.00"}]


@pytest.mark.parametrize(
    ("type_", "default"), [("bigint", "x"), ("bigint", "1.5"), ('"decimal(3,1)"', "1.25"), ("date", "today")]
)
def test_a_default_is_a_value_of_its_column(call: Call, tmp_path: Path, type_: str, default: str) -> None:
    declare(tmp_path, f"columns: {{id: {{type: {type_}, default: {default}}}}}", VIEWS)
    refused = call("plan")
    assert "bad-default" in refused.stderr
    assert "cumulus.yaml:3" in refused.stderr


REFUSED = {
    "columns: {id: bigint, price: bigint, note: string null}": "type-narrowed",
    'columns: {id: bigint, price: "decimal(9,1)", note: string null}': "type-narrowed",
    'columns: {id: string, price: "decimal(9,2)", note: string null}': "type-narrowed",
    'columns: {id: bigint, price: "decimal(9,2)", note: string}': "null-in-log",
    'columns: {id: bigint, price: "decimal(9,2)", more: bigint}': "column-without-values",
    "columns: {id: bigint, note: string null}": "unknown-column",
    f"key: [price], {COLUMNS}": "",
    'columns: {id: "decimal(19,0)", price: "decimal(9,2) null", note: string null}': "",
}


@pytest.mark.parametrize("relation", REFUSED)
def test_what_the_log_contradicts_is_refused(call: Call, tmp_path: Path, relation: str) -> None:
    declare(tmp_path, relation, VIEWS)
    plan, deployed = call("plan", "--no-rows"), call("deploy", "--yes")
    if REFUSED[relation]:
        assert REFUSED[relation] in plan.stderr
        assert REFUSED[relation] in deployed.stderr
    assert (plan.exit_code == 0, deployed.exit_code == 0) == (not REFUSED[relation],) * 2
    assert rows(call, "total") == [{"total": "4.00"}]


def test_a_key_that_rows_break_is_refused(call: Call, tmp_path: Path) -> None:
    land(tmp_path, "d2", "id,price,note,op,event\n1,9,y,I,3\n")
    assert call("run").exit_code == 0
    declare(tmp_path, f"key: [id], {COLUMNS}", VIEWS)
    assert "key-broken" in call("deploy", "--yes").stderr


def test_who_has_opened_the_revision_before_appends_nothing(call: Call, tmp_path: Path) -> None:
    with open_runtime(load_project(tmp_path)) as old:
        declare(tmp_path, COLUMNS.replace("note: string null", "note: string null, more: bigint null"), VIEWS)
        assert call("deploy", "--yes").exit_code == 0
        with pytest.raises(RevisionOver):
            append_events(old, 0, [("orders", 1, (9, None, None))], "late")


def test_null_that_comes_while_it_is_ruled_out_ends_the_deployment(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path, COLUMNS.replace('"decimal(9,2)"', '"decimal(9,2) null"'), VIEWS)
    assert call("deploy", "--yes").exit_code == 0
    declare(tmp_path, COLUMNS, VIEWS)
    settle = deploying._settle

    def late(rt: Runtime) -> int:
        at = settle(rt)
        append_events(rt, 0, [("orders", 1, (9, None, None))], "late")
        return at

    monkeypatch.setattr(deploying, "_settle", late)
    with open_runtime(load_project(tmp_path)) as rt, pytest.raises(InputProblem, match="NOT NULL"):
        deploying.deploy(rt)
    with open_runtime(load_project(tmp_path)) as rt:
        assert rt.program.relation_by_name["orders"].columns[1].type.nullable


def test_a_name_that_another_column_had_is_a_new_column(call: Call, tmp_path: Path) -> None:
    declare(
        tmp_path, 'columns: {id: bigint, amount: {type: "decimal(9,2)", was: price}, price: "decimal(9,2) null"}', VIEWS
    )
    assert call("deploy", "--yes").exit_code == 0
    assert rows(call, "total") == [{"total": None}]
    land(tmp_path, "d2", "id,amount,price,op,event\n3,7,0.25,I,3\n")
    assert call("run").exit_code == 0
    assert rows(call, "total") == [{"total": "0.25"}]


def test_a_rename_is_undone_by_a_rollback(call: Call, tmp_path: Path) -> None:
    declare(
        tmp_path,
        'columns: {id: bigint, amount: {type: "decimal(9,2)", was: price}, note: string null}',
        {"total": "SELECT SUM(amount) AS total FROM orders"},
    )
    assert "1 table of maps reused" in call("plan", "--no-rows").stdout
    assert call("deploy", "--yes").exit_code == 0
    assert call("deploy", "--rollback", "--yes").exit_code == 0
    with open_runtime(load_project(tmp_path)) as rt:
        (relation,) = rt.program.relations
        assert [(c.name, relation.in_log(c.name)) for c in relation.columns] == [
            (n, n) for n in ("id", "price", "note")
        ]
    assert rows(call, "total") == [{"total": "4.00"}]
