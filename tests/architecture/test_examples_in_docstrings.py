"""The examples in the docstrings of the product are right; those of the language have a test beside its own."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [(ROOT, f) for f in sorted((ROOT / "cumulus_ops").rglob("*.py"))]
FILES += [(ROOT / "papers", f) for f in sorted((ROOT / "papers" / "cumulus_papers").rglob("*.py"))]
MODULES = [
    ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    for root, file in FILES
    if ">>>" in file.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_are_found() -> None:
    assert {"cumulus_ops.epochs.policy", "cumulus_ops.coordination.barriers", "cumulus_papers.sweep"} <= {*MODULES}
