"""How much order a program needs (Blazes, sections 4 and 5, for the case that matters most here)."""

from cumulus_ops.coordination.granularity import BATCH, EVENT, granularity_of

__all__ = ["BATCH", "EVENT", "granularity_of"]
