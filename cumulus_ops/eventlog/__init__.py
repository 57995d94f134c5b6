"""The event log: read what sources deliver, validate, quarantine, deduplicate, stamp, append."""

from cumulus_ops.eventlog.append import append_drop, pending_drops
from cumulus_ops.eventlog.bootstrap import TABLES, land_tables
from cumulus_ops.eventlog.restamp import restamp

__all__ = ["TABLES", "append_drop", "land_tables", "pending_drops", "restamp"]
