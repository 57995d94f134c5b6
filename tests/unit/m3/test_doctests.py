"""The examples in the docstrings of the language are right."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import m3

PASSES = (
    *(
        "sql.tables",
        "sql.places",
        "sql.rewrites",
        "sql.series",
        "sql.asof",
        "sql.resolve",
        "sql.subqueries",
        "sql.calls",
    ),
    *("sql.normalise", "sql.select", "sql.joining", "sql.grouping", "sql.aggregates", "sql.windows", "sql.correlation"),
    *("sql.view", "algebra.attempts", "algebra.normal", "algebra.derive", "compiler.materialize", "compiler.pipeline"),
)


def examples(name: str) -> int:
    return sum(len(t.examples) for t in doctest.DocTestFinder().find(importlib.import_module(name)))


MODULES = [name for _, name, _ in pkgutil.walk_packages(m3.__path__, "m3.") if examples(name)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_each_pass_of_the_compiler_shows_a_before_and_after() -> None:
    assert not [name for name in PASSES if f"m3.{name}" not in MODULES]
