"""The event log: read what sources deliver, validate, quarantine, deduplicate, stamp, append."""

from cumulus_ops.eventlog.append import append_delivery
from cumulus_ops.eventlog.bootstrap import TABLES, land_tables
from cumulus_ops.eventlog.delivery import Delivery, Part
from cumulus_ops.eventlog.restamp import drop, restamp

__all__ = ["TABLES", "Delivery", "Part", "append_delivery", "drop", "land_tables", "restamp"]
