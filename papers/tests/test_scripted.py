"""The protocols in cases made by hand; mutants of them are looked at with the same checks."""

from __future__ import annotations

import pytest

from cumulus_papers.protocols import PROTOCOLS
from scripted import SCRIPTED, Check

CHECKS = [pytest.param(protocol, check, id=check.__name__) for protocol, checks in SCRIPTED.items() for check in checks]


@pytest.mark.parametrize(("protocol", "check"), CHECKS)
def test_cases_made_by_hand(protocol: str, check: Check) -> None:
    check(PROTOCOLS[protocol])
