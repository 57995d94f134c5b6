"""The papers' protocols, one module (or package) each."""

from cumulus_papers.protocols.blocking.system import BLOCKING
from cumulus_papers.protocols.eventual.system import EVENTUAL
from cumulus_papers.protocols.optimistic.system import OPTIMISTIC
from cumulus_papers.protocols.pipeline import PIPELINE
from cumulus_papers.protocols.source import SOURCE
from cumulus_papers.protocols.target import TARGET
from cumulus_papers.run import Spec

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
