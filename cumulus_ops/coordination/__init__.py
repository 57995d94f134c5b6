"""How much order a program needs (Blazes, sections 4 and 5, for the case that matters most here), and its versions accordingly."""

from cumulus_ops.coordination.schemes import (
    BatchVersions,
    EventVersions,
    Place,
    Stamped,
    VersionScheme,
    scheme_named,
)

__all__ = ["BatchVersions", "EventVersions", "Place", "Stamped", "VersionScheme", "scheme_named"]
