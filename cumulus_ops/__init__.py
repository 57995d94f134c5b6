"""Cumulus: SQL aggregates over changing data, always fresh, periodically consistent, proven right."""
