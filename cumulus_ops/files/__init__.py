"""Files as columns, without losing a digit: those that land, and those of the event log."""
