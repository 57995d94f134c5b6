"""The case studies: their grey-box files have the labels that they say, and stores differ exactly where the labels say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from cumulus_ops.coordination.labelling.analysis import analyse
from cumulus_ops.coordination.labelling.annotations import read_dataflow
from cumulus_ops.epochs.finals import finalise
from cumulus_ops.query.answers import read_answer
from examples.replay import (
    DEATHS,
    INDEPENDENT,
    SEALED,
    STUDIES,
    Input,
    Outcome,
    Replica,
    compare,
    first_epoch,
    make_input,
    play,
    play_by_arrival,
    read_rows,
)
from tests.support.sampling import sampled

EXAMPLES = Path(__file__).parents[3] / "examples"
GREY_BOX = sorted(EXAMPLES.glob("*/greybox/*.yaml"))
#: Two runs that show every anomaly; which ones do is a matter of luck.
SEEDS = range(2)


@pytest.mark.parametrize("file", GREY_BOX, ids=lambda f: f.stem)
def test_a_grey_box_has_the_label_that_it_says(file: Path) -> None:
    title = file.read_text().splitlines()[0]
    assert title.endswith(f": {analyse(read_dataflow(file)).label}")


def test_all_queries_are_there_sealed_and_not() -> None:
    queries = set(STUDIES["ads"].asked)
    assert {f.stem for f in GREY_BOX} >= {*queries, *(f"{q}_sealed" for q in queries), "wordcount", "wordcount_sealed"}


def test_no_store_of_word_counts_keeps_what_changes_if_it_waits_for_seals_or_epochs(tmp_path: Path) -> None:
    given = make_input(STUDIES["wordcount"], tmp_path / "drops")
    free = _play(given, tmp_path / "free")
    arriving = [play_by_arrival(first_epoch(given), tmp_path / f"arriving-{seed}", seed) for seed in SEEDS]
    _judge(given, [*compare(free), *compare(arriving)])
    for replica in _all(free):
        assert _stored(replica, "counts") == {tuple(map(str, row)) for row in _counted(given, ("word", "batch"))}


@pytest.mark.parametrize(
    "independent",
    sampled([False, True], 2),
    ids={False: "sealed by all servers", True: "sealed by one server each"}.get,
)
def test_no_cache_keeps_what_changes_if_it_waits_for_seals_or_epochs(tmp_path: Path, independent: bool) -> None:
    given = make_input(STUDIES["ads"], tmp_path / "drops", independent)
    policies = [SEALED] if independent else ["uncoordinated", "ordered", SEALED]
    runs = _play(given, tmp_path / "free", policies)
    outcomes = [replace(o, policy=INDEPENDENT) if independent else o for o in compare(runs)]
    _judge(given, outcomes)
    assert any(replica.deaths < DEATHS for replica in _all(runs)), "no process died"
    for replica in _all(runs):
        for view, keys in (("window", ("hour", "id")), ("campaign", ("campaign", "id"))):
            few = {row[:-1] for row in _counted(given, keys) if row[-1] < 100}  # type: ignore[operator]
            assert _stored(replica, view) == few


def test_a_sequencer_makes_caches_agree_within_a_run_only(tmp_path: Path) -> None:
    given = first_epoch(make_input(STUDIES["ads"], tmp_path / "drops"))
    _judge(given, compare([play_by_arrival(given, tmp_path / str(seed), seed) for seed in SEEDS]))


def test_an_hour_is_final_and_right_long_before_its_epoch_is_committed(tmp_path: Path) -> None:
    given = make_input(STUDIES["ads"], tmp_path / "drops")
    replica = Replica(given, tmp_path / "home", Random(0), len(given.drops))
    seen: dict[str, set[tuple[object, ...]]] = {}
    for hour in range(4):
        for server, drops in enumerate(given.drops):
            replica.deliver(drops[hour], server, drops[hour].name)
        finalise(replica.rt)
        assert replica.rt.catalog.snapshots.newest() == -1, "no epoch is over yet"
        if hour == 0:
            continue  # no hour is sealed yet, for clicks of the first come late
        answer = read_answer(replica.rt, "window")
        rows = list(zip(*answer.rows.to_pydict().values(), answer.final_by.to_pylist(), strict=True))
        seen = {by: {(str(h), str(i)) for h, i, b in rows if b == by} for _, _, by in rows}
        assert len(seen) == hour, "one hour more is final with each hour's drops"
    replica.close()
    counted = _counted(given, ("hour", "id"))
    hours = sorted({str(row[0]) for row in counted})
    for hour, found in zip(hours, sorted(seen.items()), strict=False):
        assert hour in found[0]
        assert found[1] == {row[:-1] for row in counted if row[0] == hour and row[-1] < 100}  # type: ignore[operator]


def _play(given: Input, home: Path, policies: list[str] | None = None) -> list[list[Replica]]:
    return [play(given, home / str(seed), seed, *([policies] if policies else [])) for seed in SEEDS]


def _all(runs: list[list[Replica]]) -> Iterator[Replica]:
    return (replica for run in runs for replica in run)


def _judge(given: Input, outcomes: Iterable[Outcome]) -> None:
    """That stores differ where the label says that they may, and nowhere else."""
    for outcome in outcomes:
        label = given.study.label(outcome.view, outcome.policy)
        assert outcome.answers > 0, outcome
        assert outcome.runs_differ == (label != "Async"), (label, outcome)
        assert outcome.replicas_differ == (label == "Diverge"), (label, outcome)


def _stored(replica: Replica, view: str) -> set[tuple[str, ...]]:
    """What the store that waits for seals has."""
    return {tuple(map(str, row)) for rows in replica.stores[view, SEALED].values() for row in rows}


def _counted(given: Input, keys: tuple[str, ...]) -> set[tuple[object, ...]]:
    """All rows by their keys, with their number."""
    files = (drop / f"{given.study.relation}.csv" for own in given.drops for drop in own)
    counts = Counter(tuple(row[k] for k in keys) for file in files for row in read_rows(file))
    return {(*key, n) for key, n in counts.items()}
