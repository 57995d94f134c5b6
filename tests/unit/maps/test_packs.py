"""Runs in files: what was written is read, whatever it is; what is not what was written is never taken for an answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulus_ops.catalog.records import NewRun
from cumulus_ops.maps.columns import WIDE
from cumulus_ops.maps.deltas import VERSION, value_column
from cumulus_ops.maps.encodings import BLOCK_BYTES, Blocks, Numbers, Packed, Plain, Texts, Wide
from cumulus_ops.maps.lookup import Probe, probe, read_slices, sum_points
from cumulus_ops.maps.packs import ALIGNMENT, Pack, open_run, verify_run, write_runs
from cumulus_ops.maps.runs import AccessPath, RunData, build_run
from cumulus_ops.project.errors import IntegrityProblem
from tests.support.runs import Case, built, cases, delta_of, names_of, small_blocks

NAMES = ["a", "b", "c", "d", "e", "f"]
PATH = AccessPath("m", (0, 1, 2))
#: Each flipped run is a file of its own: packs are mapped once, because they never change.
FRESH = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packs")


def sample(rows: int, *, wide: bool = False) -> RunData:
    """A run with columns of every encoding."""
    numbers = np.arange(rows)
    delta = {
        "a": pa.array(numbers * 7 % 50, mask=numbers % 11 == 3),
        "b": pa.array([f"text {i % 9}" for i in range(rows)], pa.string()),
        "c": pa.array(numbers % 5 / 3),
        "d": pa.array(
            [None if i % 17 == 4 else f"a comment that does not repeat {i}" for i in range(rows)], pa.string()
        ),
        "e": pa.array(numbers % 6 * 10**12),
        "f": pa.array(numbers * 10**10).cast(pa.timestamp("us")),
        VERSION: pa.array(numbers // 3),
        value_column("p"): pa.array(numbers - 20),
        value_column("q"): pa.array([Decimal(int(i)) ** 9 * 10**15 for i in numbers], WIDE) if wide else numbers**3,
    }
    return build_run(pa.table(delta), PATH)


def written(folder: Path, run: RunData) -> tuple[Path, NewRun, bytes]:
    """A pack with one run, and its bytes."""
    (place,) = write_runs(folder, [run])
    return folder / place.path, place, (folder / place.path).read_bytes()


def flipped(folder: Path, data: bytes, position: int, bit: int) -> Path:
    """A copy of a file in which one bit is another."""
    damaged = bytearray(data)
    damaged[position] ^= 1 << bit
    file = folder / f"{next(FRESH)}.damaged"
    file.write_bytes(damaged)
    return file


def answers(run: RunData, names: list[str], asked: list[int]) -> Iterator[object]:
    """What readers ask: every prefix of the path for some of the run's own keys, and all there is."""
    rows = np.array(asked, np.int64) % max(1, len(run))
    for width in range(len(run.path.bound) + 1 if len(run) else 0):
        bound = [run.keys[i].take(rows) for i in run.path.bound[:width]]
        request = probe(bound, np.full(len(rows), run.newest))
        plain = [name for name, column in run.values.items() if not isinstance(column, Wide)]
        yield [total.tolist() for total in sum_points([run], plain, request).values()]
        slices = read_slices([run], plain, [*run.keys], request)
        values = [units.tolist() for units in slices.values.values()]
        yield slices.request.tolist(), values
        yield [repr(column.to_pylist()) for column in slices.free]
    yield [repr(column.to_pylist()) for column in run.table(names).columns]


def is_damage(problem: IntegrityProblem, file: Path) -> None:
    """The problem is that this file, or this map, is damaged."""
    assert problem.kind == "damaged-run"
    assert str(file) in str(problem.place) or problem.place == "m"


def never_wrong(folder: Path, data: bytes, names: list[str], position: int, bit: int, asked: list[int]) -> None:
    """A flipped bit is found when all is verified; a reader finds it, or it is not in what the reader asks for."""
    with small_blocks():
        place = folder / f"{next(FRESH)}.pack"
        place.write_bytes(data)
        right = answers(open_run(place, 0, len(data)), names, asked)
        file = flipped(folder, data, position, bit)
        with pytest.raises(IntegrityProblem) as caught:
            verify_run(file, 0, len(data))
        assert caught.value.kind == "damaged-run"
        try:
            for got, expected in zip(answers(open_run(file, 0, len(data)), names, asked), right, strict=True):
                assert got == expected
        except IntegrityProblem as problem:
            is_damage(problem, file)


def test_the_sample_has_columns_of_every_encoding() -> None:
    run = sample(60)
    assert [type(run.keys[i]) for i in range(6)] == [Packed, Texts, Plain, Plain, Numbers, Numbers]
    assert isinstance(run.keys[4], Numbers)
    assert run.keys[4].listed is not None
    assert run.search.hash_bits > 0
    assert isinstance(sample(60, wide=True).values["q"], Wide)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases(pruned=True, max_rows=30))
def test_runs_read_back_whatever_their_keys_values_and_paths(folder: Path, case: Case) -> None:
    runs = built(case)
    names = names_of(case.kinds)
    with small_blocks():
        places = write_runs(folder, runs)
        for place, run in zip(places, runs, strict=True):
            verify_run(folder / place.path, place.offset, place.bytes)
            opened = open_run(folder / place.path, place.offset, place.bytes)
            assert opened.path == run.path == case.path
            own = (run.search, run.rows, run.oldest, run.newest, run.unique, run.collisions, run.magnitudes)
            read = opened.search, opened.rows, opened.oldest, opened.newest, opened.unique, opened.collisions
            assert (*read, opened.magnitudes) == own
            assert opened.fences.tolist() == run.fences.tolist()
            assert opened.codes is None or opened.fences.dtype == opened.codes.data.dtype
            assert opened.table(names).schema == run.table(names).schema
            assert repr(opened.table(names).to_pydict()) == repr(run.table(names).to_pydict())
            assert (place.rows, place.min_version, place.max_version) == (run.rows, run.oldest, run.newest)
    for (values, entries), run in zip(case.runs, runs, strict=True):
        kept = [n for n in values if case.path.values is None or n in case.path.values]
        delta = delta_of(case.kinds, entries, kept, case.path.keys)
        assert set(run.table(names).column_names) == set(delta.column_names)
        rows = [repr([row[name] for name in delta.column_names]) for row in run.table(names).to_pylist()]
        assert sorted(rows) == sorted(repr([*row.values()]) for row in delta.to_pylist())


@settings(deadline=None)
@given(
    place=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
    asked=st.lists(st.integers(0, 59), min_size=1, max_size=3),
    wide=st.booleans(),
)
def test_a_flipped_bit_is_found_or_does_not_matter(
    folder: Path, place: float, bit: int, asked: list[int], wide: bool
) -> None:
    with small_blocks():
        _, _, data = written(folder, sample(60, wide=wide))
    never_wrong(folder, data, NAMES, math.floor(place * len(data)), bit, asked)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases(max_rows=30).filter(lambda c: c.runs), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_of_any_run_is_found_or_does_not_matter(folder: Path, case: Case, place: float, bit: int) -> None:
    with small_blocks():
        _, _, data = written(folder, built(case)[0])
    never_wrong(folder, data, names_of(case.kinds), math.floor(place * len(data)), bit, [0, 3, 20])


def test_a_header_longer_than_a_block_is_verified_before_it_is_believed(folder: Path) -> None:
    """With blocks of the usual size: a long text that all rows have is in the header."""
    delta = pa.table({"a": [1, 2], "b": ["x" * (2 * BLOCK_BYTES)] * 2, VERSION: [0, 0], "+p": [5, 6]})
    _, place, data = written(folder, build_run(delta, AccessPath("m", (0,))))
    last = data.rindex(b"x" * BLOCK_BYTES)
    for position in (last + 5, last - BLOCK_BYTES // 2, data.index(b"x" * BLOCK_BYTES) + BLOCK_BYTES):
        file = flipped(folder, data, position, 0)
        try:
            texts = open_run(file, place.offset, place.bytes).keys[1].all().to_pylist()
        except IntegrityProblem as problem:
            is_damage(problem, file)
        else:
            assert texts == delta["b"].to_pylist()


def test_where_columns_begin_is_verified_before_it_is_believed(folder: Path) -> None:
    """A long list of texts stands before the description of the rows, which is neither at the begin nor at the end."""
    rows = 4000
    delta = {
        "a": np.arange(rows),
        "b": [f"{i // 4:030d}" for i in range(rows)],
        VERSION: np.zeros(rows, np.int64),
        "+p": np.arange(rows) ** 2,
    }
    with small_blocks(10):
        _, place, data = written(folder, build_run(pa.table(delta), AccessPath("m", (0,))))
        begin = data.index(f"{rows // 4 - 1:030d}".encode()) + 30
        for position in range(begin, begin + 600):
            file = flipped(folder, data, position, position % 5 + 3)
            try:
                opened = open_run(file, place.offset, place.bytes)
                got = sum_points([opened], ["p"], probe([pa.array([3900])], np.array([1])))["p"].tolist()
            except IntegrityProblem as problem:
                is_damage(problem, file)
            else:
                assert got == [3900**2]


@pytest.mark.parametrize("damaged", [2000, 1000, 3000, 500, 2500, 3500])
def test_a_damaged_code_leads_no_search_astray(folder: Path, damaged: int) -> None:
    """The search looks at codes of blocks that nobody verified: what they say is not believed."""
    rows = 4000
    delta = pa.table({"a": np.arange(rows), VERSION: np.zeros(rows, np.int64), "+p": np.arange(rows) + 1})
    with small_blocks():
        _, place, data = written(folder, build_run(delta, AccessPath("m", (0,))))
        codes = data.index(np.arange(rows, dtype=np.uint16).tobytes())
        found = 0
        block = (codes + 2 * damaged) // 64 * 64
        for fill in (0, 255, None):
            file = flipped(folder, data, codes + 2 * damaged + 1, 3)
            if fill is not None:
                file.write_bytes(data[:block] + bytes([fill]) * 64 + data[block + 64 :])
            for asked in (0, 700, damaged - 300, damaged - 40, damaged + 40, damaged + 300, 3999):
                opened = open_run(file, place.offset, place.bytes)
                try:
                    got = sum_points([opened], ["p"], probe([pa.array([asked])], np.array([1])))["p"].tolist()
                except IntegrityProblem as problem:
                    is_damage(problem, file)
                    found += 1
                else:
                    assert got == [asked + 1]
        assert found > 0


def test_a_damaged_code_hides_no_rows_of_those_that_are_asked_for_by_a_part_of_the_key(folder: Path) -> None:
    """They are a range of rows, in which no code is looked at again."""
    rows, found = 4000, 0
    columns = {"a": np.arange(rows) // 2, "b": np.arange(rows) % 2, VERSION: np.zeros(rows, np.int64)}
    with small_blocks():
        run = build_run(pa.table(columns | {"+p": np.arange(rows) + 1}), AccessPath("m", (0, 1)))
        _, place, data = written(folder, run)
        block = (data.index(np.arange(rows, dtype=np.uint16).tobytes()) + rows) // 64 * 64
        for fill, asked in itertools.product((0, 255), range(0, rows // 2, 7)):
            file = flipped(folder, data, block, 3)
            file.write_bytes(data[:block] + bytes([fill]) * 64 + data[block + 64 :])
            try:
                got = read_slices([open_run(file, place.offset, place.bytes)], ["p"], [1], asking(asked))
            except IntegrityProblem as problem:
                is_damage(problem, file)
                found += 1
            else:
                assert len(got.request) == 2
    assert found > 0


def asking(*keys: int) -> Probe:
    return probe([pa.array(keys)], np.full(len(keys), 1))


def test_many_requests_for_neighbouring_keys_verify_what_is_around_them(folder: Path, verified: list[int]) -> None:
    rows = 40_000
    delta = pa.table({"a": np.arange(rows) * 7, VERSION: np.zeros(rows, np.int64), "+p": np.arange(rows) + 1})
    file, place, _ = written(folder, build_run(delta, AccessPath("m", (0,))))
    run = open_run(file, place.offset, place.bytes)
    verified.clear()
    assert sum_points([run], ["p"], asking(*range(140_000, 144_200, 7)))["p"].tolist() == [*range(20_001, 20_601)]
    assert run.codes is not None
    blocks = len(run.codes.data) * run.codes.data.itemsize // 64
    assert 0 < len(verified) < blocks / 10
    sum_points([run], ["p"], asking(*range(0, rows * 7, 7)))
    assert len(verified) >= blocks


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The blocks that were verified."""
    seen: list[int] = []
    verify = Blocks._verify

    def watched(self: Blocks, block: int) -> None:
        seen.append(block)
        verify(self, block)

    monkeypatch.setattr(Blocks, "_verify", watched)
    with small_blocks():
        yield seen


def test_only_blocks_that_are_touched_are_verified_and_only_once(folder: Path, verified: list[int]) -> None:
    rows = 4000
    columns = {
        "a": np.arange(rows) * 3,
        "b": np.arange(rows) % 1000,
        VERSION: np.arange(rows),
        "+p": np.arange(rows) ** 2,
    }
    file, place, _ = written(folder, build_run(pa.table(columns), AccessPath("m", (0,))))
    run = open_run(file, place.offset, place.bytes)
    request = probe([pa.array([3000])], np.array([2000]))
    seen = [len(verified)]
    for _ in range(2):
        assert sum_points([run], ["p"], request)["p"].tolist() == [1000**2]
        seen.append(len(verified))
    assert read_slices([run], ["p"], [1], request).free[0].to_pylist() == [0]
    seen.append(len(verified))
    assert len(run.table(["a", "b"])) == rows
    opened, first, again, slice_, everything = np.diff([0, *seen, len(verified)]).tolist()
    total = -(-place.bytes // 64)
    assert 0 < opened < total // 3
    assert 0 < first <= 5  # the two ends of its part of the codes, its code, its version, its value
    assert again == 0
    assert slice_ == 1  # the key that is not in the code
    assert 0.5 * total < opened + first + slice_ + everything <= total
    assert len(set(verified)) == len(verified)
    verified.clear()
    assert len(run.table(["a", "b"])) == rows
    assert verified == []


def test_a_whole_run_is_verified_block_by_block(folder: Path, verified: list[int]) -> None:
    file, place, _ = written(folder, sample(60))
    verify_run(file, place.offset, place.bytes)
    assert verified == list(range(len(verified)))
    assert len(verified) * 64 > 0.85 * place.bytes


@pytest.mark.parametrize("left", [0, 1, 19, 20, 100, 0.5, 0.99, -1])
def test_a_file_that_was_cut_is_damaged(folder: Path, left: float) -> None:
    file, place, data = written(folder, sample(60))
    size = int(left * len(data)) if isinstance(left, float) else left
    cut = folder / f"{next(FRESH)}.cut"
    cut.write_bytes(data[:size])
    for read in (open_run, verify_run):
        with pytest.raises(IntegrityProblem) as caught:
            read(cut, place.offset, place.bytes)
        assert caught.value.kind == "damaged-run"
        assert str(cut) in str(caught.value.place)
        read(file, place.offset, place.bytes)


@pytest.mark.parametrize("offset", [-1, 1, 64])
def test_a_run_read_from_where_none_begins_is_damaged(folder: Path, offset: int) -> None:
    places = write_runs(folder, [sample(40), sample(60), sample(50)])
    for read in (open_run, verify_run):
        with pytest.raises(IntegrityProblem):
            read(folder / places[1].path, places[1].offset + offset, places[1].bytes)


def test_a_group_without_keys_has_runs_too(folder: Path) -> None:
    path = AccessPath("total", ())
    delta = pa.table({VERSION: [3, 1, 2], "+p": [1, 2, 4], "+q": [0, -1, 0]})
    empty = delta.slice(0, 0)
    places = write_runs(folder, [build_run(delta, path), build_run(empty, path)])
    full, none = (open_run(folder / p.path, p.offset, p.bytes) for p in places)
    assert [place.access_path for place in places] == ["all", "all"]
    assert full.table([]).to_pydict() == {VERSION: [1, 2, 3], "+p": [2, 4, 1], "+q": [-1, 0, 0]}
    assert none.table([]).to_pydict() == {VERSION: [], "+p": [], "+q": []}
    request = probe([], np.array([3, 0, 9, 2]))
    sums = sum_points([full, none], ["p", "q"], request)
    assert {name: total.tolist() for name, total in sums.items()} == {"p": [6, 0, 7, 2], "q": [-1, 0, -1, -1]}
    slices = read_slices([none, full], ["p"], [], request)
    assert (slices.free, sorted(slices.request.tolist())) == ((), [0, 0, 2, 2, 2, 3])
    for place in places:
        verify_run(folder / place.path, place.offset, place.bytes)


def test_a_copy_without_values_or_keys_keeps_its_versions(folder: Path) -> None:
    path = AccessPath("m", (), -1, (), ())
    (place,) = write_runs(folder, [build_run(pa.table({VERSION: [3, 1]}), path)])
    opened = open_run(folder / place.path, place.offset, place.bytes)
    assert opened.path == path
    assert opened.table(["a"]).to_pydict() == {VERSION: [1, 3]}
    assert sum_points([opened], ["p"], probe([], np.array([9])))["p"].tolist() == [0]


def test_runs_of_a_pack_lie_aligned_one_after_the_other_and_are_read_before_it_is_closed(folder: Path) -> None:
    pack = Pack(folder)
    runs = [sample(rows) for rows in (5, 0, 60)]
    places = []
    for run in runs:
        places.append(pack.append(run))
        read = pack.read(places[-1])
        assert repr(read.table(NAMES).to_pydict()) == repr(run.table(NAMES).to_pydict())
    assert pack.close() == tuple(places)
    ends = [place.offset + place.bytes for place in places]
    for place, end in zip(places[1:], ends, strict=False):
        assert place.offset == -(-end // ALIGNMENT) * ALIGNMENT
    assert (folder / places[0].path).stat().st_size == ends[-1]
