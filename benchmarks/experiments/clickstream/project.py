"""The project, coordinated in one way or another."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project, SealSettings

__all__ = ["REGIMES", "SEALING", "clickstream_project"]

#: ``sealed``: every producer has clicks of all campaigns, and seals each; ``independent``: each campaign is one producer's; ``ordered``: all that
#: they produce goes through one coordinator, in one order.
REGIMES = ("uncoordinated", "sealed", "independent", "ordered")
SEALING = ("sealed", "independent")
PRODUCERS = {"sealed": "all", "independent": "one"}


def clickstream_project(home: Path, regime: str, producers: int) -> Project:
    """The project of this folder, with everything it writes in ``home``."""
    project = load_project(Path(__file__).parent, {"CUMULUS_HOME": str(home)})
    seal = SealSettings("campaign", ("campaign",), PRODUCERS.get(regime, "all"))
    return dataclasses.replace(
        project,
        coordinators=1 if regime == "ordered" else producers,
        seals={"clicks": (seal,)} if regime in SEALING else {},
    )
