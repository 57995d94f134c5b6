"""The project file: what it means, and what each mistake is answered with."""

import datetime
import re
from pathlib import Path

import pytest

from cumulus_ops.opening.compiling import build_program
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import (
    SETTLE,
    KeySettings,
    LandingSettings,
    Patience,
    SealSettings,
    ValidationSettings,
)
from m3.datatypes import BOOL, DATE, INT, STRING, decimal

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "tpch"
MINIMAL = """\
name: shop
relations:
  orders:
    columns: {id: bigint, note: string null}
    key: [id]
sources: {landing: in}
epochs: {length: 15m, start: 2026-01-01}
views: {v: v.sql}
"""


@pytest.fixture
def write(tmp_path):
    """Writes a project's file (and its one view) and returns the folder."""
    (tmp_path / "v.sql").write_text("SELECT COUNT(*) FROM orders")

    def writer(text):
        (tmp_path / "cumulus.yaml").write_text(text)
        return tmp_path

    return writer


def test_minimal_project_has_the_documented_defaults(write):
    folder = write(MINIMAL)
    project = load_project(folder, {})
    assert project.coordinators == 1
    assert project.landing == folder / "in"
    assert project.state == folder / "var" / "state"
    assert project.catalog_url == f"sqlite:///{folder / 'var' / 'state' / 'catalog.db'}"
    assert project.reports == folder / "var" / "state" / "reports"
    assert project.published is None
    assert project.validation == ValidationSettings("fail", 1, None)
    assert project.executor.kind == "spark"
    assert project.epoch.length == datetime.timedelta(minutes=15)
    assert project.epoch.start == datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    assert project.epoch.count is None
    assert project.views == {"v": "SELECT COUNT(*) FROM orders"}
    assert project.batch_rows is None
    assert project.least_batch_rows == 1_000_000


def test_file_and_folder_name_the_same_project(write):
    folder = write(MINIMAL)
    assert load_project(folder, {}) == load_project(folder / "cumulus.yaml", {})


def test_the_size_of_batches_can_be_chosen(write):
    assert load_project(write(MINIMAL + "batches: {rows: 5000}\n"), {}).batch_rows == 5000
    with pytest.raises(InputProblem):
        load_project(write(MINIMAL + "batches: {rows: 0}\n"), {})


def test_patience_with_coordinators_that_are_late_can_be_chosen(write):
    assert load_project(write(MINIMAL), {}).patience == Patience()
    text = MINIMAL + "coordinators: {count: 3, token: 30s, patience: 10m}\n"
    project = load_project(write(text), {})
    assert project.coordinators == 3
    assert project.patience == Patience(datetime.timedelta(seconds=30), datetime.timedelta(minutes=10))
    never = load_project(write(text.replace("10m", "never")), {})
    assert never.patience.gone is None
    with pytest.raises(InputProblem, match="less than"):
        load_project(write(text.replace("10m", "10s")), {})


def test_epochs_can_be_limited_in_events(write):
    assert load_project(write(MINIMAL), {}).epoch.events is None
    limited = MINIMAL.replace("length: 15m,", "length: 15m, events: 5000000,")
    assert load_project(write(limited), {}).epoch.events == 5_000_000


def test_epochs_are_staggered_unless_they_are_said_to_be_aligned(write):
    assert load_project(write(MINIMAL)).epoch.staggered
    aligned = MINIMAL.replace("length: 15m,", "length: 15m, transitions: aligned,")
    assert not load_project(write(aligned)).epoch.staggered


def test_what_is_validated_when_can_be_chosen(write):
    text = MINIMAL + "validation: {policy: warn, every: 3 epochs, views: 2}\n"
    settings = load_project(write(text), {}).validation
    assert settings == ValidationSettings("warn", 3, 2)
    assert [e for e in range(10) if settings.due(e)] == [0, 3, 6, 9]
    everything = {name for turn in range(3) for name in settings.chosen("abcde", turn)}
    assert everything == set("abcde")
    off = load_project(write(MINIMAL + "validation: {policy: off}\n"), {}).validation
    assert not any(off.due(e) for e in range(5))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("every: 0", "no number of epochs"),
        ("every: 3 days", "no number of epochs"),
        ("views: 0", "neither all nor a number"),
        ("views: some", "neither all nor a number"),
        ("policy: no", "not known"),
        ("sometimes: 1", "unknown key"),
    ],
)
def test_wrong_settings_of_validation_say_what_and_where(write, settings, problem):
    with pytest.raises(InputProblem, match=problem) as raised:
        load_project(write(MINIMAL + f"validation:\n  {settings}\n"), {})
    assert raised.value.place.endswith(f":{len(MINIMAL.splitlines()) + 2}")
    assert raised.value.hint


def test_types_keys_and_nullability(write):
    text = MINIMAL.replace("note: string null", 'note: string null, p: "decimal(15, 2) null", d: DATE, b: boolean')
    relation = load_project(write(text), {}).relations[0]
    types = {c.name: c.type for c in relation.columns}
    assert types == {
        "id": INT,
        "note": STRING.with_null(),
        "p": decimal(15, 2).with_null(),
        "d": DATE,
        "b": BOOL,
    }
    assert relation.key == ("id",)
    assert relation.rows is None


def test_numbers_of_rows_reach_the_program(write):
    project = load_project(write(MINIMAL.replace("key: [id]", "key: [id]\n    rows: 1500000")), {})
    assert build_program(project).relation_by_name["orders"].rows == 1_500_000


def test_the_example_declares_all_of_tpch():
    project = load_project(EXAMPLE, {})
    assert len(project.relations) == 8
    assert len([c for r in project.relations for c in r.columns]) == 61
    assert all(r.rows for r in project.relations)
    assert set(project.views) == {"q1", "q3", "q5", "q6", "q10", "example21"}


def test_environment_replaces_variables_and_defaults(write):
    text = MINIMAL + "state: ${CUMULUS_HOME:-var}/state\ncatalog: ${DB:-}\ncoordinators: ${N}\n"
    folder = write(text)
    project = load_project(folder, {"CUMULUS_HOME": "/data", "N": "3", "DB": "postgresql+psycopg2://u:p@h/n"})
    assert project.state == Path("/data/state")
    assert project.catalog_url == "postgresql+psycopg2://u:p@h/n"
    assert project.coordinators == 3
    assert load_project(folder, {"N": "2"}).state == folder / "var" / "state"


def test_relative_sqlite_catalog_lies_in_the_project(write):
    folder = write(MINIMAL + "catalog: sqlite:///here.db\n")
    assert load_project(folder, {}).catalog_url == f"sqlite:///{folder / 'here.db'}"


def test_the_buffer_period_of_corrections(write):
    assert load_project(write(MINIMAL), {}).corrections.after == datetime.timedelta(seconds=2)
    text = MINIMAL + "corrections: {after: 500ms}\n"
    assert load_project(write(text), {}).corrections.after == datetime.timedelta(milliseconds=500)


MISTAKES = [
    ("name: shop", "nam: shop", "unknown-key", 1, "did you mean `name`?"),
    ("id: bigint", "id: bigtin", "bad-type", 4, "bigint"),
    ("note: string null", 'note: "decimal(40,2)"', "bad-type", 4, "38"),
    ("key: [id]", "key: [ident]", "unknown-column", 5, "columns: id, note"),
    ("key: [id]", "key: [id]\n    rows: many", "bad-value", 6, "an integer from 1 to"),
    ("key: [id]", "key: [id]\n    rows: 0", "bad-value", 6, "an integer from 1 to"),
    ("key: [id]", "key: [id]\n    row: 7", "unknown-key", 6, "did you mean `rows`?"),
    ("key: [id]", "keys: [id]", "unknown-key", 5, "did you mean `key`?"),
    ("length: 15m", "length: 15 minutes", "bad-value", 7, "30s, 15m"),
    ("length: 15m", "length: 0s", "bad-value", 7, "30s, 15m"),
    ("sources: {landing: in}", "corrections: {after: never}\nsources: {landing: in}", "bad-value", 6, "30s, 15m"),
    ("length: 15m", "length: 15m, retain: 8, pin: 4", "bad-pin", 7, "every snapshot stays for 8 epochs"),
    ("start: 2026-01-01", "start: soon", "bad-value", 7, "2026-01-31"),
    ("views: {v: v.sql}", "views: {v: w.sql}", "no-file", 8, "relative"),
    ("views: {v: v.sql}", "coordinators: 1", "views-or-program", 1, "views: {"),
    ("sources: {landing: in}", "coordinators: 0\nsources: {landing: in}", "bad-value", 6, "from 1 to 256"),
    ("sources: {landing: in}", "catalog: my.db\nsources: {landing: in}", "bad-value", 6, "sqlite:///"),
    ("sources: {landing: in}", "sources: {landing: '${NOWHERE}'}", "no-variable", 6, "${NOWHERE:-default}"),
    ("sources: {landing: in}", "validation: {policy: shrug}\nsources: {landing: in}", "bad-value", 6, "fail, warn"),
    ("sources: {landing: in}", "name: again\nsources: {landing: in}", "duplicate", 6, "remove one"),
    ("name: shop", "name: 2shop", "bad-name", 1, "letters"),
    ("  orders:", "  orders: [", "bad-yaml", None, "colons"),
]


@pytest.mark.parametrize(("good", "bad", "kind", "line", "hint"), MISTAKES)
def test_mistake_is_answered_with_place_and_hint(write, good, bad, kind, line, hint):
    assert good in MINIMAL
    folder = write(MINIMAL.replace(good, bad))
    with pytest.raises(InputProblem) as caught:
        load_project(folder, {})
    assert caught.value.kind == kind
    if line is not None:
        assert caught.value.place == f"{folder / 'cumulus.yaml'}:{line}"
    assert hint
    assert hint in caught.value.hint


def test_missing_project_says_how_to_make_one(tmp_path):
    with pytest.raises(InputProblem, match="no such project") as caught:
        load_project(tmp_path / "none", {})
    assert "cumulus init" in caught.value.hint


def test_views_are_read_in_the_projects_dialect(write):
    folder = write(MINIMAL + "dialect: postgres\n")
    (folder / "v.sql").write_text("SELECT id / 2 AS half, count(*) FROM orders GROUP BY 1")
    project = load_project(folder, {})
    view = build_program(project).view("v")
    assert view.columns[0].expression.type == INT  # in the generic dialect a quotient is a decimal
    with pytest.raises(InputProblem, match="unknown dialect 'sybase'") as caught:
        load_project(write(MINIMAL + "dialect: sybase\n"), {})
    assert "postgres" in str(caught.value)


def test_sources(write):
    text = """
sources:
  landing: {path: in, settle: 0s}
  bank: {kind: postgres, coordinator: 2, dsn: x}
  mine: {kind: "my.module:Mine"}
"""
    project = load_project(write(MINIMAL.replace("sources: {landing: in}", text.strip())), {})
    assert (project.landing, project.settle) == (project.folder / "in", datetime.timedelta(0))
    bank, mine = project.sources
    assert (bank.name, bank.kind, bank.coordinator, mine.coordinator) == ("bank", "postgres", 2, 0)
    assert bank.options("dsn").need("dsn", "").text() == "x"
    with pytest.raises(InputProblem, match="dsn"):
        bank.options()


def test_a_project_needs_no_landing_folder_beside_other_sources(write):
    project = load_project(write(MINIMAL.replace("{landing: in}", "{bank: {kind: postgres}}")), {})
    assert project.settle == SETTLE
    assert [s.name for s in project.sources] == ["bank"]


def test_keys_mean_something_where_a_mode_says_so(write):
    def keyed(text: str) -> str:
        return MINIMAL.replace("key: [id]", f"key: [id]\n    mode: {text}")

    assert load_project(write(MINIMAL), {}).keys == {} == load_project(write(keyed("trusted")), {}).keys
    assert load_project(write(keyed("strict")), {}).keys == {"orders": KeySettings("strict", "one")}
    both = keyed("upsert\n    writers: any")
    assert load_project(write(both), {}).keys == {"orders": KeySettings("upsert", "any")}
    without = MINIMAL.replace("key: [id]", "mode: strict")
    assert load_project(write(without), {}).keys == {"orders": KeySettings("strict")}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("key: [id]", "mode: upsert", "an upsert needs a key"),
        ("key: [id]", "key: [note]\n    mode: strict", "the key's column note may be NULL"),
        ("key: [id]", "key: [id]\n    writers: any", "says who may write a key"),
        ("key: [id]", "mode: strict\n    writers: any", "says who may write a key"),
        ("key: [id]", "key: [id]\n    mode: loose", "loose"),
    ],
)
def test_keys_that_cannot_mean_anything_are_refused(write, old, new, message):
    with pytest.raises(InputProblem, match=message):
        load_project(write(MINIMAL.replace(old, new)), {})


def test_how_files_are_read_is_said_for_all_or_for_a_relation(write):
    text = MINIMAL.replace(
        "landing: in", r"""landing: {path: in, null_values: [NULL, '\N'], ops: {new: I, gone: D}, delimiter: tab}"""
    )
    project = load_project(write(text))
    assert project.settings_of("orders") == LandingSettings(("NULL", r"\N"), {"new": "I", "gone": "D"}, "\t")
    relation = project.relations[0].name
    own = text.replace("columns:", "file: {ops: insert, delimiter: ';'}\n    columns:", 1)
    assert load_project(write(own)).settings_of(relation) == LandingSettings(("NULL", r"\N"), "insert", ";")
    assert load_project(write(MINIMAL)).settings_of(relation) == LandingSettings()


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ("ops: all", "neither insert nor a mapping"),
        ("ops: {new: X}", "'X' is not known"),
        ("ops: {I: D}", "'I' means I already"),
        ("ops: {insert: I, delete: U}", "'delete' means D already"),
        ("ops: {new: I, NEW: D}", "'NEW' means I already"),
        ("delimiter: ''", "no delimiter"),
        ("delimiter: ';;'", "no delimiter"),
        ("delimiter: a", "no delimiter"),
        ("null_values: NULL", "must be a list"),
        ("header: no", "unknown key"),
    ],
)
def test_wrong_settings_of_files_say_what_and_where(write, setting, what):
    with pytest.raises(InputProblem, match=what) as problem:
        load_project(write(MINIMAL.replace("landing: in", f"landing: {{path: in, {setting}}}")))
    assert problem.value.hint
    assert "cumulus.yaml:" in problem.value.place


@pytest.mark.parametrize("name", ["op", "Event", "_sign", "_VERSION", "_offset", "_value"])
def test_columns_with_the_names_of_the_event_log_are_refused(write, name):
    with pytest.raises(InputProblem, match="reserved") as problem:
        load_project(write(MINIMAL.replace("columns: {", f"columns: {{{name}: bigint, ", 1)))
    assert problem.value.kind == "reserved-name"
    assert "declare it under another name" in problem.value.hint


@pytest.mark.parametrize(
    ("name", "written", "line"),
    [
        ("cumulus.yaml", MINIMAL.encode() + b"# f\xfcr\n", len(MINIMAL.splitlines()) + 1),
        ("cumulus.yaml", MINIMAL.encode("utf-16"), 1),
        ("v.sql", b"SELECT 1\n-- \xfc\n", 2),
    ],
)
def test_files_that_are_not_utf_8_are_named_with_the_line(write, name, written, line):
    folder = write(MINIMAL)
    (folder / name).write_bytes(written)
    with pytest.raises(InputProblem, match="not UTF-8") as caught:
        load_project(folder, {})
    assert caught.value.place == f"{folder / name}:{line}"


def test_a_byte_order_mark_is_none_of_the_text(write):
    folder = write(MINIMAL)
    (folder / "cumulus.yaml").write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode())
    (folder / "v.sql").write_bytes(b"\xef\xbb\xbfSELECT 1 AS one")
    assert load_project(folder, {}).views["v"] == "SELECT 1 AS one"


@pytest.mark.parametrize("span", ["1000000000d", "36526d", "9" * 400 + "s"])
def test_spans_that_no_calendar_has_are_refused(write, span):
    with pytest.raises(InputProblem, match="longer than 100 years"):
        load_project(write(MINIMAL.replace("15m", span)), {})


@pytest.mark.parametrize(
    ("size", "what"), [("lots", "no amount"), ("9" * 400 + " GiB", "no amount"), ("1 MiB", "not enough")]
)
def test_memory_that_is_no_amount_of_it(write, size, what):
    with pytest.raises(InputProblem, match=what) as caught:
        load_project(write(MINIMAL + f"memory: {size}\n"), {})
    assert caught.value.message.count("memory:") == 1


SEALED = MINIMAL.replace("note: string null}", "note: string null, day: date, price: double}")


def with_relation(text):
    return SEALED.replace("    key: [id]\n", f"    key: [id]\n    {text}\n")


def test_seals_are_a_list_of_columns_or_say_who_produces(write):
    seals = "seals: {day: [day], both: {key: [id, note], producers: registered}, alone: {key: [note], producers: one}}"
    project = load_project(write(with_relation(seals)), {})
    assert project.seals == {
        "orders": (
            SealSettings("day", ("day",)),
            SealSettings("both", ("id", "note"), "registered"),
            SealSettings("alone", ("note",), "one"),
        )
    }


def test_without_a_word_nothing_is_sealed_and_rows_may_be_deleted(write):
    project = load_project(write(MINIMAL), {})
    assert (project.seals, project.insert_only, project.dataflow) == ({}, (), None)


@pytest.mark.parametrize(("text", "expected"), [("insert_only: true", ("orders",)), ("insert_only: false", ())])
def test_a_relation_may_have_only_inserts(write, text, expected):
    assert load_project(write(with_relation(text)), {}).insert_only == expected


@pytest.mark.parametrize(
    ("text", "kind", "hint"),
    [
        ("insert_only: maybe", "bad-value", "true, false"),
        ("{insert_only: true, mode: upsert}", "bad-insert-only", "mode: strict"),
        ("seals: [day]", "bad-seal", "seals: {day: [day]}"),
        ("seals: {day: []}", "bad-seal", "seals: {day: [day]}"),
        ("seals: {day: [day, day]}", "bad-seal", "seals: {day: [day]}"),
        ("seals: {day: day}", "bad-seal", "seals: {day: [day]}"),
        ("seals: {day: {producers: one}}", "missing-key", "key: [day]"),
        ("seals: {day: {key: [dya]}}", "unknown-column", "id, note, day, price"),
        ("seals: {day: {key: [day], producers: two}}", "bad-value", "all, registered, one"),
        ("seals: {day: {key: [day], who: one}}", "unknown-key", "key, producers"),
        ("seals: {2day: [day]}", "bad-name", "seal files"),
        ("seals: {price: [price]}", "bad-seal", "decimal"),
    ],
)
def test_wrong_seals_are_answered_with_line_and_remedy(write, text, kind, hint):
    lines = text.strip("{}").replace(", mode", "\n    mode") if text.startswith("{") else text
    with pytest.raises(InputProblem) as found:
        load_project(write(with_relation(lines)), {})
    assert found.value.kind == kind
    assert hint in found.value.hint
    assert found.value.place.rpartition(":")[2] == "6"


def test_a_file_says_what_becomes_of_the_answers(write, tmp_path):
    (tmp_path / "serving.yaml").write_text("")
    assert load_project(write(MINIMAL + "dataflow: serving.yaml\n"), {}).dataflow == tmp_path / "serving.yaml"


def test_a_view_that_says_something_else_from_a_value_on_is_one_query(write, tmp_path):
    (tmp_path / "old.sql").write_text("SELECT 1 AS day; -- old")
    view = "{sql: v.sql, before: old.sql, effective: {day: VALUE}}"

    def load(value, entry=view):
        return load_project(write(re.sub("views: .*", f"views: {{v: {entry}}}", MINIMAL).replace("VALUE", value)), {})

    (tmp_path / "v.sql").write_text("SELECT 2 AS day;\n")
    for value, literal in (
        ("2026-02-01", "DATE '2026-02-01'"),
        ("-7.5", "-7.5"),
        ("2026-02-01 00:00:00", "TIMESTAMP '2026-02-01 00:00:00'"),
    ):
        project = load(value)
        assert project.views["v"].splitlines()[0] == "SELECT * FROM (SELECT 2 AS day"
        assert f"WHERE day < {literal} OR day IS NULL" in project.views["v"]
        assert project.view_files["v"] == tmp_path / "v.sql"
    for wrong, entry in (
        ("soon", view),
        ("1", view.replace("before: old.sql, ", "")),
        ("1", view.replace("VALUE", "VALUE, n: 2")),
        ("1", view.replace("old.sql", "gone.sql")),
    ):
        with pytest.raises(InputProblem):
            load(wrong, entry)


def test_what_came_from_the_environment_is_not_shown(write):
    file = write(MINIMAL + "validation: {policy: '${SECRET}'}\nmemory: 'x${SECRET}'\n")
    for environment in ({"SECRET": "hush'@\\%"}, {"SECRET": " hush "}):
        with pytest.raises(InputProblem) as caught:
            load_project(file, environment)
        assert "hush" not in str(caught.value)
        assert "${SECRET}" in str(caught.value)


def test_other_names_of_columns_are_those_of_declared_ones(write):
    from cumulus_ops.sources.postgres.source import postgres_settings

    relation = load_project(write(MINIMAL), {}).relations[0]
    name, column = relation.name, relation.columns[0].name
    source = "{bank: {kind: postgres, url: postgresql://me@db/x, tables: [%s], renamed: {%s: {%s: %s}}}}"

    def settings(other, declared):
        project = load_project(write(MINIMAL.replace("{landing: in}", source % (name, name, other, declared))), {})
        return postgres_settings(project, project.sources[0])

    assert settings("cost", column).tables[0].renamed == (("cost", column),)
    with pytest.raises(InputProblem, match="has no column 'nothing'"):
        settings("cost", "nothing")
    with pytest.raises(InputProblem, match="is a column of"):
        settings(column, column)
