"""A program explained to a person: its views, maps and re-evaluated parts, and what an event costs."""

from m3.explain.access import Access, Scan, accesses, scans
from m3.explain.amount import Amount
from m3.explain.cost import Caused, TriggerCost, costs

from m3.explain.restrict import restrict

__all__ = [
    "Access",
    "Amount",
    "Caused",
    "Scan",
    "TriggerCost",
    "accesses",
    "costs",
    "explain",
    "restrict",
    "scans",
]
