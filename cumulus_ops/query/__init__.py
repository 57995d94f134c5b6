"""Reading the maintained views and maps."""

from cumulus_ops.query.answers import Answer, read_answer
from cumulus_ops.query.entries import read_map
from cumulus_ops.query.errors import described_error, newest_errors, view_error, views_in_error
from cumulus_ops.query.read import entries_to_read, failed_checks, failed_checks_upto, read_groups, read_view

__all__ = [
    "Answer",
    "described_error",
    "entries_to_read",
    "failed_checks",
    "failed_checks_upto",
    "newest_errors",
    "read_answer",
    "read_groups",
    "read_map",
    "read_view",
    "view_error",
    "views_in_error",
]
