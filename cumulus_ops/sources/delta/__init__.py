"""``kind: delta``: the change data feed of Delta tables."""

from cumulus_ops.sources.delta.project import DeltaSource
from cumulus_ops.sources.delta.source import DeltaTables

__all__ = ["DeltaSource", "DeltaTables"]
