"""Sources that stand still: whoever asks a source says so here, and whoever looks at the project need not ask it."""

from __future__ import annotations

from sqlalchemy import delete, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database, now
from cumulus_ops.catalog.intake import StandingSource
from cumulus_ops.catalog.membership import moment_of

__all__ = ["SourceProblems"]


class SourceProblems(Database):
    """What is the matter with sources, by their names."""

    def standing_sources(self) -> list[StandingSource]:
        """Those that stand still, by name."""
        p = t.source_problem.c
        rows = self._read(select(p.source, p.problem, p.since).order_by(p.source))
        return [StandingSource(source, problem, moment_of(since)) for source, problem, since in rows]

    def source_stands_still(self, source: str, problem: str) -> None:
        """Record that it does; since when, is what it was if it did before."""
        p = t.source_problem.c
        with self._engine.begin() as connection:
            self._lock(connection)
            if (
                connection.execute(update(t.source_problem).where(p.source == source).values(problem=problem)).rowcount
                == 0
            ):
                values = {"source": source, "problem": problem, "since": now().timestamp()}
                connection.execute(insert(t.source_problem).values(**values))

    def source_goes_on(self, source: str) -> None:
        """Record that it does; costs a read if it had not stood still."""
        p = t.source_problem.c
        if self._read(select(p.source).where(p.source == source)):
            with self._engine.begin() as connection:
                connection.execute(delete(t.source_problem).where(p.source == source))

    def last_epochs_of_sources(self) -> dict[str, int]:
        """source -> the last epoch that something of it is in."""
        s = t.source_epoch.c
        return {row[0]: int(row[1]) for row in self._read(select(s.source, func.max(s.epoch)).group_by(s.source))}
