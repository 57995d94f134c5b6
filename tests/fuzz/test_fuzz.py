"""Random queries against DuckDB, a third of them with every join looked up table by table. ``FUZZ_COUNT`` and
``FUZZ_SEED`` change how many, and from which seed on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.fuzz import replay
from tests.fuzz.checker import INVALID, OK, UNSUPPORTED, Verdict, check
from tests.fuzz.database import Database
from tests.fuzz.draw import FEATURES
from tests.fuzz.lookups import is_turn, looked_up
from tests.fuzz.queries import Made, make_query
from tests.fuzz.report import failure_text
from tests.fuzz.schema import RELATIONS, make_batches
from tests.fuzz.timed import timed

COUNT = int(os.environ.get("FUZZ_COUNT", "50"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
#: Of fifty queries or more, so that shares of them can be judged.
CHUNKS = min(10, max(1, COUNT // 50))
#: One in so many queries is asked of tables that are filtered by time, too.
TIMED = 8
#: Feature, or kind of a CompileError -> why queries with it may be refused. All others must compile.
REFUSABLE: dict[str, str] = {
    "too-precise": "the squares of a wide sum, as VARIANCE of a SUM needs them, have more than 38 digits",
}


@pytest.fixture(scope="module")
def database() -> Database:
    return Database(RELATIONS)


def seeds(chunk: int) -> range:
    """The seeds of a chunk; each seed is in exactly one."""
    return range(SEED + chunk * COUNT // CHUNKS, SEED + (chunk + 1) * COUNT // CHUNKS)


def checked(chunk: int, database: Database) -> Iterator[tuple[Made, Verdict]]:
    for seed in seeds(chunk):
        made = make_query(seed)
        batches = make_batches(seed, made.tables)
        with looked_up(is_turn(seed)):
            verdict = check(made, batches, database)
            assert not verdict.failed, failure_text(made, batches, verdict, database)
        yield made, verdict


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_queries_agree_with_duckdb_after_every_batch(chunk: int, database: Database) -> None:
    refused: dict[str, str] = {}
    outcomes: Counter[str] = Counter()
    in_error = 0
    for made, verdict in checked(chunk, database):
        outcomes[verdict.outcome] += 1
        in_error += verdict.in_error > 0
        if verdict.outcome == UNSUPPORTED and not {*made.features, verdict.kind} & set(REFUSABLE):
            refused[f"seed {made.seed} ({' '.join(sorted(made.features))})"] = f"{verdict.detail}\n{made.sql}"
    assert not refused, f"{len(refused)} refused, e.g. " + "\n".join(next(iter(refused.items())))
    assert outcomes[INVALID] <= 0.05 * len(seeds(chunk)), "DuckDB cannot answer too many of the queries"
    assert in_error <= 0.25 * len(seeds(chunk)), "nothing is compared of the views that are in error"
    assert outcomes[OK] >= 0.8 * len(seeds(chunk)), outcomes


def test_random_queries_agree_with_duckdb_as_time_goes_on(database: Database) -> None:
    passed, asked = 0, range(SEED, SEED + COUNT, TIMED)
    for seed in asked:
        made = timed(make_query(seed))
        batches = make_batches(seed, made.tables)
        verdict = check(made, batches, database)
        assert not verdict.failed, failure_text(made, batches, verdict, database)
        passed += verdict.outcome == OK and "current_date" in made.sql
    assert passed >= 0.4 * len(asked), "few of the queries have a table that is filtered"


def test_every_feature_is_used() -> None:
    used = Counter(feature for seed in range(2000) for feature in make_query(seed).features)
    assert not [feature for feature in FEATURES if used[feature] < 5]


def test_a_seed_makes_the_same_query_and_stream_again() -> None:
    assert make_query(7) == make_query(7)
    assert make_batches(7, ("t", "v")) == make_batches(7, ("t", "v"))


@pytest.mark.parametrize("all_looked_up", [False, True], ids=["", "looked-up"])
@pytest.mark.parametrize("name", replay.names())
def test_what_failed_once_does_not_fail_again(name: str, all_looked_up: bool, database: Database) -> None:
    made, batches = replay.load(name)
    with looked_up(all_looked_up):
        verdict = check(made, batches, database)
    assert verdict.outcome == OK, verdict.detail
