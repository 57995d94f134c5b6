"""Target and source aggregation end in the serial interpreter's state, whatever the delays, and keep the paper's promises."""

from __future__ import annotations

import pytest

from cumulus_ops.simulation import PROTOCOLS, draw_case, run_case

SEEDS = range(15)


@pytest.mark.parametrize("protocol", ["target", "source"])
def test_random_cases_end_as_they_do_serially(protocol: str) -> None:
    spec = PROTOCOLS[protocol]
    outcomes = [run_case(draw_case(seed, spec), spec) for seed in SEEDS]
    assert all(outcome.messages[kind] for outcome in outcomes for kind in ("Notify", "Snapshot"))
    assert all(outcome.commits == outcome.case.epochs for outcome in outcomes)
    assert sum(outcome.messages[spec.kinds[-1]] for outcome in outcomes)
