"""The text of a seal's value: the same for equal values, whoever has written them, and however.

It is a JSON list with the text, or ``null``, of each of the seal's columns; texts are those of the columns' types in the log.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.eventlog.rejected import quoted, whole

__all__ = ["VALUE_CHARACTERS", "distinct_texts", "seal_texts"]

#: A longer value cannot be sealed.
VALUE_CHARACTERS = 400


def seal_texts(rows: pa.Table, columns: Sequence[str]) -> pa.Array:
    """The text of each row's value.

    Args:
        rows: has the columns, with their types in the log (:func:`~cumulus_ops.eventlog.types.event_schema`) or in views.
        columns: those of the seal.

    >>> rows = pa.table({"shop": ["a", None], "price": pa.array(["1.0", "20"]).cast(pa.decimal128(6, 2))})
    >>> seal_texts(rows, ["shop", "price"]).to_pylist()
    ['["a","1.00"]', '[null,"20.00"]']
    """
    parts: list[pa.Array | pa.Scalar] = []
    for name in columns:
        values = _plain(rows[name])
        parts += [pa.scalar("," if parts else "["), pc.fill_null(quoted(pc.cast(values, pa.string())), "null")]
    return pc.binary_join_element_wise(*parts, pa.scalar("]"), pa.scalar(""))


def distinct_texts(rows: pa.Table, columns: Sequence[str]) -> list[str]:
    """The texts of the rows' different values."""
    plain = pa.table([_plain(rows[name]) for name in columns], names=list(columns))
    values = plain.group_by(list(columns), use_threads=False).aggregate([])
    return list(seal_texts(values, columns).to_pylist())


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """In one piece, without a dictionary, and of a type that Arrow can group and print."""
    array = whole(column)
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_decimal(array.type):
        return array.cast(pa.decimal128(min(38, max(array.type.precision, 1)), array.type.scale))
    return array
