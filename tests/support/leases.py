"""Leases in tests: time is not waited for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import create_engine, text

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.opening.runtime import Runtime

__all__ = ["another_process", "has_been_awaited", "lapse"]


def lapse(url: str) -> None:
    """As if nobody had renewed a lease for long: whoever wants to may pass their holders by."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE lease SET expires = 0"))
    engine.dispose()


def has_been_awaited(url: str) -> None:
    """As if others had waited for ever for those for whose seals they have begun to wait."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE member SET awaited_since = 0 WHERE awaited_since IS NOT NULL"))
    engine.dispose()


@contextmanager
def another_process(rt: Runtime) -> Iterator[Runtime]:
    """The same project with a catalog and a lease of its own, as another process has it."""
    catalog = Catalog(rt.project.catalog_url, rt.project.state)
    try:
        yield dataclasses.replace(rt, catalog=catalog)
    finally:
        catalog.close()
