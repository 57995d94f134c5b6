"""Each line of the tables in ``docs/files.md`` is run: what a file may look like, and what becomes of one that is different."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cumulus_ops.append.checks import RelationEvents, check, read_relation, read_rows, relation_of
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.relation_settings import FILE_KEYS
from cumulus_ops.project.settings import LandingSettings
from tests.support.bad_inputs import ITEMS

PAGE = Path(__file__).parents[3] / "docs" / "files.md"
TYPES = {"bigint": "id", "decimal(12,2)": "price", "double": "rate", "date": "day", "timestamp": "at", "boolean": "ok"}
ROW = {"id": 1, "price": "1.50", "op": "I", "event": 1}
CSV = "id,price,op,event\n1,1.50,I,1\n2,2.50,I,2\n3,3.50,I,3\n"
NDJSON = "".join(json.dumps({**ROW, "event": e}) + "\n" for e in (1, 2, 3))


def tables() -> list[list[list[str]]]:
    """The tables of the page: of each its lines, of each its cells, without the heads."""
    text = PAGE.read_text().replace(r"\|", "PIPE")
    found = re.findall(r"^\|.*(?:\n\|.*)+", text, flags=re.MULTILINE)
    cells = [
        [[c.strip().replace("PIPE", "|") for c in line.strip("|").split("|")] for line in t.split("\n")] for t in found
    ]
    return [table[2:] for table in cells]


NAMES, COLUMNS, OPS, VALUES, NULLS, PARQUET, BROKEN, SETTINGS = tables()


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]*)`", cell)


def read(path: Path, data: str | bytes, settings: LandingSettings | None = None, **options: bool) -> RelationEvents:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    pieces = check(ITEMS, read_rows(ITEMS, path, 1000, settings or LandingSettings()), "0/items", str(path), **options)
    (events,) = pieces
    return events


def kind_of(path: Path, data: str | bytes, settings: LandingSettings | None = None) -> str:
    """For what the file is set aside."""
    with pytest.raises(InputProblem) as problem:
        read(path, data, settings)
    assert problem.value.hint
    return problem.value.kind


@pytest.mark.parametrize("line", NAMES, ids=lambda line: line[0])
def test_names(tmp_path: Path, line: list[str]) -> None:
    for name in quoted(line[0]):
        if "belongs to no relation" in line[1]:
            assert relation_of(name, ["items"]) == ""
            continue
        assert relation_of(name, ["items", "other"]) == "items"
        if "parquet" in name:
            pq.write_table(pa.table({k: [v] * 3 for k, v in ROW.items()}), tmp_path / name)
            data = (tmp_path / name).read_bytes()
        else:
            plain = (CSV if "csv" in name.lower() else NDJSON).encode()
            data = gzip.compress(plain) if name.endswith(".gz") else plain
        assert len(read(tmp_path / name, data).rows) == 3
    if "items.json" in quoted(line[0]):
        assert len(read(tmp_path / "items.json", "[" + NDJSON.strip().replace("\n", ",") + "]").rows) == 3
    if "byte order mark" in line[1]:
        assert len(read(tmp_path / "items.csv", CSV.encode("utf-8-sig")).rows) == 3
    if "symbolic" in line[0]:
        (tmp_path / "a.csv").symlink_to("/dev/zero")
        os.mkfifo(tmp_path / "b.csv")
        for path in (tmp_path / "a.csv", tmp_path / "b.csv", Path("/dev/null")):
            with pytest.raises(InputProblem) as problem:
                list(read_relation(ITEMS, path, "0/items", 1))
            assert f"set aside: `{problem.value.kind}`" == line[1]


@pytest.mark.parametrize("line", COLUMNS, ids=lambda line: line[0])
def test_columns(tmp_path: Path, line: list[str]) -> None:
    (header,) = quoted(line[0])
    fields = re.split("([,;])", header)
    known = {"id": "1", "price": "1.50", "op": "I", "event": "7", "other": "x"}
    row = "".join(known.get(field.strip().lower(), field) for field in fields)
    path = tmp_path / "items.csv"
    if line[1].startswith("set aside"):
        assert kind_of(path, f"{header}\n{row}\n") == quoted(line[1])[0]
        if "ops: insert" in line[1]:
            assert len(read(path, f"{header}\n{row}\n", LandingSettings(ops="insert")).rows) == 1
        return
    events = read(path, f"{header}\n{row}\n")
    assert events.rows.select(["id", "price", "name"]).to_pylist() == [
        {"id": 1, "price": Decimal("1.50"), "name": None}
    ]
    assert (events.numbered, events.rows["_offset"].to_pylist()) == (
        (True, [7]) if "vent" in header.lower() else (False, [0])
    )
    for delimiter in [d for d in quoted(line[1]) if len(d) == 1] + ["\t"]:
        text = f"{header}\n{row}\n".replace(";", delimiter) if ";" in header else CSV
        assert len(read(path, text).rejected) == 0


@pytest.mark.parametrize("line", OPS, ids=lambda line: line[0])
def test_operations(tmp_path: Path, line: list[str]) -> None:
    for word in [case for w in quoted(line[0]) for case in (w, w.lower(), w.title())]:
        text = f"id,price,op,event\n1,1.50,{word},1\n"
        events = read(tmp_path / "items.csv", text)
        if "rejected" in line[1]:
            assert events.rejected["kind"].to_pylist() == quoted(line[1])[-1:]
        else:
            assert events.rows["_sign"].to_pylist() == [1 if "inserted" in line[1] else -1]
        if "replaces" in line[1]:
            assert read(tmp_path / "items.csv", text, upsert=True).rows["_sign"].to_pylist() == [2]


MEANT = {
    "7": 7, "1.50": Decimal("1.50"), "0.5": 0.5, "infinity": float("inf"), "2024-02-29": date(2024, 2, 29),
    "2024-02-29 10:00:00": datetime(2024, 2, 29, 10), "true": True,
}  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".ndjson"])
@pytest.mark.parametrize("line", VALUES, ids=lambda line: f"{line[0]} {line[2]}")
def test_values(tmp_path: Path, line: list[str], suffix: str) -> None:
    column = TYPES[line[0]]
    for event, text in enumerate(quoted(line[1])):
        row = {**ROW, "event": event, column: text}
        quoted_row = ",".join(f'"{value}"' for value in row.values())
        data = f"{','.join(row)}\n{quoted_row}\n" if suffix == ".csv" else json.dumps(row) + "\n"
        events = read(tmp_path / f"items{suffix}", data)
        if line[2].startswith("rejected"):
            assert events.rejected["kind"].to_pylist() == quoted(line[2]), text
        else:
            assert events.rows[column].to_pylist() == [MEANT[line[2]]], text


def _null_cases(path: Path) -> Mapping[str, Callable[[], object]]:
    def name_of(field: str, settings: LandingSettings | None = None) -> object:
        return read(path, f"id,price,name,op,event\n1,1,{field},I,1\n", settings).rows["name"].to_pylist()[0]

    def of_json(text: str) -> object:
        return read(path.with_suffix(".ndjson"), json.dumps(ROW)[:-1] + text + "}\n").rows["name"].to_pylist()

    nulls = LandingSettings(null_values=("NULL", "\\N"))
    return {
        "an empty CSV field": lambda: name_of("") is None,
        '`""` in CSV': lambda: name_of('""') == "",
        "`NULL` or `\\N` in CSV": lambda: (
            [name_of(w, s) for s in (None, nulls) for w in ("NULL", "\\N", '"NULL"')]
            == ["NULL", "\\N", "NULL", None, None, "NULL"]
        ),
        "`null`, or a name that is missing, in JSON": lambda: of_json(', "name": null') == of_json("") == [None],
        "NULL in a column that is not `null`": lambda: (
            read(path, "id,price,op,event\n1,,I,1\n2,1,I,2\n").rejected["kind"].to_pylist() == ["null"]
        ),
    }


@pytest.mark.parametrize("line", NULLS, ids=lambda line: line[0])
def test_nulls(tmp_path: Path, line: list[str]) -> None:
    assert _null_cases(tmp_path / "items.csv")[line[0]]()


def _of_parquet(path: Path, column: str, values: pa.Array) -> tuple[list[object], int] | str:
    columns: dict[str, object] = {k: [v] * len(values) for k, v in ROW.items()}
    pq.write_table(pa.table({**columns, "event": range(len(values)), column: values}), path)
    try:
        (events,) = read_relation(ITEMS, path, "0/items", 1000)
    except InputProblem as problem:
        return problem.kind
    return events.rows[column].to_pylist(), len(events.rejected)


def _dec(*texts: str) -> list[Decimal]:
    return [Decimal(t) for t in texts]


PARQUET_CASES: Mapping[tuple[str, str], list[tuple[pa.Array, object]]] = {
    ("integer, decimal, float", "bigint"): [
        (pa.array([7, 2**63], pa.uint64()), ([7], 1)),
        (pa.array(["7.0", "7.5"]).cast(pa.decimal128(5, 1)), ([7], 1)),
        (pa.array([7.0, 7.5]), ([7], 1)),
    ],
    ("integer, decimal of any size", "decimal(12,2)"): [
        (pa.array([7, 10**11]), (_dec("7"), 1)),
        (pa.array(["1.500", "1.505"]).cast(pa.decimal256(60, 3)), (_dec("1.50"), 1)),
    ],
    ("float", "decimal(12,2)"): [
        (pa.array([19.99, 0.125]), (_dec("19.99"), 1)),
        (pa.array([19.99, 12345.67], pa.float32()), (_dec("19.99"), 1)),
    ],
    ("date, timestamp", "date"): [
        (pa.array([0], pa.date32()), ([date(1970, 1, 1)], 0)),
        (pa.array([0, 1], pa.timestamp("us")), ([date(1970, 1, 1)], 1)),
    ],
    ("timestamp of any unit, with a zone or without", "timestamp"): [
        (pa.array([1000], pa.timestamp("ms", "Europe/Berlin")), ([datetime(1970, 1, 1, 0, 0, 1)], 0)),
        (pa.array([1000, 1001], pa.timestamp("ns")), ([datetime(1970, 1, 1, 0, 0, 0, 1)], 1)),
    ],
    ("text, a dictionary of texts", "any type"): [
        (pa.array([" 2024-02-29 "]).dictionary_encode(), ([date(2024, 2, 29)], 0))
    ],
    ("boolean", "bigint"): [(pa.array([True]), "wrong-type")],
    ("bigint", "string"): [(pa.array([7]), "wrong-type")],
    ("list, structure", "any type"): [(pa.array([[1]]), "wrong-type"), (pa.array([{"a": 1}]), "wrong-type")],
}


@pytest.mark.parametrize("line", PARQUET, ids=lambda line: f"{line[0]} for {line[1]}")
def test_types_in_parquet(tmp_path: Path, line: list[str]) -> None:
    column = {**TYPES, "string": "name", "any type": "day"}[line[1]]
    for values, expected in PARQUET_CASES[line[0], line[1]]:
        assert _of_parquet(tmp_path / "items.parquet", column, values) == expected
        if isinstance(expected, str):
            assert line[2] == f"set aside: `{expected}`"


def _line(text: str) -> str:
    """CSV with a line in place of the second row."""
    return CSV.replace("2,2.50,I,2\n", text)


def _json_line(text: str) -> str:
    first, _, third = NDJSON.splitlines(keepends=True)
    return first + text + "\n" + third


BROKEN_CASES: Mapping[str, list[tuple[str, str | bytes]]] = {
    "a CSV line with another number of fields": [(".csv", _line("2,2.50,I\n")), (".csv", _line("2,2,50,I,2\n"))],
    "a quote that is not closed": [(".csv", _line('"2,2.50,I,2\n'))],
    "a quoted field with line ends whose lines could be rows by themselves": [
        (".csv", 'id,price,op,event,name\n1,1,I,1,a\n2,2,I,2,"a\n3,2,I,3,a"\n4,1,I,4,a\n')
    ],
    "a line that is not UTF-8": [(".csv", _line("2,ö,I,2\n").encode("latin-1")), (".ndjson", _json_line("ö").encode("latin-1"))],
    "a line of more than 8 MiB": [(".csv", _line(f"2,{'x' * (8 << 20)},I,2\n")), (".ndjson", _json_line("x" * (9 << 20)))],
    "a JSON line that is no object, has a name twice, or a list for a value": [
        (".ndjson", _json_line("null")),
        (".ndjson", _json_line('{"id": 1, "id": 1, "price": 1, "op": "I", "event": 2}')),
        (".ndjson", _json_line(json.dumps({**ROW, "price": [1]}))),
    ],
    "a JSON array that ends early, or has anything else than objects": [(".json", "[{}, {}"), (".json", "[{}, 1]")],
    "a CSV header with a quote that is not closed in its line": [
        (".csv", CSV.replace("event", '"event')), (".csv", CSV.replace("event", 'event,"comment')),
        (".csv", CSV.replace("event\n", 'event,"a\nb"\n')), (".csv", CSV.replace("price", '"pri"ce')),
        (".csv", CSV.replace("event", 'event,"comment').replace("I,2", 'I,2,"b"')),
        (".csv", 'id,price,op,event,"note\n1,1,I,1,x"\n2,1,I,2,x\n'),
    ],
    "CSV whose lines end in CR alone, VT, NEL or U+2028; CSV without rows whose header has numbers, or twice a name that is no column": [
        (".csv", CSV.replace("\n", end)) for end in ("\r", "\v", "\x85", "\u2028", "\x1e", ";", "^", "|", " ", ",", "\\n", "")
    ],
    "HTML, a Git LFS pointer, an Excel workbook; gzip without `.gz`, or twice": [
        (suffix, data)
        for suffix in (".csv", ".ndjson", ".json", ".parquet")
        for data in (b"\n<!DOCTYPE html>", b"version https://git-lfs.github.com/spec/v1\n", b"PK\x03\x04", gzip.compress(b"a"))
    ] + [(".csv.gz", gzip.compress(gzip.compress(CSV.encode()))), (".ndjson.gz", NDJSON), (".csv", b"PAR1")],
    "UTF-16": [(".csv", CSV.encode("utf-16")), (".ndjson", NDJSON.encode("utf-16"))],
    "a `.gz` or Parquet file that is cut or damaged": [(".csv.gz", gzip.compress(CSV.encode())[:-4]), (".parquet", b"PAR1")],
    "a packed file that unpacks to more than the memory and 200 times its size": [
        (".ndjson.gz", gzip.compress(b" " * (257 << 20), 1)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("line", BROKEN, ids=lambda line: line[0])
def test_broken_files(tmp_path: Path, line: list[str]) -> None:
    kinds = quoted(line[1].rpartition(": ")[2])
    for suffix, data in BROKEN_CASES[line[0]]:
        path = tmp_path / f"items{suffix}"
        if line[1].startswith("set aside"):
            assert kind_of(path, data) == kinds[0]
            continue
        events = read(path, data)
        assert set(events.rejected["kind"].to_pylist()) <= set(kinds)
        assert len(events.rejected) >= 1
        assert len(events.rows) == 2  # the neighbours


def test_a_row_without_a_number_takes_its_neighbours_with_it_unless_the_numbers_tell(tmp_path: Path) -> None:
    text = CSV.replace("2,2.50,I,2", "2,2.50,I")
    assert len(read(tmp_path / "items.csv", text).rows) == 2
    uncertain = read(tmp_path / "items.csv", text.replace("I,3", "I,4"))
    assert uncertain.rejected["kind"].to_pylist() == ["beside-unknown", "malformed-line", "beside-unknown"]
    unnumbered = "id,price,op\n1,1,I\n2,1\n3,1,I\n"
    assert read(tmp_path / "items.csv", unnumbered).rows["_offset"].to_pylist() == [0, 2]


def test_the_first_line_may_name_the_delimiter(tmp_path: Path) -> None:
    for first in ("sep=;\n", "\ufeffSEP=;\r\n", '"sep=;"\n'):
        assert (
            len(read(tmp_path / "items.csv", first + CSV.replace(",", ";"), LandingSettings(delimiter=",")).rows) == 3
        )


def test_a_file_without_a_header_is_told_which_columns_are_missing(tmp_path: Path) -> None:
    with pytest.raises(InputProblem, match="names none of the columns id, price, name"):
        read(tmp_path / "items.csv", "1,1.50,I,1\n")


def test_columns_without_a_name_make_no_empty_file_suspicious(tmp_path: Path) -> None:
    assert len(read(tmp_path / "items.csv", "id,price,op,event,comment,,\n").rows) == 0


def test_settings_are_those_of_the_page() -> None:
    assert {quoted(line[0])[0] for line in SETTINGS} == set(FILE_KEYS)
