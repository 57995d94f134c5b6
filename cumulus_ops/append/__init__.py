"""The event log: read what sources deliver, validate, quarantine, deduplicate, stamp, append.

What reads files is imported on first use: who only asks what waits reads none.
"""
