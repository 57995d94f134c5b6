"""Reading the maintained views and maps."""

from cumulus_ops.query.read import read_groups, read_map, read_view

__all__ = ["read_groups", "read_map", "read_view"]
