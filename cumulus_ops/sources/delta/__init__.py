"""``kind: delta``: the change data feed of Delta tables."""

from cumulus_ops.sources.delta.source import DeltaSource

__all__ = ["DeltaSource"]
