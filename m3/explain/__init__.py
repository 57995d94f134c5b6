"""A program explained to a person: its views, maps and re-evaluated parts, and what an event costs."""

from m3.explain.access import Access, accesses
from m3.explain.amount import Amount
from m3.explain.cost import Caused, TriggerCost, costs
from m3.explain.report import explain
from m3.explain.restrict import restrict
from m3.explain.scans import Scan, scans

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
