"""The event log: read what sources deliver, validate, quarantine, deduplicate, stamp, append."""

from cumulus_ops.eventlog.append import append_drop, pending_drops

__all__ = ["append_drop", "pending_drops"]
