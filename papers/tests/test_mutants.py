"""Small changes of the protocols' code are noticed: a few of them here, all with ``PYTHONPATH=papers/tests python -m mutants``."""

from __future__ import annotations

import ast

import pytest

from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.protocols.target import TARGET
from cumulus_papers.run import run_case
from cumulus_papers.sweep import draw_case
from equivalent import EQUIVALENT
from mutants import changed, edited, judge, modules_of, mutants_of, sample, source_of

COUNT, SEEDS = 8, range(20)


@pytest.mark.parametrize("protocol", ["target", "source"])
def test_mutants_are_killed(protocol: str) -> None:
    verdicts = [judge(mutant, SEEDS) for mutant in sample(PROTOCOLS[protocol], COUNT)]
    assert [str(v.mutant) for v in verdicts if not v.killed and v.mutant.name not in EQUIVALENT] == []
    assert sum(v.killed is not None for v in verdicts) > COUNT // 2


def test_every_kind_of_mutant_is_made() -> None:
    made = {m.what for m in mutants_of(TARGET)}
    assert "bound <= first  =>  bound < first" in made
    assert "version > self.seen  =>  version <= self.seen" in made
    assert "len(kept) == len(mine)  =>  len(kept) != len(mine)" in made
    assert "add_to(self.entries, delta)  =>  pass" in made
    assert any(what.startswith("if task.complete: ...  =>  if not task.complete") for what in made)
    assert "self.last.sequence + 1  =>  self.last.sequence - 1" in made
    assert not any(m.function.endswith(("about", "finish", "maps")) for m in mutants_of(TARGET))


def test_a_module_put_together_again_does_what_it_did() -> None:
    """So that what is noticed is the change, and not the taking apart; and what others use is left as it is."""
    module = modules_of(TARGET)[-1]
    copy = changed(TARGET, module, ast.parse(source_of(module)))
    assert copy.build is not TARGET.build
    assert PROTOCOLS["target"] is TARGET
    case = draw_case(1, TARGET)
    assert run_case(case, copy).messages == run_case(case, TARGET).messages


def test_a_bug_can_only_be_planted_where_the_code_is() -> None:
    with pytest.raises(LookupError, match=r"'no such code' is not once in .*central, .*target"):
        edited(TARGET, "no such code", "")
