"""Texts that hold JSON: a value at a constant path is the text that ``->>`` gives."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, refused, text
from cumulus_ops.validation.meaning.texts import as_text
from m3.datatypes import STRING

__all__ = ["JSONS"]

TYPES = ("JSON", "JSONB", "VARIANT")


def _value(reader: Reader, node: exp.Expr) -> Term:
    """``a -> 'b' ->> 0``, JSON_EXTRACT_STRING, GET_JSON_OBJECT. What is no JSON is an error, in Spark NULL."""
    inner, steps = node, list[str | int]()
    while isinstance(inner, exp.JSONExtract | exp.JSONExtractScalar):
        steps = [*_steps(inner.args["expression"]), *steps]
        inner = inner.this.unnest()
    if isinstance(inner, exp.Cast) and inner.to.this.value in TYPES:
        inner = inner.this
    function = "try_json" if reader.dialect in ("spark", "databricks") else "json"
    path = text(json.dumps(steps))
    return Term(reader.exactly(function, STRING, as_text(reader, inner).node, path), STRING)


def _steps(path: exp.Expr) -> list[str | int]:
    if not isinstance(path, exp.JSONPath):
        raise refused("a path in JSON that is not constant")
    steps = [part.this for part in path.expressions if not isinstance(part, exp.JSONPathRoot)]
    if not all(isinstance(step, str | int) for step in steps):
        raise refused("a path in JSON with more than keys and places")
    return steps


JSONS: Mapping[type[exp.Expr], Rule] = {exp.JSONExtractScalar: _value}
