"""Where events come from: each source hands over deliveries, from a position on."""

from cumulus_ops.sources.landing import Landing, drop_delivery
from cumulus_ops.sources.pending import pending, sources_of
from cumulus_ops.sources.source import Source

__all__ = ["Landing", "Source", "drop_delivery", "pending", "sources_of"]
