"""How much order a program needs (Blazes, sections 4 and 5, for the case that matters most here), and its versions accordingly.

What names nothing of versions is light: DAG files read plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cumulus_ops.coordination.schemes import (
        BatchVersions,
        EventVersions,
        Place,
        Stamped,
        VersionScheme,
        scheme_named,
    )

__all__ = ["BatchVersions", "EventVersions", "Place", "Stamped", "VersionScheme", "scheme_named"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cumulus_ops.coordination import schemes

    return getattr(schemes, name)
