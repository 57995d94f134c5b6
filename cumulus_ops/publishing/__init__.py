"""What readers see: each view as a Delta table, a version per snapshot, and the rows that are final before."""
