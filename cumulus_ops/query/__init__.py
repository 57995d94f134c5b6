"""Reading the maintained views and maps."""

from cumulus_ops.query.errors import described_error, newest_errors, view_error, views_in_error
from cumulus_ops.query.lag import Lag, lags
from cumulus_ops.query.overview import EpochStory, Overview, ViewState, epoch_story, overview, view_states
from cumulus_ops.query.read import failed_checks, failed_checks_upto, read_groups, read_map, read_view

__all__ = [
    "EpochStory",
    "Lag",
    "Overview",
    "ViewState",
    "described_error",
    "epoch_story",
    "failed_checks",
    "failed_checks_upto",
    "lags",
    "newest_errors",
    "overview",
    "read_groups",
    "read_map",
    "read_view",
    "view_error",
    "view_states",
    "views_in_error",
]
