"""The kinds of sources that a project may name beside its landing folder."""

from __future__ import annotations

import importlib
from typing import cast

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project, SourceSettings
from cumulus_ops.sources.source import Source, SourceKind

__all__ = ["KINDS", "make_source"]

#: kind -> where its class is; imported when a project names it.
KINDS = {
    "postgres": "cumulus_ops.sources.postgres:postgres_source",
    "debezium": "cumulus_ops.sources.debezium:DebeziumSource",
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
