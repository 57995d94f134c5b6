"""Reading the maintained views and maps."""

from cumulus_ops.query.read import failed_checks, read_groups, read_map, read_view

__all__ = ["failed_checks", "read_groups", "read_map", "read_view"]
