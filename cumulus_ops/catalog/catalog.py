"""The catalog's reads and transactions.

Every method that changes something is one transaction, and can be run twice: the second run finds its work done and
says so, or raises :class:`~cumulus_ops.project.errors.Conflict` and changes nothing.
"""

from __future__ import annotations

from cumulus_ops.catalog.asides import Asides
from cumulus_ops.catalog.commits import Commits
from cumulus_ops.catalog.control import Control, StepProblems
from cumulus_ops.catalog.deliveries import Deliveries, KeyIndexes, SourceProblems
from cumulus_ops.catalog.finals import Finals
from cumulus_ops.catalog.generations import Generations
from cumulus_ops.catalog.history import History
from cumulus_ops.catalog.log import EventLog
from cumulus_ops.catalog.members import Boundaries, Members
from cumulus_ops.catalog.results import Results, Retention, ViewErrors
from cumulus_ops.catalog.seals import Seals

__all__ = ["Catalog"]


class Catalog(
    Control,
    Members,
    Boundaries,
    Seals,
    Deliveries,
    SourceProblems,
    StepProblems,
    EventLog,
    KeyIndexes,
    Commits,
    Asides,
    Results,
    Retention,
    ViewErrors,
    Finals,
    Generations,
    History,
):
    """The catalog at one database URL; its parts, one per stage of the data flow, are its base classes.

    Args:
        url: the database.
        root: the state folder that its rows' paths are relative to. With it, what is committed must be there.
    """
