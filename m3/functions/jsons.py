"""Access to texts that hold JSON. There is no type of JSON: a value in one is the text that ``->>`` gives.

A path is the JSON array of its keys and indexes, ``'["a",0]'`` for ``$.a[0]``; a negative index counts from the end.

>>> from m3.datatypes import STRING
>>> [KERNELS["json_value"]([text, '["a"]'], STRING) for text in ('{"a": "b"}', '{"a": null}', '{}')]
['"b"', 'null', None]
>>> json_text(['{"a": [1.50, {"b": true}]}', '["a",0]'], STRING), json_text(['{"a": [1.50, {"b": true}]}', '["a",1]'], STRING)
('1.50', '{"b":true}')
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from m3.datatypes import Type
from m3.dictionary.types import Value
from m3.errors import ValueProblem, shortened
from m3.functions.kernel import Compute

__all__ = ["KERNELS", "json_text"]


#: Objects and arrays within each other: how many Python can hold depends on who calls.
DEEPEST = 100
#: What is where nothing is; null is None.
MISSING = object()


class _Number(str):
    """A number as it is written: no digit is lost."""


def _refuse_constant(constant: str) -> Any:
    raise ValueError(constant)


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    try:
        steps = json.loads(path)
    except (ValueError, RecursionError):
        steps = None
    if not isinstance(steps, list) or not all(type(step) in (str, int) for step in steps):
        raise ValueProblem(f"{shortened(path)!r} is no path", kind="bad-path", hint="a JSON array of keys and indexes")
    return tuple(steps)


def json_text(args: list[Any], _: Type) -> Value:
    """A text as it is, anything else as compact JSON with numbers as they are written; None for null and what is missing.

    Raises:
        ValueProblem: see :func:`_find_value`.
    """
    value = _find_value(*args)
    return None if value is None or value is MISSING else str(value) if isinstance(value, str) else _write_value(value)


def _json_scalar(args: list[Any], to: Type) -> Value:
    """The same, None also for objects and arrays."""
    return None if isinstance(_find_value(*args), dict | list) else json_text(args, to)


def _json_value(args: list[Any], _: Type) -> Value:
    """Compact JSON, with quotes around texts, and the word ``null``; None for what is missing."""
    value = _find_value(*args)
    return None if value is MISSING else _write_value(value)


def _find_value(text: str, path: str) -> Any:
    """What is at a path, :data:`MISSING` if nothing is.

    Raises:
        ValueProblem: the text is not JSON, or deeper than :data:`DEEPEST`.
    """
    steps = _steps(path)
    try:
        value = json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_refuse_constant)
        if text.count("[") + text.count("{") > DEEPEST:
            _require_flat(value)
        if "\\u" in text:
            _write_value(value).encode()  # half a pair of escapes is no character
    except (ValueError, RecursionError) as error:
        message = f"{shortened(text, 60)!r} is not JSON"
        raise ValueProblem(
            message, kind="bad-json", hint="reject it at the source, or guard it with CASE WHEN"
        ) from error
    for step in steps:
        value = _member(value, step)
    return value


def _require_flat(value: Any) -> None:
    """Fail if objects and arrays lie deeper within each other than :data:`DEEPEST`."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [v for x in level for v in (x.values() if isinstance(x, dict) else x if isinstance(x, list) else ())]
    if level:
        raise ValueError("too deep")


def _member(value: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return value.get(step, MISSING) if isinstance(value, dict) else MISSING
    inside = isinstance(value, list) and -len(value) <= step < len(value)
    return value[step] if inside else MISSING


def _write_value(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_write_value(k)}:{_write_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _try_json_text(args: list[Any], to: Type) -> Value:
    try:
        return json_text(args, to)
    except ValueProblem:
        return None


KERNELS: Mapping[str, Compute] = {
    "json_text": json_text,
    "json_scalar": _json_scalar,
    "json_value": _json_value,
    "try_json_text": _try_json_text,
}
