"""How typed columns are held while computing: the *physical* form.

Everything is an Arrow array; a decimal is an int64 array of its smallest units, so that sums and products are integer
operations that are exact or fail. A column with a number beyond 64 bits is *wide* instead, see :mod:`.wide`.
``to_physical`` and ``to_logical`` convert whole arrays without touching rows.

Numbers beyond 64 bits: how columns and numpy arrays hold them.

Whole numbers (units of decimals, keys, values of maps) are int64 as long as all of a column's fit. As soon as one does not, an
Arrow column is :data:`WIDE`, and a numpy array holds Python's integers (``dtype=object``), which have no bound; both turn back
as soon as everything fits again. Nothing but the data decides: two columns of one map may differ.

>>> to_column(np.array([2**70, 1], dtype=object)).type == WIDE
True
>>> to_units(to_column(np.array([7, 1], dtype=object)))
array([7, 1])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.project.errors import InputProblem
from m3.datatypes import Type

__all__ = [
    "LOW",
    "MOST",
    "WIDE",
    "Taken",
    "alike",
    "are_all",
    "canonical",
    "columns_of",
    "from_numbers",
    "from_words",
    "greatest",
    "hash_columns",
    "hash_places",
    "hash_texts",
    "is_wide",
    "join_limbs",
    "join_words",
    "least",
    "limbs",
    "logical_type",
    "mix",
    "narrow_column",
    "narrow_units",
    "physical_type",
    "sort_codes",
    "stack",
    "take_rows",
    "to_column",
    "to_logical",
    "to_numpy",
    "to_physical",
    "to_units",
    "total_column",
    "whole_column",
    "widen",
    "words",
]


WIDE = pa.decimal128(38, 0)
INT64 = pa.int64()
#: What Arrow calls types, which is faster to look up than the types.
INT64_ID, WIDE_ID, BOOL_ID = INT64.id, WIDE.id, pa.bool_().id
DATE_ID, TIMESTAMP_ID = pa.date32().id, pa.timestamp("us").id
EIGHT_BYTES = np.dtype(np.int64)
#: The numbers in the buffer of a type of a fixed width.
FIXED: Mapping[object, np.dtype] = {
    INT64_ID: EIGHT_BYTES,
    DATE_ID: np.dtype(np.int32),
    TIMESTAMP_ID: EIGHT_BYTES,
    pa.float64().id: np.dtype(np.float64),
}
#: The largest magnitude in a wide column: 38 digits.
MOST = 10**38 - 1
#: No type holds it, but 128 bits do.
TOO_MANY = 2**127 - 1
LOW = 0xFFFFFFFF
LOW_WORD = 2**64 - 1


def whole_column(column: pa.ChunkedArray) -> pa.Array:
    """A table's column as one array; without a copy where it is in one piece, as ``combine_chunks`` always makes one."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def columns_of(table: pa.Table) -> dict[str, pa.Array]:
    """A table's columns by their names, each as one array."""
    return dict(zip(table.schema.names, map(whole_column, table.columns), strict=True))


def is_wide(type_: pa.DataType) -> bool:
    """Whether it is the type of numbers beyond 64 bits."""
    return bool(type_.id == WIDE_ID and type_ == WIDE)


def from_numbers(values: np.ndarray, type_: pa.DataType | None = None) -> pa.Array:
    """Numbers in one piece as a column without NULL, int64 unless said otherwise. ``pa.array`` asks first what pandas has to say to them, which
    takes longer than all else: of small columns, as batches are many of."""
    return pa.Array.from_buffers(INT64 if type_ is None else type_, len(values), [None, pa.py_buffer(values)], 0)


# numpy's own `min`, `max` and `all` go through Python first, which takes three times as long as to go through a few dozen numbers. These do not.


def least(numbers: np.ndarray) -> int:
    """The least of some whole numbers, at least one."""
    return int(numbers[numbers.argmin()])


def greatest(numbers: np.ndarray) -> int:
    """The greatest of some whole numbers, at least one."""
    return int(numbers[numbers.argmax()])


def are_all(mask: np.ndarray) -> bool:
    """Whether a mask is true everywhere."""
    return bool(np.count_nonzero(mask) == len(mask))


def words(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The upper and the lower 64 bits of a wide column (int64 each); what stands at NULL is any number."""
    both = np.frombuffer(column.buffers()[1], dtype=np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    return both[1::2].copy(), both[0::2].copy()


def from_words(high: np.ndarray, low: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """Inverse of :func:`words`; ``valid`` tells which are not NULL."""
    both = np.empty(2 * len(low), dtype=np.int64)
    both[0::2], both[1::2] = low, high
    validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(WIDE, len(low), [validity, pa.py_buffer(both)], 0 if valid is None else -1)


def join_words(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The numbers of such words, as Python's integers."""
    return (high.astype(object) << 64) | low.view(np.uint64).astype(object)


def to_units(column: pa.Array, null: int = 0) -> np.ndarray:
    """The numbers of an int64 or a wide column, with ``null`` in place of NULL: int64 if they fit, or Python's integers."""
    column = narrow_column(column)
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if is_wide(column.type):
        units = join_words(*words(column))
    else:
        units = column.to_numpy() if valid is None else column.fill_null(null).to_numpy(zero_copy_only=False)
    return units if valid is None else np.where(valid, units, null)


def to_column(units: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
    """Numbers of up to 38 digits as a column, int64 or wide; NULL where the mask ``null`` says so."""
    if units.dtype == object and null is not None:
        units = np.where(null, 0, units)
    units = narrow_units(units)
    if units.dtype != object:
        return (
            from_numbers(np.ascontiguousarray(units))
            if null is None and units.dtype == np.int64
            else pa.array(units, mask=null)
        )
    low = (units & LOW_WORD).astype(np.uint64).view(np.int64)
    return from_words((units >> 64).astype(np.int64), low, None if null is None else ~null)


def total_column(units: np.ndarray) -> pa.Array:
    """Like :func:`to_column` for totals, which may have any number of digits: those of more than 38 become a number that does
    not fit any type either, so that whoever evaluates one finds that it does not."""
    if units.dtype == object:
        units = np.where(units > MOST, TOO_MANY, np.where(units < -MOST, -TOO_MANY, units))
    return to_column(units)


#: Of so many codes one is looked at to tell whether they come nearly sorted, and they do if no more than one of so many is less than the one before.
SAMPLED, DISORDER = 32, 16
#: Fewer codes are not packed with their rows.
PACKED = 1 << 15


def sort_codes(codes: np.ndarray) -> np.ndarray:
    """The rows in the order of their codes."""
    # Codes of rows that were found for sorted requests, or stand in several runs, ascend but for neighbours: to merge what ascends is a fifth of the work of
    # sorting (8 million codes 0.1 instead of 0.6 s). Numbers of two bytes are sorted by their digits, in an eighth.
    sample = codes[::SAMPLED]
    if codes.itemsize <= 2 or np.count_nonzero(sample[1:] < sample[:-1]) * DISORDER <= len(sample):
        return codes.argsort(kind="stable")
    # Numbers of code and row, if 64 bits hold both, are sorted where they are, without a look at codes elsewhere: 5 million in 0.3 instead of 0.6 s.
    bits = (len(codes) - 1).bit_length()
    if len(codes) < PACKED or int(codes.max()) >> (64 - bits):
        return codes.argsort()
    packed = codes.astype(np.uint64) << bits
    packed |= np.arange(len(codes), dtype=np.uint64)
    packed.sort()
    packed &= np.uint64((1 << bits) - 1)
    return packed.view(np.int64)


def narrow_units(units: np.ndarray) -> np.ndarray:
    """The same numbers as int64, if they fit."""
    if units.dtype != object:
        return units
    try:
        return units.astype(np.int64)
    except OverflowError:
        return units


def narrow_column(column: pa.Array) -> pa.Array:
    """The same column as int64, if it fits."""
    if not is_wide(column.type):
        return column
    high, low = words(column)
    fits = high == low >> 63
    null = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if not bool((fits if null is None else fits | null).all()):
        return column
    return pa.array(low, mask=null)


def widen(column: pa.Array) -> pa.Array:
    """The same column as a wide one."""
    if is_wide(column.type):
        return column
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    units = to_units(column)
    return from_words(units >> 63, units, valid)


def alike(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Columns of one kind in one form: all wide, if one is."""
    if len(columns) == 1 or not any(is_wide(column.type) for column in columns):
        return list(columns)
    return [widen(column) if pa.types.is_int64(column.type) else column for column in columns]


def stack(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables one below the other. A column is wide if it is in one of them; one of numbers that some do not have is 0 there."""
    first = tables[0].schema
    if all(table.schema.equals(first) for table in tables):
        return pa.concat_tables(tables)
    names = list(dict.fromkeys(name for table in tables for name in table.column_names))
    wide = {field.name for table in tables for field in table.schema if is_wide(field.type)}
    return pa.concat_tables([pa.table([_widen_column(t, n, n in wide) for n in names], names) for t in tables])


def _widen_column(table: pa.Table, name: str, wide: bool) -> pa.Array | pa.ChunkedArray:
    if name not in table.column_names:
        return pa.array(np.zeros(len(table), np.int64)).cast(WIDE if wide else pa.int64())
    column = table[name]
    return column.cast(WIDE) if wide and not is_wide(column.type) else column


def limbs(column: pa.Array) -> list[np.ndarray]:
    """Numbers as digits of 32 bits, the lowest first, the last one signed: sums of each do not wrap around, whatever the sums of
    the numbers do (int64; of a column without NULL)."""
    if not is_wide(column.type):
        units = to_units(column)
        return [units & LOW, units >> 32]
    high, low = words(column)
    return [low & LOW, (low >> 32) & LOW, high & LOW, high >> 32]


def join_limbs(sums: Sequence[np.ndarray]) -> np.ndarray:
    """The numbers whose digits add up to ``sums``: int64 if they all fit, or Python's integers."""
    *lower, top = sums
    digits, carry = [], np.zeros(len(top), np.int64)
    for part in lower:
        part = part + carry
        digits.append(part & LOW)
        carry = part >> 32
    top = top + carry
    if len(digits) == 1:
        low, fits = (top << 32) | digits[0], (top >= -(2**31)) & (top < 2**31)
    else:
        low = digits[0] | (digits[1] << 32)
        fits = (top == low >> 63) & (digits[2] == (low >> 63) & LOW)
    if bool(fits.all()):
        return low
    result = top.astype(object)
    for digit in reversed(digits):
        result = (result << 32) | digit.astype(object)
    return result


PHYSICAL = {
    "int": pa.int64(),
    "decimal": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "bool": pa.bool_(),
}


def physical_type(type_: Type) -> pa.DataType:
    """The Arrow type that holds ``type_`` while computing and as a map's key."""
    return PHYSICAL[type_.kind]


def logical_type(type_: Type) -> pa.DataType:
    """The Arrow type that people and files see: decimals as decimal128, the rest as in :func:`physical_type`; of a list, one of those."""
    if type_.element is not None:
        return pa.list_(logical_type(type_.element))
    return pa.decimal128(type_.precision, type_.scale) if type_.kind == "decimal" else PHYSICAL[type_.kind]


def to_physical(array: pa.Array | pa.ChunkedArray, type_: Type) -> pa.Array:
    """Arrow column as read from a file -> physical array; wide if a decimal has more units than an int64 holds. Zero has no sign.

    Raises:
        InputProblem: a decimal has more than 38 digits.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if type_.kind != "decimal":
        physical = array if array.type == physical_type(type_) else array.cast(physical_type(type_))
        return pc.add(physical, 0.0) if type_.kind == "double" else physical
    try:
        if not pa.types.is_decimal(array.type) or array.type.scale != type_.scale:
            array = array.cast(pa.decimal128(38, type_.scale))
        # Log files hold decimals of up to 18 digits as 64 bits: their units are what is in the buffer, without a copy.
        if pa.types.is_decimal32(array.type):
            array = array.cast(pa.decimal64(array.type.precision, array.type.scale))
        if pa.types.is_decimal64(array.type):
            return pa.Array.from_buffers(pa.int64(), len(array), array.buffers(), array.null_count, array.offset)
        if pa.types.is_decimal256(array.type):
            array = array.cast(pa.decimal128(38, array.type.scale))
        return narrow_column(_set_scale(array, 0))
    except pa.ArrowInvalid as error:
        hint = "narrow the values or the scale"
        raise InputProblem(f"a {type_} value has too many digits", kind="overflow", hint=hint) from error


def to_logical(array: pa.Array, type_: Type) -> pa.Array:
    """Inverse of :func:`to_physical`: an array of type :func:`logical_type`. A wide array will do, too.

    Raises:
        InputProblem: a value does not fit the type.
    """
    wide = is_wide(array.type)
    if type_.kind != "decimal" and not wide:
        return array
    try:
        return _set_scale(widen(array), type_.scale).cast(logical_type(type_))
    except pa.ArrowInvalid as error:
        raise InputProblem(f"a result does not fit {type_}", kind="overflow", hint="widen the view's column") from error


def _set_scale(wide: pa.Array, scale: int) -> pa.Array:
    """The same 128 bits as units at a scale."""
    type_ = pa.decimal128(38, scale)
    return pa.Array.from_buffers(type_, len(wide), wide.buffers(), wide.null_count, wide.offset)


def canonical(array: pa.Array) -> pa.Array:
    """A key column in which equal values have equal bits: 0.0 for -0.0, one NaN for all."""
    if not pa.types.is_floating(array.type):
        return array
    values = array.to_numpy(zero_copy_only=False) + 0.0
    values[np.isnan(values)] = np.nan
    return pa.array(values, mask=array.is_null().to_numpy(zero_copy_only=False))


def take_rows(column: pa.Array, rows: np.ndarray) -> pa.Array:
    """The rows at the given positions. Numpy needs a sixth of Arrow's time for a few numbers, and joins are many of such."""
    type_ = column.type
    width = FIXED.get(type_.id)
    if width is None or column.null_count:
        # `column.take` makes options first, which takes a third of the time of a few rows.
        return pc.call_function("take", [column, from_numbers(rows) if rows.dtype == np.int64 else pa.array(rows)])
    return from_numbers(_view_numbers(column, width)[rows], type_)


class Taken(Mapping[str, pa.Array]):
    """Columns at some rows. Each is taken when it is first asked for, as most never are."""

    def __init__(self, columns: Mapping[str, pa.Array], rows: np.ndarray) -> None:
        self._columns, self._rows = columns, rows
        self._taken: dict[str, pa.Array] = {}

    def __getitem__(self, name: str) -> pa.Array:
        found = self._taken.get(name)
        if found is None:
            found = self._taken[name] = take_rows(self._columns[name], self._rows)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def _view_numbers(column: pa.Array, width: np.dtype) -> np.ndarray:
    """What the buffer of a column of a fixed width holds."""
    rows = len(column)
    return np.ndarray(rows, width, column.buffers()[1], column.offset * width.itemsize) if rows else np.zeros(0, width)


def to_numpy(array: pa.Array, null: int = 0) -> np.ndarray:
    """A numpy array of int64 for integers, dates, timestamps and booleans, with ``null`` in place of NULL; of Python's integers
    where a wide column needs them."""
    kind = array.type.id
    width = FIXED.get(kind)
    if width is not None and not array.null_count:
        numbers = _view_numbers(array, width)
        return numbers if width is EIGHT_BYTES else numbers.astype(np.int64)
    if is_wide(array.type):
        return to_units(array, null)
    if kind == BOOL_ID:
        if not array.null_count:
            return array.to_numpy(zero_copy_only=False).astype(np.int64)
        array = array.cast(pa.int8())
    if kind == DATE_ID:
        array = array.view(pa.int32()) if array.offset == 0 else array.cast(pa.int32())
    elif kind == TIMESTAMP_ID:
        array = array.cast(pa.int64())
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(null, array.type))
    return array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


# A 64-bit hash of key columns, vectorised, the same on every machine and in every process.
#
# Partitions are ranges of this hash, and what is not a number has some of its bits in a run's search code. Equal hashes do not
# imply equal keys: every lookup compares the real keys afterwards, so a collision costs time, never correctness.


MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
BASE = np.uint64(0x100000001B3)  # odd, so it has an inverse modulo 2**64
BASE_INVERSE = np.uint64(pow(0x100000001B3, -1, 2**64))
NULL_HASH = np.uint64(0x6E756C6C)


def hash_columns(columns: Sequence[pa.Array], rows: int) -> np.ndarray:
    """Hash each row of ``columns`` (uint64 array of length ``rows``); no columns give the same hash for every row."""
    result = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        if pa.types.is_string(column.type):
            hashed = hash_texts(column)
        elif pa.types.is_floating(column.type):
            hashed = canonical(column).to_numpy(zero_copy_only=False).view(np.uint64)
        elif is_wide(column.type):
            # A column may be wide in one run and int64 in another: numbers that fit 64 bits have the same hash in both.
            high, low = words(column)
            hashed = low.view(np.uint64) ^ mix((high ^ (low >> 63)).view(np.uint64))
        else:
            hashed = to_numpy(column).view(np.uint64)
        if column.null_count:
            hashed = np.where(column.is_valid().to_numpy(zero_copy_only=False), hashed, NULL_HASH)
        result = mix(result * MULTIPLIER + hashed + MULTIPLIER)
    return result


def hash_places(columns: Sequence[pa.Array], rows: int, number: int) -> np.ndarray:
    """Which of ``number`` tasks each row goes to: a range of the hashes of ``columns`` each, the same in every process (int64)."""
    hashes = hash_columns(columns, rows)
    return (((hashes >> 32) * number) >> 32).astype(np.int64)


def mix(x: np.ndarray) -> np.ndarray:
    """Every bit of the result depends on every bit of ``x`` (uint64); different numbers stay different (the end of SplitMix64)."""
    x = (x ^ (x >> 30)) * MIX_1
    x = (x ^ (x >> 27)) * MIX_2
    return np.asarray(x ^ (x >> 31))


def hash_texts(column: pa.Array) -> np.ndarray:
    """Polynomial hash of each string's bytes, by one running sum over the whole buffer.

    With S the running sum of byte[i] * BASE**i, a string in [a, b) hashes to (S[b] - S[a]) * BASE**-a: the position in
    the buffer cancels out. The length is mixed in, so that trailing zero bytes count.
    """
    _, offset_buffer, data = column.buffers()
    if len(column) == 0:
        return np.zeros(0, dtype=np.uint64)
    offsets = np.frombuffer(offset_buffer, dtype=np.int32, offset=4 * column.offset, count=len(column) + 1)
    offsets = offsets.astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    text = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)[first:last]
    powers = _raise_base(BASE, len(text))
    running = np.zeros(len(text) + 1, dtype=np.uint64)
    np.cumsum(text.astype(np.uint64) * powers[: len(text)], out=running[1:])
    begin, end = offsets[:-1] - first, offsets[1:] - first
    shifts = _raise_base(BASE_INVERSE, len(text))
    return mix((running[end] - running[begin]) * shifts[begin] + (end - begin).astype(np.uint64))


#: Powers of so many bytes are computed once.
KNOWN_POWERS = 1 << 16


def _raise_base(base: np.uint64, count: int) -> np.ndarray:
    """base**0 .. base**count modulo 2**64, and perhaps further."""
    return _known_powers(int(base)) if count <= KNOWN_POWERS else _compute_powers(base, count)


@lru_cache(maxsize=2)
def _known_powers(base: int) -> np.ndarray:
    powers = _compute_powers(np.uint64(base), KNOWN_POWERS)
    powers.setflags(write=False)
    return powers


def _compute_powers(base: np.uint64, count: int) -> np.ndarray:
    factors = np.full(count + 1, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)
