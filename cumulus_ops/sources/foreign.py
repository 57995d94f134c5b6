"""The boundary to sources: whatever goes wrong in one, in code of ours or of others, is the source's problem, in words.

A source is asked in four places: when it is made, polled, opened (``parts``) and read. Each of them may raise anything.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TypeVar, cast

from cumulus_ops.append.delivery import Delivery, Part, SealPart
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import NewFileAside
from cumulus_ops.project.errors import CumulusError, SetupProblem
from cumulus_ops.project.processes import ChildDied, run_apart
from cumulus_ops.project.settings import Project, SourceSettings
from cumulus_ops.sources.drops import name_problem
from cumulus_ops.sources.source import Source, SourceKind

__all__ = ["KINDS", "deliveries_of", "explain_errors", "make_source", "try_source"]


# The kinds of sources that a project may name beside its landing folder.


#: kind -> where its class is; imported when a project names it.
KINDS = {
    "postgres": "cumulus_ops.sources.postgres.source:postgres_source",
    "debezium": "cumulus_ops.sources.debezium.source:DebeziumSource",
    "delta": "cumulus_ops.sources.delta:DeltaSource",
}


def make_source(project: Project, settings: SourceSettings, catalog: Catalog) -> Source:
    """The source that a part of ``cumulus.yaml`` describes; nothing is opened yet.

    Raises:
        InputProblem: there is no such kind, or an option is wrong.
    """
    return kind_of(settings)(project, settings, catalog)


def kind_of(settings: SourceSettings) -> SourceKind:
    """The class of a kind: one of :data:`KINDS`, or ``package.module:Class``."""
    module, _, name = KINDS.get(settings.kind, settings.kind).partition(":")
    if not name:
        hint = f"one of {', '.join(KINDS)}, or package.module:Class for your own"
        raise settings.item.problem(f"unknown kind {settings.kind!r}", kind="unknown-source-kind", hint=hint)
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        hint = "install its package in this environment; the class is named package.module:Class"
        raise settings.item.problem(
            f"cannot import {settings.kind}: {error}", kind="no-source-kind", hint=hint
        ) from error
    return cast(SourceKind, found)


T = TypeVar("T")


@contextmanager
def explain_errors(source: str) -> Iterator[None]:
    """Any exception as a problem of a source.

    Raises:
        SetupProblem: something went wrong that it says nothing of.
    """
    try:
        yield
    except CumulusError:
        raise
    except Exception as error:
        hint = "it is asked again after a while; if it stays so, see what its class does"
        message = f"{type(error).__name__}: {error}"
        raise SetupProblem(message, kind="source-failed", place=f"source {source}", hint=hint) from error


def deliveries_of(source: str, poll: Callable[[], Iterable[Delivery]]) -> Iterator[Delivery]:
    """What a source hands over, each with guarded parts.

    Args:
        source: its name.
        poll: asks it.
    """
    return (replace(d, parts=partial(_parts, source, d.parts)) for d in map(_check_name, _guard(source, poll)))


def _check_name(delivery: Delivery) -> Delivery:
    """A delivery with a name that the catalog can keep.

    Raises:
        SetupProblem: it has another.
    """
    problem = "its name has a NUL" if "\0" in delivery.name else name_problem(delivery.name)
    if problem is None:
        return delivery
    hint = "the class of the source names its deliveries: give it shorter names, without NUL"
    message = f"cannot hand over {delivery.name[:40]!r}: {problem}"
    raise SetupProblem(message, kind="bad-name", place=f"source {delivery.source}", hint=hint)


def _parts(
    source: str, parts: Callable[[], Iterable[Part | SealPart | NewFileAside]]
) -> list[Part | SealPart | NewFileAside]:
    return [
        part if isinstance(part, NewFileAside) else replace(part, read=partial(_guard, source, part.read))
        for part in _guard(source, parts)
    ]


def _guard(source: str, ask: Callable[[], Iterable[T]]) -> Iterator[T]:
    with explain_errors(source):
        found = iter(ask())
    while True:
        with explain_errors(source):
            one = next(found, None)
        if one is None:
            return
        yield one


# A source that kills who asks it, or reads what it hands over, is tried in a process of its own first.
#
# What a file of a drop holds can be handed from process to process, since a file is a file. What a source hands over is made by its class, and
# may be divided otherwise when it is asked again; so the trial only shows whether it can be lived through.


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
