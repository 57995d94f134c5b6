"""The examples in the docstrings of the language are right."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import m3

MODULES = [name for _, name, _ in pkgutil.walk_packages(m3.__path__, "m3.")]


@pytest.mark.parametrize("name", [n for n in MODULES if doctest.DocTestFinder().find(importlib.import_module(n))])
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    found = (t for name in MODULES for t in doctest.DocTestFinder().find(importlib.import_module(name)))
    assert sum(len(t.examples) for t in found) > 10
