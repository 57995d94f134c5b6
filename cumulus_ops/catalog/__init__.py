"""The control plane: one mutable database, the commit point of everything.

Its records are known in many places, the database library only where the catalog is opened: it is imported on first use.
"""
