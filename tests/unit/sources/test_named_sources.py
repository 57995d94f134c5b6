"""Sources beside the landing folder: made when they are asked, asked no more than needed, closed at the end."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from cumulus_ops.append.delivery import Delivery, Part
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.cli.main import main
from cumulus_ops.epochs.driver import run_epochs, run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.status import status
from cumulus_ops.files.columns import RawFile
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import InputProblem, SetupProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project, SourceSettings
from cumulus_ops.project.yaml_nodes import read_yaml
from cumulus_ops.sources import pending
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import make_project

NUMBER = Relation("number", (Column("n", INT),))
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


class Counting:
    """Hands over the numbers up to `until`, one by one; an example of a source of one's own."""

    made: ClassVar[list[Counting]] = []
    broken = False

    def __init__(self, project: Project, settings: SourceSettings, catalog: Catalog) -> None:
        options = settings.options("until")
        until = options.get("until")
        self.name, self.until = settings.name, until.integer(0, 100) if until else 3
        self.polls, self.closed = list[str | None](), False
        self.unreadable: int | None = None
        self.endless = False
        Counting.made.append(self)

    def poll(self, position: str | None) -> Iterator[Delivery]:
        self.polls.append(position)
        if self.broken:
            raise SetupProblem("the line is dead", kind="no-line")
        if self.endless and position is not None:
            self.until = int(position) + 1
        for n in range(int(position or 0), self.until):
            begin = str(n) if n else None
            parts = no_parts if n == self.unreadable else parts_of(n)
            yield Delivery(self.name, f"{self.name}-{n}", NOON, parts, begin, str(n + 1))

    def close(self) -> None:
        self.closed = True


def no_parts() -> tuple[Part, ...]:
    raise SetupProblem("nothing can be read", kind="no-line")


def parts_of(n: int) -> Callable[[], tuple[Part, ...]]:
    table = pa.table({"n": [n], "op": ["I"], "event": [n]})
    return lambda: (Part("number", f"number {n}", lambda: iter([RawFile(table, np.arange(1))])),)


def project_with(folder: Path, text: str) -> Project:
    """A project with the given named sources."""
    file = folder / "sources.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    kind = f"{__name__}:Counting"
    items = read_yaml(file, {"KIND": kind}).section().items()
    settings = tuple(
        SourceSettings(
            name, item.section().need("kind", "").text(), int(item.section().need("coordinator", "").text()), item
        )
        for name, item in items
    )
    project = make_project(folder, (NUMBER,), views={"total": "SELECT SUM(n) AS total FROM number"})
    return dataclasses.replace(project, sources=settings)


@pytest.fixture(autouse=True)
def _forget() -> None:
    Counting.made.clear()


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[Runtime]:
    project = project_with(tmp_path, "line: {kind: '${KIND}', coordinator: 1, until: 4}\n")
    initialise(project)
    Counting.made.clear()
    with open_runtime(project) as runtime:
        yield runtime


def test_a_source_is_asked_again_only_behind_what_it_has_handed_over(rt: Runtime) -> None:
    assert [d.name for d in rt.sources.pending(1)] == ["line-0", "line-1"]
    assert rt.sources.pending(0) == []
    while run_minibatch(rt, 1) is not None:
        rt.sources.pending(1)
    (source,) = Counting.made
    assert source.polls[0] is None
    assert set(source.polls[1:]) == {"4"}
    assert [b.drop for b in rt.catalog.log.batches()] == [f"line-{n}" for n in range(4)]
    assert rt.catalog.deliveries.source_position("line") == "4"


def test_what_somebody_else_has_appended_is_forgotten(rt: Runtime) -> None:
    rt.sources.pending(1)
    with open_runtime(rt.project) as other:
        run_minibatch(other, 1)
        run_minibatch(other, 1)
        run_minibatch(other, 1)
    assert [d.name for d in rt.sources.pending(1)] == ["line-3"]


def test_sources_are_closed_with_the_project(tmp_path: Path) -> None:
    project = project_with(tmp_path, "line: {kind: '${KIND}', coordinator: 0}\n")
    initialise(project)
    Counting.made.clear()
    with open_runtime(project) as rt:
        status(rt)
        assert Counting.made == []  # a look at the project opens no database
        rt.sources.pending(0)
        assert [s.closed for s in Counting.made] == [False]
    assert [s.closed for s in Counting.made] == [True]


def test_a_source_that_cannot_be_asked_holds_up_nobody(
    rt: Runtime, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "PAUSE_S", 0.0)
    while run_minibatch(rt, 1) is not None:
        pass
    (source,) = Counting.made
    source.broken, source.until = True, 6
    assert rt.sources.pending(1) == rt.sources.pending(1) == []
    assert "the line is dead" in rt.sources.problems["line"]
    assert len(caplog.records) == 1
    with open_runtime(rt.project) as other:
        (standing,) = status(other).standing
    assert "the line is dead" in standing.problem, "other processes know, without asking it"
    source.broken = False
    assert [d.name for d in rt.sources.pending(1)] == ["line-4", "line-5"]
    assert not rt.sources.problems
    assert status(rt).standing == (standing,), "it has handed over nothing yet that could be read"
    run_minibatch(rt, 1)
    assert not status(rt).standing


def test_since_when_a_source_stands_still_and_that_it_does_no_more(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "PAUSE_S", 0.0)
    while run_minibatch(rt, 1) is not None:
        pass
    (source,) = Counting.made
    source.broken = True
    rt.sources.pending(1)
    (first,) = status(rt).standing
    rt.catalog.problems.source_stands_still("line", "it is gone altogether")
    (later,) = status(rt).standing
    assert (later.problem, later.since) == ("it is gone altogether", first.since)
    source.broken = False
    assert rt.sources.pending(1) == []
    assert not status(rt).standing, "nothing waits in it"


def test_a_source_that_stops_in_the_middle_stands_still_and_the_coordinator_goes_on(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "PAUSE_S", 0.0)
    rt.sources.pending(1)
    (source,) = Counting.made
    source.unreadable = 2
    while (report := run_minibatch(rt, 1)) is not None:
        assert report.drop in ("line-0", "line-1")
    assert "nothing can be read" in rt.sources.problems["line"]
    assert rt.sources.pending(1), "it is tried again"
    assert rt.sources.problems
    monkeypatch.setattr(pending, "PAUSE_S", 60.0)
    assert (run_minibatch(rt, 1), rt.sources.pending(1)) == (None, []), "but not all the time"
    run_epochs(rt, 1, validating=False)
    monkeypatch.setattr(pending, "PAUSE_S", 0.0)
    rt.sources._resting.clear()
    source.unreadable = None
    while run_minibatch(rt, 1) is not None:
        pass
    assert (rt.catalog.deliveries.source_position("line"), rt.sources.problems) == ("4", {})


@pytest.mark.parametrize("place", ["poll", "parts", "read", "in the middle", "close"])
def test_an_error_that_a_source_says_nothing_of_is_its_own(
    rt: Runtime, place: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No code of others stops a coordinator, wherever it fails."""

    def fail(*_: object) -> Iterator[RawFile]:
        raise ConnectionError("queue is down")

    def break_off() -> Iterator[RawFile]:
        yield RawFile(pa.table({"n": [1], "op": ["I"], "event": [1]}), np.arange(1))
        fail()

    parts = {"parts": fail, "read": lambda: [Part("number", "x", fail)]}
    parts["in the middle"] = lambda: [Part("number", "x", break_off)]
    if place in ("poll", "close"):
        monkeypatch.setattr(Counting, place, fail)
    else:
        monkeypatch.setitem(globals(), "parts_of", lambda _: parts[place])
    assert bool(run_minibatch(rt, 1)) == (place == "close")
    assert ("queue is down" in rt.sources.problems.get("line", "")) == (place != "close")
    rt.sources.close()
    assert "queue is down" in caplog.text
    assert rt.catalog.deliveries.source_position("line") == ("1" if place == "close" else None)


def test_what_somebody_else_has_appended_meanwhile_is_read_once_and_no_problem(rt: Runtime) -> None:
    """Two processes have asked before either appended."""
    rt.sources.pending(1)
    with open_runtime(rt.project) as other:
        other.sources.pending(1)
        assert run_minibatch(rt, 1).drop == "line-0"
        stale = other.sources.pending(1)
        waiting = [dataclasses.replace(stale[0], name="line-0", begin=None, position="1"), *stale]
        other.sources.pending = lambda _: waiting  # type: ignore[method-assign]
        report = run_minibatch(other, 1, [d.name for d in waiting])
        assert report is not None
        assert (report.drop, other.sources.problems) == ("line-1", {})


def test_a_source_that_no_coordinator_asks_stands_still(rt: Runtime) -> None:
    (line,) = rt.project.sources
    project = dataclasses.replace(rt.project, sources=(dataclasses.replace(line, coordinator=7),))
    with open_runtime(project) as other:
        assert not any(other.sources.pending(m.coordinator) for m in other.catalog.members.membership().active())
        (standing,) = status(other).standing
    assert "there is no coordinator 7" in standing.problem
    assert "cumulus coordinators add 7" in standing.problem


PROJECT = f"""
name: numbers
epochs: {{length: 15m, start: 2026-01-01T00:00:00Z}}
executor: {{kind: inprocess}}
validation: {{policy: "off"}}
relations: {{number: {{columns: {{n: bigint}}}}}}
views: {{total: total.sql}}
sources: {{line: {{kind: "{__name__}:Counting"}}}}
"""


def test_a_run_does_the_rest_and_says_which_source_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cumulus.yaml").write_text(PROJECT)
    (tmp_path / "total.sql").write_text("SELECT SUM(n) AS total FROM number")
    drop = load_project(tmp_path).landing / "0" / "d1"
    drop.mkdir(parents=True)
    (drop / "number.ndjson").write_text('{"op": "I", "event": 1, "n": 1}\n')
    (drop / "_SUCCESS").touch()
    monkeypatch.setattr(Counting, "broken", True)
    done = CliRunner().invoke(main, ["run", "--project", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 2
    assert "epoch 0: committed, 1 events" in done.stdout
    assert "Source line stands still since" in done.stdout
    assert "the line is dead" in done.stdout


def test_a_run_ends_although_a_source_never_does(rt: Runtime) -> None:
    rt.sources.pending(1)
    (source,) = Counting.made
    source.endless = True
    assert run_waiting(rt, validating=False) == 1
    assert [b.drop for b in rt.catalog.log.batches()] == [f"line-{n}" for n in range(5)]
    assert run_waiting(rt, validating=False) == 1
    assert int(rt.catalog.deliveries.source_position("line") or 0) in (6, 7)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("line: {kind: carrier-pigeon, coordinator: 0}", "unknown-source-kind"),
        ("line: {kind: 'no.such.module:Thing', coordinator: 0}", "no-source-kind"),
        ("line: {kind: 'pathlib:Nothing', coordinator: 0}", "no-source-kind"),
        ("line: {kind: '${KIND}', coordinator: 0, untill: 3}", "unknown-key"),
    ],
)
def test_what_is_wrong_with_a_source_is_said_when_the_project_is_initialised(
    tmp_path: Path, text: str, kind: str
) -> None:
    with pytest.raises(InputProblem) as caught:
        initialise(project_with(tmp_path, text))
    assert caught.value.kind == kind
    assert caught.value.place.endswith("sources.yaml:1")
