"""The papers' protocols, executable: a deterministic simulator of coordinators, nodes and messages.

A **case** (:mod:`~cumulus_ops.simulation.case`) says what is simulated. A **protocol** (:mod:`~cumulus_ops.simulation.protocols`) adds its
actors to the **kernel** (:mod:`~cumulus_ops.simulation.kernel`), which delivers messages in virtual time; the **judge**
(:mod:`~cumulus_ops.simulation.judge`) compares all states with the serial interpreter's. Nothing here touches the engine.
"""

from cumulus_ops.simulation.case import Arrival, Case
from cumulus_ops.simulation.draw import draw_case
from cumulus_ops.simulation.judge import Wrong
from cumulus_ops.simulation.kernel import Costs, Disorder
from cumulus_ops.simulation.protocols import PROTOCOLS
from cumulus_ops.simulation.run import Outcome, run_case

__all__ = ["PROTOCOLS", "Arrival", "Case", "Costs", "Disorder", "Outcome", "Wrong", "draw_case", "run_case"]
