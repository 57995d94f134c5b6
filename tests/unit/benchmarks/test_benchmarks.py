"""The benchmarks' own arithmetic and bookkeeping, and the smallest possible contest with its check of the answers."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks.answers import same_rows
from benchmarks.cases import cores, refresh, together
from benchmarks.cases.ways import Anew, Batches
from benchmarks.changes import make_changes, make_continuation
from benchmarks.contest import Contestant, Turn, Unsupported, WrongAnswer, compete
from benchmarks.peers import cluster
from benchmarks.peers.cumulus import on_state
from benchmarks.peers.cumulus_worker import apply_all
from benchmarks.peers.postgres_views import QUERIES, incremental
from benchmarks.report.figures import break_even, geometric_mean, ratios
from benchmarks.report.summary import summary
from benchmarks.rows import Label, Row, merge_rows, read_rows, write_rows
from benchmarks.settings import Settings
from benchmarks.states import State
from benchmarks.workload import drops_of, relations_of, tables_of

LABEL = Label("stream", "q3", scale_factor=1.0, batch_events=1000, cores=2)


class Scripted:
    """Takes the given seconds, one per turn."""

    def __init__(self, name: str, seconds: list[float], log: list[str], problem: Exception | None = None) -> None:
        self.name, self.seconds, self.log, self.problem = name, seconds, log, problem

    def turn(self, number: int) -> Turn:
        self.log.append(f"{self.name}{number}")
        if self.problem:
            raise self.problem
        return Turn(self.seconds[number], 100)

    def finish(self) -> str:
        return "checked"


def raced(*contestants: Scripted, repetitions: int = 3, warm_ups: int = 0) -> list[Row]:
    def opened(contestant: Scripted) -> Iterator[Contestant]:
        yield contestant

    entries = {c.name: (lambda c=c: contextmanager(opened)(c)) for c in contestants}
    return compete(LABEL, entries, repetitions, warm_ups)


def row(contestant: str, query: str = "q3", seconds: float | None = 1.0, **fields: object) -> Row:
    made = raced(Scripted(contestant, [seconds or 0.0], []), repetitions=1)[0]
    return dataclasses.replace(made, query=query, seconds=seconds, **fields)  # type: ignore[arg-type]


def test_turns_are_interleaved_and_warm_ups_not_counted() -> None:
    log: list[str] = []
    rows = raced(Scripted("a", [9, 1, 2, 6], log), Scripted("b", [9, 4, 4, 4], log), warm_ups=1)
    assert log == ["a0", "b0", "a1", "b1", "a2", "b2", "a3", "b3"]
    assert [(r.seconds, r.min, r.max, r.runs, r.events_per_s) for r in rows] == [(2, 1, 6, 3, 50), (4, 4, 4, 3, 25)]


def test_who_refuses_gets_a_row_with_the_reason_and_no_further_turn() -> None:
    log: list[str] = []
    refused, other = raced(Scripted("a", [], log, Unsupported("no EXISTS")), Scripted("b", [1, 1, 1], log))
    assert (refused.seconds, refused.runs, refused.note) == (None, 0, "not expressible: no EXISTS")
    assert other.runs == 3
    assert log.count("a0") == 1
    assert "a1" not in log


def test_newer_rows_replace_older_ones_with_the_same_key_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "stream.csv"
    write_rows(file, [row("cumulus", "q10"), row("flink", seconds=None, note='not, "really"')])
    write_rows(file, merge_rows(read_rows(file), [row("cumulus", "q10", 2.0), row("cumulus", "q2")]))
    found = [(r.query, r.contestant, r.seconds, r.note) for r in read_rows(file)]
    assert found == [
        ("q2", "cumulus", 1.0, "checked"),
        ("q3", "flink", None, 'not, "really"'),
        ("q10", "cumulus", 2.0, "checked"),
    ]


def test_break_even_is_interpolated_on_logarithmic_axes() -> None:
    recomputed = {0.001: 1.0, 0.01: 1.0, 0.1: 1.0}
    kind, fraction = break_even({0.001: 0.01, 0.01: 0.1, 0.1: 10.0}, recomputed)
    assert kind == "at"
    assert fraction == pytest.approx(0.01 * 10**0.5)
    assert break_even({0.001: 2.0}, recomputed) == ("below", 0.001)
    assert break_even({0.001: 0.1, 0.1: 0.9}, recomputed) == ("above", 0.1)
    assert break_even({}, recomputed) == ("unknown", None)


def test_ratios_are_of_what_both_have() -> None:
    rows = [row("cumulus", "q1"), row("flink", "q1", 4.0), row("flink", "q2", 9.0), row("flink", "q3", None)]
    assert ratios(rows, "flink", "cumulus", "query") == {("q1",): 4.0}
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([]) is None


def test_summary_names_who_has_no_number_and_why() -> None:
    page = summary([row("cumulus"), row("flink", seconds=None, events_per_s=None, note="not expressible: joins")])
    assert "- flink, q3: not expressible: joins" in page


def test_summary_names_the_query_for_which_filling_anew_is_nearest() -> None:
    label = Label("ways", "q3", "10.0000%, all tables", 0.1)
    rows = [("cumulus", "q3", 1.0), ("cumulus", "q4", 1.0), ("cumulus-anew", "q3", 2.0), ("cumulus-anew", "q4", 8.0)]
    made = [row(who, query, s, case="ways", variant=label.variant, scale_factor=0.1) for who, query, s in rows]
    page = summary(made)
    assert "CPU seconds of a batch of 10 % of the rows, all tables, SF 0.1:" in page
    assert "- cumulus-anew takes 4x the time of cumulus (geometric mean), at the least 2x (q3)" in page


def test_answers_are_multisets_with_exact_decimals_and_tolerant_floats() -> None:
    day = datetime.date(1995, 3, 15)
    ours = [("b", Decimal("2.50"), 1.0), ("a", Decimal("1.00"), 0.3333333333)]
    assert same_rows(ours, [("a", Decimal("1"), 1 / 3), ("b", Decimal("2.5"), 1.0)]) == ""
    assert same_rows([("a", str(day))], [("a", day)]) == ""
    assert same_rows([(1,), (1,)], [(1,), (2,)]) != ""
    assert same_rows([(Decimal("2.51"),)], [(Decimal("2.50"),)]) != ""
    assert same_rows([(1,)], [(1,), (1,)]) == "1 rows instead of 2"
    assert same_rows([(None,)], [(0.0,)]) != ""


@pytest.mark.parametrize("query", QUERIES)
def test_incremental_sql_has_a_trigger_per_relation(query: str) -> None:
    view = incremental(query)
    triggers = [s for s in view.statements if s.startswith("CREATE TRIGGER")]
    assert len(triggers) == len(relations_of([query]))


def test_a_self_join_needs_a_change_for_each_set_of_places() -> None:
    function = next(s for s in incremental("q7").statements if s.startswith("CREATE FUNCTION add_nation"))
    assert function.count("inserted_rows AS n1") == function.count("inserted_rows AS n2") == 2
    assert function.count("-1 * n") == 1


def test_the_smallest_contest_has_checked_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tables_of(tmp_path, 0.001)
    landing = drops_of(tmp_path, tables, relations_of(["q3"]), 3000)
    folder = tmp_path / "states" / "q3"
    spec = {"folder": str(folder), "queries": ["q3"], "landing": str(landing), "batches": 2, "kind": "inprocess"}
    folder.mkdir(parents=True)
    loaded = apply_all(spec)
    drops = len(list((landing / "0").iterdir()))
    state = State(folder, ("q3",), loaded["events"], loaded["seconds"], 0.0, (2, drops))
    changes = make_continuation(tmp_path, tables, relations_of(["q3"]), state.drops, 500, 2)
    with on_state(tmp_path, state, changes, None) as project:
        ours = Batches(project)
        rows = compete(LABEL, {"cumulus": lambda: nullcontext(ours), "anew": lambda: nullcontext(Anew(ours))}, 1, 1)
        assert not [row.note for row in rows if row.seconds is None]
        assert "rows checked" in rows[0].note
        assert rows[0].events == pytest.approx(500, abs=3)
        commits = project.rt.catalog.commits
        some = commits.runs(commits.last_commit())[1:]
        monkeypatch.setattr(commits, "runs", lambda _: some)
        with pytest.raises(WrongAnswer, match="entries differ"):
            Anew(ours).turn(2)


def test_answers_of_one_program_are_checked_and_counted_together_and_apart(tmp_path: Path) -> None:
    tables, queries = tables_of(tmp_path, 0.001), ("q3", "q6")
    landing = drops_of(tmp_path, tables, relations_of(queries), 8000)
    folder = tmp_path / "states" / "two"
    folder.mkdir(parents=True)
    spec = {"folder": str(folder), "queries": [*queries], "landing": str(landing), "batches": None, "kind": "inprocess"}
    loaded = apply_all(spec)
    state = State(folder, queries, loaded["events"], loaded["seconds"], 0.0)
    settings = Settings(home=tmp_path, contestants=("cumulus", "duckdb-recompute"), repetitions=1)
    found = {(r.contestant, r.query): r for r in together.contest(settings, tables, 0.001, state, 0.01)}
    ours = {query: found["cumulus", query].seconds or 0.0 for query in ("all", together.APPEND, "q3", "q6")}
    assert "answers of 2 queries checked" in found["cumulus", "all"].note
    assert 0 < ours["append"] < min(ours["q3"], ours["q6"])
    assert ours["all"] > max(ours["q3"], ours["q6"])
    theirs = {query: found["duckdb-recompute", query].seconds or 0.0 for query in ("all", "q3", "q6")}
    assert theirs["all"] == pytest.approx(theirs["q3"] + theirs["q6"])
    changes = refresh.changes_for(settings, tables, state, "q6", 0.01)
    alone = {r.contestant: r for r in refresh.contest(settings, changes, 0.001, state, "q6", 0.01)}
    assert alone["cumulus"].note.startswith("1 rows checked")
    assert 0 < (alone["cumulus-append"].seconds or 0.0) < (alone["cumulus"].seconds or 0.0)


def test_summary_says_for_which_queries_recomputing_is_faster() -> None:
    times = {
        "cumulus": [("q3", 3.0), ("q6", 2.0)],
        "cumulus-append": [("q3", 1.0), ("q6", 1.0)],
        "duckdb-recompute": [("q3", 8.0), ("q6", 1.5)],
    }
    page = summary([row(who, q, s, case="refresh", variant="10.0000%") for who, of in times.items() for q, s in of])
    mean = "(geometric mean of 2 queries)"
    assert f"- duckdb-recompute takes 1.41x the time of cumulus {mean}; it is faster for q6 (0.75x)" in page
    assert f"- duckdb-recompute takes 2.45x the time of cumulus from the log on {mean}\n" in page


def test_summary_says_what_all_answers_cost_with_and_without_appending() -> None:
    times = {
        "cumulus": [("all", 3.0), ("append", 1.0), ("q3", 2.5), ("q6", 2.5)],
        "duckdb-recompute": [("all", 8.0), ("q3", 6.0), ("q6", 2.0)],
    }
    made = [row(who, q, s, case="together", variant="0.1000%") for who, of in times.items() for q, s in of]
    page = summary(made)
    assert "- duckdb-recompute takes 2.67x the time of cumulus for all answers, 4x from the log on" in page
    assert "  - sooner there by itself than after the batch for all queries: q6" in page


def test_a_cluster_whose_workers_cannot_be_held_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "HIERARCHIES", (tmp_path / "cpu", tmp_path))
    settings = Settings(home=tmp_path, batch_sizes=(8000,))
    with cores.Clusters(tmp_path) as clusters:
        rows = cores.contest(settings, clusters, 0.001, "q3")
    assert [row.cores for row in rows] == [1, 2]
    for row in rows:
        assert row.note == f"not measured: workers cannot be held to a part of a core: no control groups in {tmp_path}"
        assert (row.case, row.contestant, row.seconds) == ("cores", "cumulus-spark", None)


def test_summary_says_how_much_faster_more_workers_are() -> None:
    used = {
        1: {"": 8.0, "append": 3.0, "append, CPU": 1.5, "apply": 4.0, "commit": 1.0},
        2: {"": 5.0, "append": 2.0, "append, CPU": 0.9, "apply": 2.0},
    }
    made = [
        row("cumulus-spark", "q3", s, case="cores", variant=part, cores=workers, note="held by hand" * (part == ""))
        for workers, of in used.items()
        for part, s in of.items()
    ]
    page = summary(made)
    assert "| q3, SF 1, append | 2 | 3 | 2 | 1.5x | 1.5 | 0.9 | 1.67x |" in page
    assert "| q3, SF 1, apply | 2 | 4 | 2 | 2x |  |  | – |" in page
    assert "q3, SF 1, commit" not in page
    assert "Workers of a standalone cluster, held by hand; the driver is not held." in page


def test_changes_keep_the_number_of_orders(tmp_path: Path) -> None:
    from benchmarks.answers import connect

    tables = tables_of(tmp_path, 0.001)
    changes = make_changes(tmp_path, tables, ("customer", "orders", "lineitem"), 100, 2, every_table=True)
    after = changes.after(2)
    with connect() as connection:
        counted = connection.execute(f"SELECT count(*), count(DISTINCT o_orderkey) FROM ({after['orders']})").fetchone()
        changed = connection.execute(
            f"SELECT count(*) FROM (({after['orders']}) EXCEPT SELECT * FROM read_parquet('{tables}/orders.parquet'))"
        ).fetchone()
    assert counted == (1500, 1500)
    assert changed is not None
    assert changed[0] > 0
