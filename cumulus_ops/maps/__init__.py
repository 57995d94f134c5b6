"""The map store: versioned, sorted, immutable runs, one copy of a map per access path."""
