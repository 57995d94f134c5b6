"""The papers' protocols, one module (or package) each."""

from cumulus_ops.simulation.protocols.blocking import BLOCKING
from cumulus_ops.simulation.protocols.eventual import EVENTUAL
from cumulus_ops.simulation.protocols.optimistic import OPTIMISTIC
from cumulus_ops.simulation.protocols.pipeline import PIPELINE
from cumulus_ops.simulation.protocols.source import SOURCE
from cumulus_ops.simulation.protocols.target import TARGET
from cumulus_ops.simulation.run import Spec

__all__ = ["PROTOCOLS"]

PROTOCOLS: dict[str, Spec] = {
    spec.name: spec
    for spec in (
        TARGET,
        SOURCE,
        BLOCKING,
        OPTIMISTIC,
        EVENTUAL,
        PIPELINE,
    )
}
