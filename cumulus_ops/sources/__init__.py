"""Where events come from: each source hands over deliveries, from a position on."""

from cumulus_ops.sources.drops import Ignored
from cumulus_ops.sources.kinds import make_source
from cumulus_ops.sources.landing import Landing, drop_delivery
from cumulus_ops.sources.pending import Sources
from cumulus_ops.sources.source import Source, SourceKind

__all__ = ["Ignored", "Landing", "Source", "SourceKind", "Sources", "drop_delivery", "make_source"]
