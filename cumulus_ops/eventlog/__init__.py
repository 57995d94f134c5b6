"""The event log: read what sources deliver, validate, quarantine, deduplicate, stamp, append.

What reads files is imported on first use: who only asks what waits reads none.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cumulus_ops.eventlog.delivery import Delivery, Part, SealPart
from cumulus_ops.eventlog.raw import Malformed, RawFile

if TYPE_CHECKING:
    from cumulus_ops.eventlog.append import append_delivery
    from cumulus_ops.eventlog.bootstrap import TABLES, land_tables

__all__ = ["TABLES", "Delivery", "Malformed", "Part", "RawFile", "SealPart", "append_delivery", "land_tables"]

_HOMES = {"TABLES": "bootstrap", "append_delivery": "append", "land_tables": "bootstrap"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"cumulus_ops.eventlog.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
