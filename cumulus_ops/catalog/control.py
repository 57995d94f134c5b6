"""The program, its coordinators and their epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Connection, Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database, now
from cumulus_ops.catalog.records import SETTLED, NewRun, ProgramRecord
from cumulus_ops.errors import InputProblem, NotYet, SetupProblem

__all__ = ["Control"]


def _unknown(coordinator: int) -> InputProblem:
    return InputProblem(
        f"there is no coordinator {coordinator}", kind="unknown-coordinator", hint="see `cumulus status`"
    )


class Control(Database):
    """Who may do what next."""

    def register(self, record: ProgramRecord, start: Sequence[NewRun] = ()) -> None:
        """Register the program and its coordinators; does nothing when the same program is registered already.

        Args:
            record: the program.
            start: the runs with what is there before the first event; they become visible with the program.

        Raises:
            InputProblem: another program, or another number of coordinators, is registered.
        """
        try:
            self._register(record, start)
        except IntegrityError:  # somebody else registered first
            self._register(record, start)

    def registered(self) -> bool:
        """Whether a program is registered."""
        return bool(self._read(select(t.program.c.id)))

    def _register(self, record: ProgramRecord, start: Sequence[NewRun]) -> None:
        with self._engine.begin() as connection:
            existing = connection.execute(select(t.program)).first()
            if existing is None:
                self._insert_program(connection, record)
                if start:
                    self._commit(connection, self._lock(connection), "start", start)
            elif (existing.digest, existing.coordinators) != (record.digest, record.coordinators):
                raise InputProblem(
                    f"this catalog maintains another program ({existing.name}, {existing.coordinators} coordinators)",
                    kind="program-changed",
                    hint="use a new catalog and state folder for the changed program",
                )

    def _insert_program(self, connection: Connection, record: ProgramRecord) -> None:
        values = {name: getattr(record, name) for name in ProgramRecord.__dataclass_fields__}
        zeros = {
            "last_commit": 0,
            "next_ticket": 1,
            "merge_horizon": 0,
            "forgotten": 0,
            "token": 0,
            "oldest_readable": 0,
        }
        connection.execute(insert(t.program).values(id=1, **values, **zeros))
        connection.execute(
            insert(t.coordinator), [{"index": i, "epoch": 0, "next_sequence": 0} for i in range(record.coordinators)]
        )

    def program(self) -> ProgramRecord:
        """The registered program.

        Raises:
            SetupProblem: nothing is registered yet.
        """
        rows = self._read(select(*[t.program.c[name] for name in ProgramRecord.__dataclass_fields__]))
        if not rows:
            raise SetupProblem(
                "no program is registered in this catalog", kind="not-initialised", hint="run `cumulus init`"
            )
        return ProgramRecord(*rows[0])

    def position(self, coordinator: int) -> tuple[int, int]:
        """(open epoch, next sequence) of a coordinator."""
        c = t.coordinator.c
        rows = self._read(select(c.epoch, c.next_sequence).where(c.index == coordinator))
        if not rows:
            raise _unknown(coordinator)
        return rows[0][0], rows[0][1]

    def token(self) -> int:
        """The coordinator that may move to its next epoch."""
        return cast(int, self._read(select(t.program.c.token))[0][0])

    def seal(self, coordinator: int, epoch: int) -> None:
        """Seal ``epoch`` for a coordinator, move it to the next epoch and pass the token on; a no-op when done before.

        Raises:
            NotYet: the token is elsewhere, an earlier epoch is open, or a batch is not applied.
        """
        c = t.coordinator.c
        with self._engine.begin() as connection:
            # first of all: an append that is under way is waited for, and the next one will see that the epoch is over
            current = connection.execute(select(c.epoch).where(c.index == coordinator).with_for_update()).scalar()
            program = self._lock(connection)
            if current is None:
                raise _unknown(coordinator)
            if current > epoch:
                return
            self._check_sealable(connection, program, coordinator, epoch, current)
            connection.execute(insert(t.seal).values(coordinator=coordinator, epoch=epoch, sealed_at=now()))
            connection.execute(
                update(t.coordinator).where(c.index == coordinator).values(epoch=epoch + 1, next_sequence=0)
            )
            connection.execute(update(t.program).values(token=(coordinator + 1) % program.coordinators))

    def _check_sealable(
        self, connection: Connection, program: Row[Any], coordinator: int, epoch: int, current: int
    ) -> None:
        place = f"coordinator {coordinator}, epoch {epoch}"
        if current < epoch:
            raise NotYet(f"epoch {current} is still open", kind="earlier-epoch-open", place=place)
        if program.token != coordinator:
            raise NotYet(
                f"coordinator {program.token} has the token", kind="no-token", place=place, hint="it must seal first"
            )
        b = t.batch.c
        open_batches = select(func.count()).where(
            b.coordinator == coordinator, b.epoch == epoch, b.state.not_in(SETTLED)
        )
        if connection.execute(open_batches).scalar_one():
            raise NotYet("a batch is not applied yet", kind="batch-pending", place=place, hint="apply it first")

    def seals(self) -> dict[int, set[int]]:
        """epoch -> the coordinators that have sealed it."""
        result: dict[int, set[int]] = {}
        for coordinator, epoch in self._read(select(t.seal.c.coordinator, t.seal.c.epoch)):
            result.setdefault(epoch, set()).add(coordinator)
        return result
