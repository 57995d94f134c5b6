"""The catalog: the control plane of a project, in one database.

Every method of its parts that changes something is one transaction, and can be run twice: the second run finds its work done and
says so, or raises :class:`~cumulus_ops.project.errors.Conflict` and changes nothing. Which transaction belongs to which part, what it
locks and what it checks, says :mod:`cumulus_ops.catalog.database`.
"""

from __future__ import annotations

from pathlib import Path

from cumulus_ops.catalog.asides import Asides
from cumulus_ops.catalog.backups import Backups
from cumulus_ops.catalog.commits import Commits
from cumulus_ops.catalog.database import Database
from cumulus_ops.catalog.deliveries import Deliveries
from cumulus_ops.catalog.finals import Finals
from cumulus_ops.catalog.history import History
from cumulus_ops.catalog.installation import Installation
from cumulus_ops.catalog.key_indexes import KeyIndexes
from cumulus_ops.catalog.leases import Leases
from cumulus_ops.catalog.log import EventLog
from cumulus_ops.catalog.members import Members
from cumulus_ops.catalog.net_tables import NetTables
from cumulus_ops.catalog.problems import Problems
from cumulus_ops.catalog.program import RegisteredProgram
from cumulus_ops.catalog.recipes import Recipes
from cumulus_ops.catalog.repairs import Repairs
from cumulus_ops.catalog.results import Results
from cumulus_ops.catalog.revisions import Revisions
from cumulus_ops.catalog.seals import Seals
from cumulus_ops.catalog.snapshots import Snapshots
from cumulus_ops.catalog.votes import Votes

__all__ = ["Catalog"]


class Catalog:
    """The catalog at one database URL, by its parts, in the order in which an event meets them.

    Args:
        url: the database.
        root: the state folder that its rows' paths are relative to. With it, what is committed must be there.
    """

    def __init__(self, url: str, root: Path | None = None) -> None:
        self.database = Database(url, root)
        #: Who is at work with files, and which files nobody needs.
        self.leases = Leases(self.database)
        #: Whose this is, what it maintains, and who takes part.
        self.installation = Installation(self.database, self.leases)
        self.program = RegisteredProgram(self.database)
        self.members = Members(self.database)
        #: What comes in, and is appended.
        self.deliveries = Deliveries(self.database)
        self.key_indexes = KeyIndexes(self.database)
        self.seals = Seals(self.database)
        self.log = EventLog(self.database, self.seals)
        self.net_tables = NetTables(self.database)
        #: What is computed from it, and what cannot be.
        self.commits = Commits(self.database, self.leases)
        self.recipes = Recipes(self.database)
        self.asides = Asides(self.database)
        #: What is to be maintained next.
        self.revisions = Revisions(self.database, self.leases)
        #: How epochs end, and what is final before.
        self.votes = Votes(self.database)
        self.finals = Finals(self.database)
        self.snapshots = Snapshots(self.database)
        self.results = Results(self.database)
        #: What is left of this catalog when it is lost.
        self.backups = Backups(self.database)
        #: What people are shown.
        self.history = History(self.database)
        self.problems = Problems(self.database)
        #: What is damaged.
        self.repairs = Repairs(self.database, self.leases)

    def close(self) -> None:
        """End this process's lease, and release all connections."""
        self.leases.end()
        self.database.close()
