"""The assets by which DAGs wake each other. An event is a wake-up call; the catalog is the truth."""

from __future__ import annotations

from airflow.sdk import Asset

from cumulus_ops import names

__all__ = ["seal_asset", "snapshot_asset"]


def seal_asset(project: str, coordinator: int) -> Asset:
    """Updated when ``coordinator`` seals an epoch: partition key and ``extra["epoch"]`` say which."""
    return Asset(
        name=names.seal_asset(project, coordinator),
        uri=f"cumulus://{project}/seal/{coordinator}",
        group=project,
        extra={"coordinator": coordinator},
    )


def snapshot_asset(project: str) -> Asset:
    """Updated when snapshots are committed and published; ``extra["epochs"]`` says which, and
    ``extra["in_error"]`` which views are in error in the newest, and why."""
    return Asset(name=names.snapshot_asset(project), uri=f"cumulus://{project}/snapshot", group=project)
