"""What waits to be appended for a coordinator."""

from __future__ import annotations

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project
from cumulus_ops.eventlog import Delivery
from cumulus_ops.sources.landing import Landing
from cumulus_ops.sources.source import Source

__all__ = ["pending", "sources_of"]


def sources_of(project: Project, catalog: Catalog, coordinator: int) -> list[Source]:
    """The sources that a coordinator takes events from."""
    return [Landing(project, catalog, coordinator)]


def pending(project: Project, catalog: Catalog, coordinator: int) -> list[Delivery]:
    """Deliveries that are not in the log yet, source by source, in the order in which they are to be appended."""
    return [
        delivery
        for source in sources_of(project, catalog, coordinator)
        for delivery in source.poll(catalog.source_position(source.name))
    ]
