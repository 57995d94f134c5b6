"""Kinds of failing expressions on the engine with three coordinators: epochs are committed while most views are in error,
and after each the engine says of every view what the interpreter says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.views_in_error import follow
from tests.unit.m3.failing import CASES, Case

SHARES = 3


def projects() -> Mapping[str, Mapping[str, Case]]:
    """All cases, of each dialect by itself."""
    plain = [name for name, case in CASES.items() if case.dialect is None]
    shares = {f"share {n}": plain[n::SHARES] for n in range(SHARES)}
    shares |= {
        str(c.dialect): [n for n, x in CASES.items() if x.dialect == c.dialect] for c in CASES.values() if c.dialect
    }
    return {share: {name: CASES[name] for name in names} for share, names in shares.items()}


@pytest.mark.parametrize("share", projects())
def test_engine_says_what_the_interpreter_says(share: str, tmp_path: Path) -> None:
    cases = projects()[share]
    seen = follow(tmp_path, cases)
    assert seen["in error"] >= len(cases)
    assert seen["right"] >= 2 * len(cases) + 5
