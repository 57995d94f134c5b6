"""Values inside of texts that hold JSON, as the texts that ``->>`` gives.

>>> at_path('{"a": [1.50, {"b": true}]}', '["a", 0]'), at_path('{"a": [1.50, {"b": true}]}', '["a", 1]')
('1.50', '{"b":true}')
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["at_path", "try_at_path"]


#: Objects and arrays within each other.
DEEPEST = 100


class _Written(str):
    """A number, in the digits that it is written with."""


def at_path(text: str, path: str) -> str | None:
    """What is at a path, a JSON array of keys and places; None for null and for nothing.

    Raises:
        ValueError: the text is no JSON.
    """
    try:
        value = json.loads(text, parse_int=_Written, parse_float=_Written, parse_constant=_no_number)
        if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
            raise ValueError("JSON that is too deep")
        _compact(value).encode()  # an escape may be half a character
    except RecursionError as error:
        raise ValueError("JSON that is too deep") from error
    for step in json.loads(path):
        try:
            value = value[step] if isinstance(value, dict if isinstance(step, str) else list) else None
        except LookupError:
            value = None
    return value if value is None or isinstance(value, str) else _compact(value)


def try_at_path(text: str, path: str) -> str | None:
    """The same, None where there is no JSON."""
    try:
        return at_path(text, path)
    except ValueError:
        return None


def _depth(value: Any) -> int:
    """How deep objects and arrays lie within each other."""
    depth, inside = 0, [value]
    while inside := [x for x in inside if isinstance(x, dict | list)]:
        depth += 1
        inside = [child for x in inside for child in (x.values() if isinstance(x, dict) else x)]
    return depth


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _compact(value: Any) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{_compact(k)}:{_compact(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_compact, value)) + "]"
        case _Written():
            return str(value)
    return json.dumps(value, ensure_ascii=False)
