"""Steps go on when what they need dies and comes back: the catalog's database, its connection, Spark Connect, a worker of Spark.

A step says what it does by what the catalog says is left to do. So one that has lost a connection is not continued in its middle, where nobody knows whether the last
transaction was committed: the project is closed, the part is waited for, the project is opened anew, with new connections and a new Spark session, and the step begins again. What was committed is
found there, by the name of the drop, the batch or the epoch, and is not done twice (decision 0084).
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from cumulus_ops.catalog.database import answers, is_lost
from cumulus_ops.compute.steps import is_spark_lost
from cumulus_ops.light import lazy_module
from cumulus_ops.project.errors import RevisionOver, SetupProblem
from cumulus_ops.project.interruptions import Interruption, note
from cumulus_ops.project.names import hide, plain_words
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project

if TYPE_CHECKING:
    from cumulus_ops.compute import spark
else:  # most steps lose nothing
    spark = lazy_module("cumulus_ops.compute.spark")

__all__ = ["resumes"]

P = ParamSpec("P")
R = TypeVar("R")
Place = TypeVar("Place", Project, str)
log = logging.getLogger(__name__)

CATALOG, SPARK = "the catalog's database", "Spark"
#: How long a part may be gone before a step fails, and how often it is looked for.
WAIT_S, FIRST_S, MOST_S = 300.0, 0.25, 5.0
#: So many losses in a row, none of them long after the one before, are no accident.
LOSSES, QUIET_S = 10, 60.0


def resumes(step: Callable[Concatenate[Place, P], R]) -> Callable[Concatenate[Place, P], R]:
    """A step that opens a project, and does so again when another revision is deployed meanwhile, or a part of what it needs is lost: what it has committed stays, and it does
    what is left. Its first argument is the project, or the project's folder."""

    @wraps(step)
    def resuming(place: Place, /, *args: P.args, **options: P.kwargs) -> R:
        losses = 0
        while True:
            begun = time.monotonic()
            try:
                return step(place, *args, **options)
            except RevisionOver as over:
                log.info("%s; it is opened again", over.message)
            except Exception as error:
                project = place if isinstance(place, Project) else load_project(Path(place))
                losses = 1 if time.monotonic() - begun > QUIET_S else losses + 1
                part = _lost_part(project, error)
                if part is None or losses > LOSSES:
                    raise
                _await(project, part, step.__name__.strip("_").partition("_")[0], error)

    return resuming


def _lost_part(project: Project, error: Exception) -> str | None:
    """Which part an error says is gone; None if it is about something else."""
    if is_lost(error) and not project.catalog_url.startswith("sqlite"):
        return CATALOG
    is_server_gone = isinstance(error, SetupProblem) and error.kind == "spark-unreachable"
    return SPARK if is_server_gone or is_spark_lost(error) else None


def _await(project: Project, part: str, step: str, error: Exception) -> None:
    """Wait until the part answers again, and note what has happened.

    Raises:
        Exception: the ``error``; the part was gone for too long.
    """
    from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_random_exponential

    since, why = time.time(), _first_line(project, error)
    log.warning("%s is gone: %s; it is waited for, %.0f s at most", part, why, WAIT_S)
    waiting = Retrying(
        retry=retry_if_result(lambda is_back: not is_back),
        wait=wait_random_exponential(FIRST_S, MOST_S),
        stop=stop_after_delay(WAIT_S),
    )
    try:
        waiting(lambda: answers(project.catalog_url) if part == CATALOG else _spark_answers(project))
    except RetryError:
        log.error("%s has been gone for %.0f s", part, WAIT_S)
        raise error from None
    until = time.time()
    log.warning("%s answers again after %.1f s: `%s` begins again, and does what is left", part, until - since, step)
    note(project.state, Interruption(part, since, until, why, f"`{step}` was done again"))


def _first_line(project: Project, error: Exception) -> str:
    text = error.message if isinstance(error, SetupProblem) else plain_words(str(getattr(error, "said", error)))
    found = re.sub(r"\s+", " ", next(iter(hide(text, project.urls).strip().splitlines()), ""))
    return found or type(error).__name__


def _spark_answers(project: Project) -> bool:
    """Whether a server listens; a Spark of this process is started when it is needed."""
    if not project.executor.remote:
        return True
    try:
        spark.require_listening(project.executor.remote)
    except OSError:
        return False
    return True
