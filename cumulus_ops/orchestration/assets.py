"""The assets by which DAGs wake each other. An event is a wake-up call; the catalog is the truth."""

from __future__ import annotations

from airflow.sdk import Asset

from cumulus_ops import names
from cumulus_ops.orchestration.links import absolute_page

__all__ = ["epoch_asset", "seal_asset", "snapshot_asset", "value_asset"]


def seal_asset(project: str, coordinator: int) -> Asset:
    """Updated when ``coordinator`` seals epochs: ``extra`` has the ``first`` and the ``last`` of them, which is the partition key."""
    return Asset(
        name=names.seal_asset(project, coordinator),
        uri=f"cumulus://{project}/seal/{coordinator}",
        group=project,
        extra={"coordinator": coordinator},
    )


def epoch_asset(project: str) -> Asset:
    """Updated when the last member of an epoch has sealed it: ``extra`` has the ``first`` and the ``last`` of those that await their
    snapshots, the partition key is the last. An epoch to which nothing was appended does not wait: it repeats the snapshot before it."""
    return Asset(name=names.epoch_asset(project), uri=f"cumulus://{project}/epoch", group=project)


def snapshot_asset(project: str) -> Asset:
    """Updated when snapshots are committed and published, not when nothing has changed. ``extra["epochs"]`` of the event says which
    await validation, ``extra["in_error"]`` which views are in error in the newest, and why, and ``extra["report"]`` where its report is,
    or will be. The asset's own extra leads to the pages."""
    extra = {"pages": absolute_page(project, "")}
    return Asset(name=names.snapshot_asset(project), uri=f"cumulus://{project}/snapshot", group=project, extra=extra)


def value_asset(project: str, relation: str, seal: str) -> Asset:
    """Updated when the vote on a value is unanimous: all its producers have sealed it. The partition key is the value's text."""
    return Asset(
        name=names.value_asset(project, relation, seal),
        uri=f"cumulus://{project}/closed/{relation}/{seal}",
        group=project,
    )
