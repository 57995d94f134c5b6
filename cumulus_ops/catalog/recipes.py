"""Recipes: how the runs of a commit came to be (docs/adr/0085). Written with the commit, never changed, and dropped with the last of its runs.

A recipe names batches, commits and epochs, and no files: these come and go. All say the revision whose plan was followed; and:

=================  ====================================================================================================
kind               recipe
=================  ====================================================================================================
apply              the commit that was read. Its batch is the one with this commit, which has read all up to there, and itself
correct            the commit up to which all batches that were live there have been corrected: these have read that, and the correction
refresh            the commit that was read, and since which one derived maps had not incorporated what came (exclusive)
merge              between which commits the runs were visible that were joined (both inclusive)
repair             the same of the runs that were made again
retract            the batch that was taken back
fill               the epochs that were filled: after the first, up to the second
switch             the commit up to which live batches were corrected, and the epoch before the revision's first one
start, forget      nothing: what is there before the first event; and no runs
=================  ====================================================================================================

So clocks, which are changed in place, follow from them as they were.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part
from cumulus_ops.catalog.records import Recipe

__all__ = ["CommitRecord", "Recipes", "forget_recipes"]


@dataclass(frozen=True)
class CommitRecord:
    """A commit, and what is still known of its recipe."""

    number: int
    kind: str
    committed_at: datetime.datetime
    rows: int
    recipe: Recipe


class Recipes(Part):
    """What is known of how runs came to be."""

    def commits(self, since: int = 0, upto: int | None = None) -> list[CommitRecord]:
        """Commits after one (exclusive) and up to another (inclusive; None: all), in their order."""
        c = t.commit.c
        query = select(c.number, c.kind, c.committed_at, c.rows, c.revision, c.read_at, c.recipe).where(
            c.number > since
        )
        rows = self._db.read((query if upto is None else query.where(c.number <= upto)).order_by(c.number))
        return [
            CommitRecord(number, kind, at, added, Recipe(read_at, **json.loads(text or "{}"), revision=revision))
            for number, kind, at, added, revision, read_at, text in rows
        ]


def forget_recipes(connection: Connection, commits: Collection[int]) -> None:
    """Drop the recipes of commits that have lost runs, if they have none any more: what they have added is in the runs of others."""
    left = set(connection.execute(select(t.run.c.commit).where(t.run.c.commit.in_(commits))).scalars())
    c = t.commit.c
    over = (c.number.in_(sorted({*commits} - left)), c.recipe.is_not(None))
    connection.execute(update(t.commit).where(*over).values(recipe=None))
