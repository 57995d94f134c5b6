"""The assets by which DAGs wake each other, and links from them to Cumulus's pages. An event is a wake-up call; the catalog is the truth."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import attrs
from airflow.sdk import Asset, BaseOperatorLink
from airflow.sdk.configuration import conf

from cumulus_ops.project import names
from cumulus_ops.project.project_file import load_project

__all__ = [
    "EPOCH",
    "MOUNTED",
    "ROUTE",
    "ReportLink",
    "SnapshotLink",
    "absolute_page",
    "airflow_root",
    "epoch_asset",
    "page",
    "project_folder",
    "snapshot_asset",
    "value_asset",
    "vote_asset",
    "web_path",
]


def vote_asset(project: str, coordinator: int) -> Asset:
    """Updated when ``coordinator`` votes to end epochs: ``extra`` has the ``first`` and the ``last`` of them, which is the partition key."""
    return Asset(
        name=names.vote_asset(project, coordinator),
        uri=f"cumulus://{project}/vote/{coordinator}",
        group=project,
        extra={"coordinator": coordinator},
    )


def epoch_asset(project: str) -> Asset:
    """Updated when the last member of an epoch has voted to end it: ``extra`` has the ``first`` and the ``last`` of those that await their
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


# Which project Airflow works for.


EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tpch"


def project_folder() -> Path:
    """The folder that CUMULUS_PROJECT names; without it, that of the TPC-H example."""
    return Path(os.environ.get("CUMULUS_PROJECT") or EXAMPLE)


# From what Airflow shows to Cumulus's own pages: addresses, and the buttons of task instances that lead there.


#: Where the pages are served, and by which name Airflow's UI frames them.
MOUNTED, ROUTE = "/cumulus", "cumulus"
#: The XCom by which a task says which epoch its button is about.
EPOCH = "epoch"


def web_path(*parts: object) -> str:
    """The path of a page as it is served: a folder's without parts."""
    return f"{airflow_root()}{MOUNTED}/{'/'.join(quote(str(part), safe='') for part in parts)}"


def page(*parts: object) -> str:
    """The path of a page within Airflow's UI, which shows it in a frame beside its own navigation."""
    return f"{airflow_root()}/plugin/{ROUTE}{web_path(*parts)}"


def absolute_page(*parts: object) -> str:
    """The same with Airflow's host, if its configuration names it."""
    host = urlsplit(_base_url())
    return f"{host.scheme}://{host.netloc}{page(*parts)}" if host.netloc else page(*parts)


def _base_url() -> str:
    return str(conf.get("api", "base_url", fallback="") or "")


def airflow_root() -> str:
    """The path at which Airflow's UI is served on its host, without a slash at its end."""
    return urlsplit(_base_url()).path.rstrip("/")


@attrs.define()
class _EpochLink(BaseOperatorLink):  # type: ignore[misc]
    """A button that leads to a page about the epoch that the task has named; to the list of epochs if it has named none."""

    parts: tuple[str, ...] = ()

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The page's path, asked when the task has ended, well or not."""
        from airflow.sdk.execution_time.xcom import XCom

        project = load_project(Path(operator.folder)).name
        epoch = XCom.get_value(ti_key=ti_key, key=EPOCH)
        return page(project, "epochs") if epoch is None else page(project, "epochs", epoch, *self.parts)


@attrs.define()
class ReportLink(_EpochLink):
    """To the report of the epoch."""

    name = "Report"
    parts: tuple[str, ...] = ("report",)


@attrs.define()
class SnapshotLink(_EpochLink):
    """To the page about the epoch."""

    name = "Snapshot"
