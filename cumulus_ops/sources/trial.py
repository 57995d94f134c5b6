"""A source that kills who asks it, or reads what it hands over, is tried in a process of its own first.

What a file of a drop holds can be handed from process to process, since a file is a file. What a source hands over is made by its class, and
may be divided otherwise when it is asked again; so the trial only shows whether it can be lived through.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cumulus_ops.apart import ChildDied, run_apart
from cumulus_ops.catalog import Catalog, NewFileAside
from cumulus_ops.config import Project
from cumulus_ops.errors import CumulusError, SetupProblem
from cumulus_ops.sources.kinds import make_source

__all__ = ["try_source"]

#: The kind of problem of a source that ends the processes that ask it.
KILLS = "kills-reader"
#: So many deliveries are asked for in a trial.
DELIVERIES = 2
#: A database parses nothing here, and asking it makes slots there.
NEVER = "postgres"


def try_source(project: Project, name: str, begin: str | None, delivery: str | None = None) -> None:
    """Ask a source in a process of its own, and read a delivery of it.

    Args:
        project: the project.
        name: of the source.
        begin: the position to ask from.
        delivery: the name of what is read; None to ask only.

    Raises:
        SetupProblem: that process died of it. Whatever else went wrong there is for who asks next to meet, and to say.
    """
    settings = next((s for s in project.sources if s.name == name), None)
    if settings is None or settings.kind == NEVER:
        return
    try:
        for _ in run_apart(f"{__name__}:ask_here", project, name, begin, delivery):
            pass
    except ChildDied as death:
        what = "asking it" if delivery is None else f"reading {delivery}"
        message = f"{what} ends each process that tries; of one that did nothing else, {death.message}"
        hint = "mend, or take away, the file or the table that it reads; it is tried again, in a process of its own, after a while"
        raise SetupProblem(message, kind=KILLS, place=f"source {name}", hint=hint) from death
    except CumulusError:
        return


def ask_here(project: Project, name: str, begin: str | None, delivery: str | None) -> Iterator[bytes]:
    """What the other process does."""
    catalog = Catalog(project.catalog_url, project.state)
    source = make_source(project, next(s for s in project.sources if s.name == name), catalog)
    try:
        for found in islice(source.poll(begin), DELIVERIES):
            for part in found.parts() if found.name == delivery else ():
                if not isinstance(part, NewFileAside):
                    for raw in part.read():
                        raw.columns.validate(full=True)
    finally:
        source.close()
        catalog.close()
    yield from ()
