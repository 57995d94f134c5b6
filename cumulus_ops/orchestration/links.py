"""From what Airflow shows to Cumulus's own pages: addresses, and the buttons of task instances that lead there."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import attrs
from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

from cumulus_ops.config import load_project

__all__ = [
    "EPOCH",
    "MOUNTED",
    "ROUTE",
    "ReportLink",
    "SnapshotLink",
    "absolute_page",
    "airflow_root",
    "page",
    "web_path",
]

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
