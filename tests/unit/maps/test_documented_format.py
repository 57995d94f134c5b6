"""What docs/formats.md says of a pack is true: a reader written from it alone finds every row."""

from __future__ import annotations

import datetime
import json
import zlib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cumulus_ops.maps.columns import WIDE
from cumulus_ops.maps.deltas import VERSION, value_column
from cumulus_ops.maps.packs import write_runs
from cumulus_ops.maps.runs import AccessPath, build_run

ROWS = 1000
EPOCH = datetime.datetime(1970, 1, 1)


def documented(data: bytes) -> dict[str, list[Any]]:
    """The columns of a run: keys by position, values by name, the version."""
    tail = data[-20:]
    length, total = int.from_bytes(tail[:8], "little"), int.from_bytes(tail[8:12], "little")
    assert tail[12:] == b"CUMRUN04"
    body, sums = data[:length], data[length:-20]
    blocks = [body[at : at + 65_536] for at in range(0, length, 65_536)]
    assert zlib.crc32(sums) == total
    assert len(sums) == 5 * len(blocks)
    assert [zlib.crc32(block) for block in blocks] == np.frombuffer(sums, "<u4", len(blocks)).tolist()
    file = pa.ipc.open_file(pa.BufferReader(body))
    header = json.loads(file.schema.metadata[b"cumulus"])
    assert header["format"] == 4
    batch = file.get_batch(0) if file.num_record_batches else None
    codes = [0] * header["rows"] if header["code"] is None else _stored(batch, header["code"])
    assert codes == sorted(codes)
    assert header["fences"] == (codes[::8_192] if header["code"] is not None else [])
    keys = {position: _column(about, header["rows"], batch, codes) for position, about in header["keys"].items()}
    values = {name: _column(about, header["rows"], batch, codes) for name, about in header["values"].items()}
    return {**keys, **values, "version": _column(header["versions"], header["rows"], batch, codes)}


def _stored(batch: pa.RecordBatch | None, number: int) -> list[Any]:
    assert batch is not None
    found: list[Any] = batch.column(number).to_pylist()
    return found


def _column(about: Mapping[str, Any], rows: int, batch: pa.RecordBatch | None, codes: list[int]) -> list[Any]:
    if about["form"] == "wide":
        high, low = (_column(about[half], rows, batch, codes) for half in ("high", "low"))
        return [h * 2**64 + low_ % 2**64 for h, low_ in zip(high, low, strict=True)]
    if about["form"] == "plain":
        return _stored(batch, about["column"])
    if about["form"] == "texts":
        return _stored(batch, about["column"]) if about["column"] is not None else about["constant"] * rows
    if about["form"] == "packed":
        offsets = [code >> about["shift"] & ((1 << about["bits"]) - 1) for code in codes]
    elif about["column"] is None:
        offsets = [0] * rows
    else:
        offsets = _stored(batch, about["column"])
        offsets = offsets if about["listed"] is None else [about["listed"][place] for place in offsets]
    base, largest, null = about["frame"]
    assert max(offsets, default=0) <= largest
    assert null in (None, largest)
    return [None if offset == null else _value(about["kind"], base + offset) for offset in offsets]


def _value(kind: str, number: int) -> object:
    match kind:
        case "int":
            return number
        case "bool":
            return bool(number)
        case "date":
            return (EPOCH + datetime.timedelta(days=number)).date()
        case "timestamp":
            return EPOCH + datetime.timedelta(microseconds=number)
    raise AssertionError(kind)


def columns(rows: int) -> dict[str, pa.Array]:
    """A column for each encoding, most of them with NULL."""
    rng = np.random.default_rng(0)
    some = pa.array(rng.integers(0, 5, rows) == 0)
    number = rng.integers(-50, 5000, rows)
    texts = [f"text {i}" for i in range(rows)]
    found = {
        "number": pa.array(number),
        "date": pa.array(number.astype(np.int32)).view(pa.date32()),
        "flag": pa.array(number % 2 == 0),
        "moment": pa.array(number * 1_000_003).view(pa.timestamp("us")),
        "far": pa.array((number % 3) * 2**60 - 2**61),
        "all": pa.array(np.where(number % 2, -(2**63), 2**63 - 1)),
        "name": pa.array([texts[i % 7] for i in number.tolist()]),
        "text": pa.array(texts),
        "double": pa.array(number / 7),
        "wide": pa.array([Decimal(i * 10**30) for i in number.tolist()], WIDE),
    }
    with_null = {
        f"{name}?": pa.array(column.to_pylist(), column.type, mask=some.to_numpy(False))
        for name, column in found.items()
    }
    constant = {"one": pa.array([7] * rows), "none": pa.nulls(rows, pa.int64()), "same": pa.array(["x"] * rows)}
    return found | with_null | constant | {"nothing": pa.nulls(rows, pa.string())}


@pytest.mark.parametrize("bound", [(0,), (0, 1), (0, 11, 10), (6,), (2, 22, 7), (), (5, 15, 0), (3, 9, 1)])
def test_every_column_is_found_as_documented(tmp_path: Path, bound: tuple[int, ...]) -> None:
    keys = columns(ROWS)
    units = np.arange(ROWS)
    values = {
        "sum": pa.array(units - 400),
        "count": pa.array([1] * ROWS),
        "wide": pa.array([10**25 * (i - 9) for i in range(ROWS)], WIDE),
    }
    versions = pa.array(np.array([4103, 2**43 + 4103, 2**50])[units % 3])
    table = pa.table({**keys, VERSION: versions, **{value_column(name): column for name, column in values.items()}})
    paths = [AccessPath("g", bound), AccessPath("g", ())]
    places = write_runs(tmp_path, [build_run(table, path) for path in paths])
    data = (tmp_path / places[0].path).read_bytes()
    for place in places:
        assert place.offset % 64 == 0
        found = documented(data[place.offset : place.offset + place.bytes])
        expected = [*keys.values(), values["sum"], values["count"], values["wide"], versions]
        names = [*map(str, range(len(keys))), "sum", "count", "wide", "version"]
        rows = zip(*(column.to_pylist() for column in expected), strict=True)
        got = zip(
            *([Decimal(x) for x in found[name]] if name == "wide" else found[name] for name in names), strict=True
        )
        assert sorted(map(repr, got)) == sorted(map(repr, rows))
    gap = data[places[0].offset + places[0].bytes : places[1].offset]
    assert gap == bytes(len(gap))


def test_rows_are_in_the_documented_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "a": pa.array(rng.integers(0, 9, ROWS)),
            "t": pa.array([f"t{i}" if i else None for i in rng.integers(0, 5, ROWS).tolist()]),
            VERSION: pa.array(rng.integers(0, 40, ROWS)),
            value_column("m"): pa.array([1] * ROWS),
        }
    )
    (place,) = write_runs(tmp_path, [build_run(table, AccessPath("g", (0,), 1))])
    found = documented((tmp_path / place.path).read_bytes())
    order = list(zip(found["0"], [(t is None, t or "") for t in found["1"]], found["version"], strict=True))
    assert order == sorted(order)


def test_a_run_without_key_columns(tmp_path: Path) -> None:
    table = pa.table({VERSION: pa.array([5]), value_column("m"): pa.array([3]), value_column("n"): pa.array([-1])})
    (place,) = write_runs(tmp_path, [build_run(table, AccessPath("g", ()))])
    assert documented((tmp_path / place.path).read_bytes()) == {"m": [3], "n": [-1], "version": [5]}
