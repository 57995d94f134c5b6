"""Bugs that are planted in recovery by tree clocks are noticed; all its generated mutants with ``PYTHONPATH=papers/tests python -m recovery_mutants``."""

from __future__ import annotations

import pytest

from recovery_equivalent import EQUIVALENT
from recovery_mutants import MODULES, PLANTED, Planted, judge, mutants_of
from tests.support.sampling import sampled


@pytest.mark.parametrize("bug", sampled(PLANTED, 3), ids=lambda bug: bug.name.replace(" ", "-"))
def test_a_planted_bug_is_noticed(bug: Planted) -> None:
    bug.tree()
    assert judge(bug, range(60))


def test_generated_mutants_are_killed() -> None:
    """Some of those that unit tests kill in milliseconds."""
    bugs = [bug for module in ("controller", "replaying", "logs", "sending", "node") for bug in mutants_of(module)][
        ::50
    ]
    assert [bug.name for bug in bugs if bug.name not in EQUIVALENT and not judge(bug, ())] == []


def test_only_mutants_are_explained() -> None:
    assert set(EQUIVALENT) <= {bug.name for module in MODULES for bug in mutants_of(module)}


def test_without_a_bug_nothing_is_noticed() -> None:
    assert judge(None, range(3)) == ""


def test_a_bug_can_only_be_planted_where_the_code_is() -> None:
    with pytest.raises(LookupError, match="0 times in node"):
        Planted("none", "node", "no such code", "").tree()
