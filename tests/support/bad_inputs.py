"""Files that a stranger might land: generated, each with what is to become of it."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal
from m3.program import Column, Relation

__all__ = ["ITEMS", "BadInput", "bad_inputs"]

ITEMS = Relation(
    "items",
    (
        Column("id", INT),
        Column("price", decimal(12, 2)),
        Column("name", STRING.with_null()),
        Column("day", DATE.with_null()),
        Column("at", TIMESTAMP.with_null()),
        Column("ok", BOOL.with_null()),
        Column("rate", DOUBLE.with_null()),
    ),
    ("id",),
)
COLUMNS = ("id", "price", "name", "day", "at", "ok", "rate", "op", "event")
GOOD: Mapping[str, object] = {
    "id": 1, "price": "1.50", "name": "a", "day": "2024-01-31", "at": "2024-01-31 10:00:00", "ok": True, "rate": 0.5, "op": "I",
}  # fmt: skip


@dataclass(frozen=True)
class BadInput:
    """A file ``items<suffix>`` with so many ``rows``, of which ``accepted`` are events; None: it is set aside as a whole."""

    name: str
    suffix: str
    data: bytes
    rows: int
    accepted: int | None


def bad_inputs() -> list[BadInput]:
    """All of them."""
    return [*_values(), *_csv_files(), *_json_files(), *_parquet_files(), *_packed()]


#: column -> texts that are none of its values.
NOT_ITS_VALUES: Mapping[str, Sequence[str]] = {
    "id": ("x", "1.5", "0x1F", "9223372036854775808", "-9223372036854775809", "1e400", "٣", "1_000", "--1", "NaN", "1,0", "9" * 5000),
    "price": ("1e-999999999", "1e999999999", "1e-999999", "1e400", "1.005", "99999999999.99", "NaN", "Infinity", "1,50", "$1", "0x1",
              "1e", "-", ".", "1e-3", "957059901181520888460", "1" + "0" * 60, "0." + "0" * 400 + "1", "9" * 5000, "1.2.3"),
    "day": ("0000-01-01", "10000-01-01", "2023-02-29", "2024-13-01", "31.01.2024", "01/31/2024", "2024-1-2", "yesterday",
            "2024-01-31 10:00:00", "-0001-01-01", "2024-01-31T00:00:01Z"),
    "at": ("0000-12-31 23:59:59", "2024-01-31 25:00:00", "1706698800", "2024-01-31 10:00:00.1234567", "now", "9999-12-31 23:59:59-01:00",
           "2024-01-31 10:00:00 Europe/Berlin", "0001-01-01 00:00:00+01:00", "99999-01-01 00:00:00", "2024-02-30T00:00:00Z"),
    "ok": ("2", "maybe", "-1", "oui", "ttrue"),
    "rate": ("1e400", "-1e999999999", "1e-400", "1,5", "0x1p3", "one", "1e", "9" * 400, "1e-999999999"),
    "op": ("X", "upsert", "-", "II", "1", "U"),
    "event": ("x", "1.5", "9223372036854775808", "1e400"),
}  # fmt: skip


def _values() -> Iterator[BadInput]:
    """One bad value in the third of five rows. Numbers have a gap only where the bad row is, so it is told apart."""
    for column, texts in NOT_ITS_VALUES.items():
        for text in texts:
            rows = _rows(5)
            rows[2] = {**rows[2], column: text}
            name = f"{column} {text[:30]}"
            yield BadInput(f"csv: {name}", ".csv", csv(rows), 5, 4)
            yield BadInput(f"text in json: {name}", ".ndjson", lines(rows), 5, 4)
            if _is_json_number(text):
                raw = lines(rows).replace(json.dumps(text).encode(), text.encode())
                yield BadInput(f"number in json: {name}", ".ndjson", raw, 5, 4)


def _is_json_number(text: str) -> bool:
    try:
        json.loads(text, parse_float=str, parse_int=str)
    except ValueError:
        return False
    return True


def _rows(count: int) -> list[dict[str, object]]:
    return [{**GOOD, "id": i, "event": i} for i in range(count)]


def csv(rows: Sequence[Mapping[str, object]], delimiter: str = ",") -> bytes:
    """Rows as CSV, texts with delimiters or quotes in quotes."""
    names = list(rows[0])
    return "".join(f"{delimiter.join(map(_field, line))}\n" for line in [names, *(r.values() for r in rows)]).encode()


def _field(value: object) -> str:
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',;\t"\n') else text


def lines(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Rows as NDJSON."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _csv_files() -> Iterator[BadInput]:
    good = csv(_rows(6))
    header, *body = good.splitlines(keepends=True)

    def case(name: str, data: bytes, rows: int, accepted: int | None) -> BadInput:
        return BadInput(f"csv: {name}", ".csv", data, rows, accepted)

    def with_line(line: bytes) -> bytes:
        return header + b"".join([*body[:2], line, *body[3:]])

    def named(name: bytes) -> bytes:
        return with_line(body[2].replace(b",a,", b"," + name + b","))

    yield case("nothing", b"", 0, None)
    yield case("blank lines", b"\n\r\n\n", 0, None)
    yield case("zeros", b"\x00" * 100, 0, None)
    yield case("no header", b"".join(body), 6, None)
    yield case("two headers", header + good, 7, 5)
    yield case("utf-16", good.decode().encode("utf-16"), 6, None)
    yield case("utf-16 without a mark", good.decode().encode("utf-16-le"), 6, None)
    yield case("utf-32", good.decode().encode("utf-32"), 6, None)
    yield case("ends of lines of old", good.replace(b"\n", b"\r"), 6, None)
    yield case("a column twice", good.replace(b"rate", b"price"), 6, None)
    yield case("a column in two cases", good.replace(b"rate", b"Price").replace(b"price", b"PRICE"), 6, None)
    yield case("without a column", good.replace(b"price", b"prices"), 6, None)
    yield case("without op", good.replace(b"op", b"opp"), 6, None)
    yield case("an Excel file", b"PK\x03\x04\x14\x00\x06\x00" + bytes(range(256)), 0, None)
    yield case("packed, and not named so", gzip.compress(good), 6, None)
    yield case("a page", b"<html><body>504 Gateway Time-out</body></html>\n", 0, None)
    yield case("a field too few", with_line(b"2,1.50,a\n"), 6, 5)
    yield case("a field too many", with_line(body[2].replace(b"\n", b",x\n")), 6, 5)
    yield case("a delimiter in a text", named(b"a, b"), 6, 5)
    yield case("cut short", good[:-20], 6, 4)
    yield case("other delimiters below", with_line(body[2].replace(b",", b";")), 6, 5)
    yield case("a quote that is not closed", named(b'"a'), 6, 5)
    yield case("a quote that is not closed in the last row", header + b"".join(body[:5]) + b'5,1.50,"a', 6, 4)
    yield case("a quote that the next one closes", named(b'"a').replace(b"3,1.50,a", b'3,1.50,"a"'), 6, 5)
    swallowed = b'name,id,price,op,event\na,0,1,I,0\n"a,1,1,I,1\nb",2,1,I,2\na,3,1,I,3\n'
    yield case("a quote that is closed in another row", swallowed, 4, 2)
    yield case(
        "a quote in the last column", b'id,price,op,event,name\n0,1,I,0,a\n1,1,I,1,"a\n2,1,I,2,a\n3,1,I,3,a\n', 4, 3
    )
    yield case("text behind a quote", named(b'"a" b'), 6, 6)
    yield case("bytes that are no text", named(b"\xff\xfe"), 6, 5)
    yield case("latin-1", named("é".encode("latin-1")), 6, 5)
    yield case("half a character", named("é".encode()[:1]), 6, 5)
    yield case("a surrogate", named(b"\xed\xa0\x80"), 6, 5)
    yield case("too long a line", named(b"x" * (9 << 20)), 6, 5)
    yield case("too long a quoted field", named(b'"' + b"x" * (9 << 20) + b'"'), 6, 5)
    yield case("a zero byte as a number", with_line(body[2].replace(b"1.50", b"\x00")), 6, 5)
    yield case("CR in a line", with_line(body[2].replace(b",a,", b",a\rb,")), 6, 5)
    yield case("numbers that go back", header + b"".join(body[i] for i in (0, 2, 1, 3, 4, 5)), 6, 5)
    yield case("no numbers in a row", with_line(body[2].replace(b",2\n", b",\n")), 6, 5)
    yield case("NULL where none may be", with_line(body[2].replace(b"1.50", b"")), 6, 5)
    yield case("blanks", header + b"   \n" + b"".join(body), 7, 5)
    yield case("an update by key", with_line(body[2].replace(b",I,", b",U,")), 6, 5)
    yield case("nothing but quotes", header + b'"' * 1001 + b"\n", 1, 0)
    yield case("nothing but delimiters", header + b"," * 1000 + b"\n" + b"".join(body), 7, 5)
    yield case("half an event", with_line(body[2].replace(b",2\n", b",1\n").replace(b"1.50", b"x")), 6, 4)
    yield case(
        "a thousand columns", b"id,price,op,event" + b",x" * 1000 + b"\n" + b"1,1,I,1" + b"," * 1000 + b"\n", 1, 1
    )
    yield case("two delimiters in the header", b"id,price;op\tevent\n1,1;I\t1\n", 1, None)


def _json_files() -> Iterator[BadInput]:
    rows = _rows(6)
    body = lines(rows).splitlines(keepends=True)

    def case(name: str, data: bytes, count: int, accepted: int | None, suffix: str = ".ndjson") -> BadInput:
        return BadInput(f"json: {name}", suffix, data, count, accepted)

    def with_line(line: bytes) -> bytes:
        return b"".join([*body[:2], line + b"\n", *body[3:]])

    def with_value(column: str, text: bytes) -> bytes:
        return with_line(json.dumps({**rows[2], column: "?!"}).encode().replace(b'"?!"', text))

    lines_that_are_none: Mapping[str, bytes] = {
        "null": b"null", "blank and null": b" null", "a number": b"5", "a text": b'"a"', "an array": b"[1]", "true": b"true",
        "half an object": b'{"id": 2', "two and null": b'{"id": 2} null', "nothing but braces": b"{}}{",
        "deep arrays": b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep objects": b'{"x": ' + b'{"a":' * 100_000,
        "open arrays": b"[" * 100_000, "a name twice": b'{"id": 2, "id": 3, "price": 1, "op": "I", "event": 2}',
        "a name in two cases": b'{"ID": 2, "Id": 3, "price": 1, "op": "I", "event": 2}',
        "single quotes": b"{'id': 2}", "zeros": b"\x00" * 10, "bytes": b'{"name": "\xff"}', "a comma at the end": b'{"id": 2,}',
        "too long": b'{"name": "' + b"x" * (9 << 20) + b'"}', "words": b"Traceback (most recent call last):",
        "a comment": b"// 2", "a number in octal": b'{"id": 007}', "latin-1": '{"name": "é"}'.encode("latin-1"),
    }  # fmt: skip
    for name, line in lines_that_are_none.items():
        yield case(f"a line is {name}", with_line(line), 6, 5)
    values: Mapping[str, tuple[str, bytes]] = {
        "a surrogate": ("name", rb'"\ud800"'), "half a surrogate pair": ("name", rb'"\udc00x"'), "an object": ("name", b'{"a": 1}'),
        "an array": ("name", b"[]"), "a control character": ("name", b'"a\x01b"'), "a line end": ("name", b'"a\tb"'),
        "NaN for a decimal": ("price", b"NaN"), "minus infinity": ("price", b"-Infinity"), "a negative exponent": ("price", b"1e-3"),
        "true for a number": ("id", b"true"), "a float for an integer": ("id", b"1.5"), "null": ("id", b"null"),
        "an object for a number": ("price", b'{"$numberDecimal": "1.5"}'), "a wrong escape": ("name", rb'"\x41"'),
        "seconds for a moment": ("at", b"1706698800"), "days for a date": ("day", b"19753"), "a float for a truth": ("ok", b"0.5"),
    }  # fmt: skip
    for name, (column, text) in values.items():
        yield case(f"a value is {name}", with_value(column, text), 6, 5)
    array = b"[" + b",\n".join(line.strip() for line in body) + b"]"
    arrays: Mapping[str, bytes] = {
        "cut short": array[:-20], "without its end": array[:-1], "two": array + array, "text behind it": array + b"x",
        "a number in it": array[:-1] + b", 5]", "null in it": array[:-1] + b", null]", "an array in it": array[:-1] + b", []]",
        "a comma too many": array[:-1] + b",]", "a comma too few": array.replace(b"},\n{", b"}{", 1), "of one open brace": b"[{",
        "a quote too many": array.replace(b'"a"', b'"a""', 1), "brackets that do not match": array[:-2] + b"]}", "deep": b"[" * 100_000,
        "a line end in a text": array.replace(b'"a"', b'"a\nb"', 1),
    }  # fmt: skip
    for name, data in arrays.items():
        yield case(f"an array, {name}", data, 6, None, ".json")
    yield case("an array with a bad object", array.replace(b'"id": 2', b'"id": "x"'), 6, 5, ".json")
    yield case("an array with an empty object", array.replace(body[2].strip(), b"{}"), 6, 5, ".json")
    yield case("a document of other things", b'{"data": {"items": []}}\n', 1, None, ".json")
    yield case("a page", b"<html></html>\n", 1, None)
    yield case("utf-16", b"".join(body).decode().encode("utf-16"), 6, None)
    yield case("without op", b"".join(body).replace(b'"op"', b'"opp"'), 6, None)
    yield case("without a column", b"".join(body).replace(b'"price"', b'"prices"'), 6, None)
    yield case("one name in capitals", with_line(json.dumps({k.upper(): v for k, v in rows[2].items()}).encode()), 6, 6)
    yield case("zeros", b"\x00" * 1000, 1, 0)


def parquet(columns: Mapping[str, object], **options: object) -> bytes:
    """A table as a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def _parquet_files() -> Iterator[BadInput]:
    typed = {
        "id": pa.array(range(6)), "price": pa.array(["1.50"] * 6), "name": pa.array(["a"] * 6), "op": pa.array(["I"] * 6),
        "event": pa.array(range(6)),
    }  # fmt: skip
    good = parquet(typed)

    def case(name: str, columns: Mapping[str, object], accepted: int | None) -> BadInput:
        return BadInput(f"parquet: {name}", ".parquet", parquet({**typed, **columns}), 6, accepted)

    def whole(name: str, data: bytes) -> BadInput:
        return BadInput(f"parquet: {name}", ".parquet", data, 6, None)

    def third(values: Sequence[object], type_: pa.DataType) -> pa.Array:
        return pa.array([*values[:2], values[2], *values[1:2] * 3], type_)

    yield whole("nothing", b"")
    yield whole("cut short", good[:-50])
    yield whole("without its beginning", good[50:])
    yield whole("a footer that is too large", good[:-8] + b"\xff\xff\xff\x7fPAR1")
    yield whole("a footer of nothing", b"PAR1" + b"\x00\x00\x00\x00PAR1")
    yield whole("CSV", csv(_rows(6)))
    for place in range(10, len(good) - 10, max(1, len(good) // 25)):
        data = good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :]
        yield BadInput(f"parquet: another byte {place}", ".parquet", data, 6, -1)
    yield case("lists", {"price": pa.array([[1]] * 6)}, None)
    yield case("structures", {"name": pa.array([{"a": 1}] * 6)}, None)
    yield case("bytes for a text", {"name": pa.array([b"a"] * 6)}, 6)
    yield case("bytes that are no text", {"name": pa.array([b"a", b"a", b"\xff", b"a", b"a", b"a"])}, 5)
    broken = pa.StringArray.from_buffers(6, pa.array(range(7), pa.int32()).buffers()[1], pa.py_buffer(b"aa\xffaaa"))
    yield case("a text that is none", {"name": broken}, 5)
    yield case("truth for a number", {"id": pa.array([True] * 6)}, None)
    yield case("a number for a text", {"name": pa.array([5] * 6)}, None)
    yield case("a number for a date", {"day": pa.array([19753] * 6)}, None)
    yield case("op as a number", {"op": pa.array([1] * 6)}, None)
    yield case("event as a text", {"event": pa.array(["0", "1", "x", "3", "4", "5"])}, 5)
    yield case("event with NULL", {"event": pa.array([0, 1, None, 3, 4, 5])}, 5)
    yield case("events that go back", {"event": pa.array([0, 2, 1, 3, 4, 5])}, 5)
    yield case("floats with too many digits", {"price": third([1.5, 1.5, 0.125], pa.float64())}, 5)
    yield case("not a number", {"price": third([1.5, 1.5, float("nan")], pa.float64())}, 5)
    yield case("an infinite integer", {"id": third([1.0, 1.0, float("inf")], pa.float64())}, 5)
    yield case("a float beyond integers", {"id": third([1.0, 1.0, 1e300], pa.float64())}, 5)
    yield case("unsigned", {"id": third([1, 1, 2**63], pa.uint64())}, 5)
    yield case("a year of six digits", {"day": third([0, 0, 10**8], pa.date32())}, 5)
    yield case("year 0", {"day": third([0, 0, -719163], pa.date32())}, 5)
    yield case("a moment before year 1", {"at": third([0, 0, -(2**62)], pa.timestamp("us"))}, 5)
    yield case("a moment of milliseconds beyond", {"at": third([0, 0, 2**60], pa.timestamp("ms"))}, 5)
    yield case("nanoseconds", {"at": third([0, 0, 1], pa.timestamp("ns"))}, 5)
    yield case("a moment that is no date", {"day": third([0, 0, 1], pa.timestamp("us"))}, 5)
    yield case("a wider decimal", {"price": pa.array(["1.5"] * 6).cast(pa.decimal256(60, 3))}, 6)
    yield case("a time of day", {"at": pa.array([1] * 6, pa.time64("us"))}, None)
    yield case("a column twice but for its case", {"Price": typed["price"], "PRICE": typed["price"]}, 6)
    yield case("a text that crashes", {"price": pa.array(["1", "1", "1e-999999999", "1", "1", "1"])}, 5)
    dictionary = pa.array(["I", "I", "X", "I", "I", "I"]).dictionary_encode()
    yield case("a dictionary of operations", {"op": dictionary}, 5)


def _packed() -> Iterator[BadInput]:
    good = csv(_rows(6))
    packed = gzip.compress(good)
    yield BadInput("gz: not packed", ".csv.gz", good, 6, None)
    yield BadInput("gz: nothing", ".csv.gz", b"", 0, None)
    yield BadInput("gz: cut short", ".csv.gz", packed[:-10], 6, None)
    yield BadInput("gz: cut very short", ".csv.gz", packed[:5], 6, None)
    yield BadInput("gz: another byte", ".csv.gz", packed[:40] + b"\x00" + packed[41:], 6, None)
    yield BadInput("gz: a wrong sum", ".csv.gz", packed[:-8] + b"\x00" * 8, 6, None)
    yield BadInput("gz: something behind", ".csv.gz", packed + b"x" * 100, 6, None)
    yield BadInput("gz: of lines", ".ndjson.gz", gzip.compress(b"null\n" + lines(_rows(6))), 7, 5)
