"""``kind: postgres``: the tables of a PostgreSQL database, as they were at first and then change by change.

A delivery is a range of the server's log, so its content follows from its begin and its end alone, whoever asks and whenever. The
position is committed by the catalog together with the events; the slot follows it, never leads: it is moved when a later poll shows
what is in the event log for good. So whatever dies at any moment, the next poll goes on exactly where the event log ends.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise

from cumulus_ops.errors import SetupProblem
from cumulus_ops.eventlog import Delivery, Part
from cumulus_ops.eventlog.cuts import PIECE_ROWS
from cumulus_ops.faults import reach
from cumulus_ops.sources.postgres.changes import Changes, has_changes
from cumulus_ops.sources.postgres.connection import opened
from cumulus_ops.sources.postgres.position import Position
from cumulus_ops.sources.postgres.publication import check_publication
from cumulus_ops.sources.postgres.settings import PostgresSettings
from cumulus_ops.sources.postgres.slot import advance, draw_slot, drop_left_over, find_slot, moved_on, whole_log
from cumulus_ops.sources.postgres.snapshot import InitialCopy, prepare

__all__ = ["PostgresSource"]


class PostgresSource:
    """A source of kind ``postgres``. It holds nothing between polls.

    Args:
        settings: of the source.
        rows: pieces of about so many rows are handed on at a time.
        committed: where the source is by the catalog; other processes move it.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        rows: int = PIECE_ROWS,
        committed: Callable[[], str | None] | None = None,
    ) -> None:
        self.name = settings.name
        self._settings, self._rows, self._committed = settings, rows, committed

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """The initial copy, or what was committed since, in portions of whole transactions.

        Raises:
            SetupProblem: the server does not answer; or this is not what the position is of, or what comes behind it is lost.
            Conflict: the source is not at the position any more.
        """
        if position is None:
            yield self._initial()
            return
        here = Position.parse(position)
        with self._unless_moved(position):
            ranges = self._ranges(here)
        for begin, end in ranges:
            yield self._delivery(here, position, begin, end)
            position = replace(here, lsn=end).text()

    def close(self) -> None:
        """Nothing is held."""

    def _initial(self) -> Delivery:
        with opened(self._settings) as session:
            prepare(session, self._settings)
            slot = draw_slot(self._settings)
            here, _ = whole_log(session, self._settings, slot)
        copy = InitialCopy(self._settings, slot, self._rows, lambda: self._has_moved(None))
        return Delivery(self.name, f"{self.name}-initial", _now(), copy.parts, None, here.text(), transactional=True)

    def _delivery(self, here: Position, before: str, begin: int, end: int) -> Delivery:
        """Its name is its begin: where it ends another poll may decide otherwise."""
        is_reached = partial(self._is_at, before)
        changes = Changes(self._settings, replace(here, lsn=begin), begin, end, self._rows, is_reached)
        return Delivery(
            self.name,
            f"{self.name}-{begin:016X}",
            _now(),
            partial(self._parts, changes, before),
            before,
            replace(here, lsn=end).text(),
            transactional=True,
        )

    def _parts(self, changes: Changes, before: str) -> tuple[Part, ...]:
        with self._unless_moved(before):
            return changes.parts()

    @contextmanager
    def _unless_moved(self, position: str) -> Iterator[None]:
        """What an old position meets is no problem: the slot has moved with the source."""
        try:
            yield
        except SetupProblem as problem:
            if self._has_moved(position):
                raise moved_on(self._settings) from problem
            raise

    def _is_at(self, position: str) -> bool:
        return self._committed is not None and self._committed() == position

    def _has_moved(self, position: str | None) -> bool:
        return self._committed is not None and self._committed() != position

    def _ranges(self, here: Position) -> list[tuple[int, int]]:
        """What to read of the log: (begin, end). A short range in which nothing concerns us waits until it is longer."""
        settings = self._settings
        with opened(settings) as session:
            slot, flushed = find_slot(session, settings, here)
            check_publication(session, settings)
            drop_left_over(session, settings, here.slot)
            begin = slot.confirmed if here.lsn is None else here.lsn
            advance(session, settings, slot, begin)
            reach("source.after-advance")
            is_short = flushed - begin <= settings.idle_bytes
            if is_short and not (begin < flushed and has_changes(session, settings, slot.name, flushed)):
                return []
        # the server reads its log from `restart` on each time: a portion is no shorter than what is read again for it
        portion = max(settings.portion_bytes, begin - slot.restart)
        return list(pairwise([*range(begin, flushed, portion), flushed]))


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
