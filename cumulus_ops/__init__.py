"""Cumulus: SQL aggregates over changing data, always fresh, periodically consistent, proven right."""

from cumulus_ops import regexes
from m3.functions import search_with

search_with(regexes)
