"""Telling of steps that fail: in the catalog, where whoever looks at the project sees it, also if nobody reads the scheduler's logs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project
from cumulus_ops.engine import Runtime
from cumulus_ops.errors import Conflict, CumulusError, NotYet
from cumulus_ops.urls import hide

__all__ = ["watched", "watched_task"]

log = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")
#: The attribute of an exception of which the catalog knows.
TOLD = "cumulus_told"


def watched(step: str) -> Callable[[Callable[Concatenate[Runtime, P], R]], Callable[Concatenate[Runtime, P], R]]:
    """A step whose failure the catalog shall know, until it succeeds: a function of a runtime. If a coordinator does it, that is the next argument.

    What makes somebody come again, a conflict or a condition that does not hold yet, is no failure. Neither is a step's failure that of the step around it.
    """

    def decorate(function: Callable[Concatenate[Runtime, P], R]) -> Callable[Concatenate[Runtime, P], R]:
        @wraps(function)
        def watching(rt: Runtime, /, *args: P.args, **kwargs: P.kwargs) -> R:
            first = args[0] if args else kwargs.get("coordinator")
            coordinator = first if step in OF_COORDINATORS and isinstance(first, int) else None
            try:
                done = function(rt, *args, **kwargs)
            except (Conflict, NotYet):
                raise
            except Exception as error:
                _tell(rt.catalog, rt.project, step, coordinator, error)
                raise
            rt.catalog.step_succeeds(step, coordinator)
            return done

        return watching

    return decorate


#: The steps that each coordinator does for itself.
OF_COORDINATORS = ("apply", "seal")


@contextmanager
def watched_task(project: Project, step: str, coordinator: int | None, log_address: str) -> Iterator[None]:
    """A task around steps, and around opening the project: when it fails for anything else than one of them, the catalog is told in the step's name.

    Args:
        project: the project.
        step: which the task is there for.
        coordinator: whose, None for a step of the whole project.
        log_address: where people find the task's log.
    """
    try:
        yield
    except Exception as error:
        if not hasattr(error, TOLD):
            try:
                catalog = Catalog(project.catalog_url)
                catalog.log_address = log_address
            except CumulusError:
                raise error from None
            _tell(catalog, project, step, coordinator, error)
            catalog.close()
        raise


def _tell(catalog: Catalog, project: Project, step: str, coordinator: int | None, error: Exception) -> None:
    """Record it. If the catalog is what fails, there is nobody to tell, and those who look find it out."""
    if hasattr(error, TOLD):
        return
    try:
        catalog.step_fails(step, coordinator, getattr(error, "kind", type(error).__name__), described(project, error))
        error.cumulus_told = True  # type: ignore[attr-defined]
    except Exception:
        log.warning("the catalog could not be told that %s fails", step)


def described(project: Project, error: Exception) -> str:
    """What an error says, without secrets of the project's."""
    text = str(error) if isinstance(error, CumulusError) else f"{type(error).__name__}: {error}"
    return hide(text, project.urls)
