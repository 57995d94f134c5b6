"""The values of seals in one append: whose events are refused because their value is sealed, for which values it registers, and which it seals.

Values are looked at set at a time: of each piece of rows the different ones, and of those the ones that this process has not seen open yet.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog import Catalog, SealChange, Sealing, ValueState
from cumulus_ops.config import Project, SealSettings
from cumulus_ops.eventlog.checks import Reason
from cumulus_ops.eventlog.rejected import rejected_rows
from cumulus_ops.eventlog.seal_texts import VALUE_CHARACTERS, distinct_texts, seal_texts
from cumulus_ops.eventlog.types import OFFSET, REJECTED_SCHEMA, SIGN

__all__ = ["SealStage"]

SEALED = "sealed-value"
PART = Reason("part", "part of a rejected event")


class SealStage:
    """Judges the events of one append by their values, and collects what it says of values.

    Args:
        project: has the seals.
        catalog: knows what is sealed.
        coordinator: who appends.
    """

    def __init__(self, project: Project, catalog: Catalog, coordinator: int) -> None:
        self._project, self._catalog, self._coordinator = project, catalog, coordinator
        self._number, self._known = catalog.known_open(coordinator) if project.seals else (0, frozenset())
        self._found: set[tuple[str, str, str]] = set()
        self._reasons: dict[tuple[str, str], dict[str, Reason | None]] = defaultdict(dict)
        self._registers: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self._seals: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)

    def judge(self, relation: str, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The events whose values are open, and the rows of the others, with the reasons. What a delete by key deletes is not known yet
        (:meth:`refuser`)."""
        found, reasons = np.full(len(rows), -1), list[Reason]()
        for seal in self._project.seals.get(relation, ()) if len(rows) else ():
            asked = self._asked(relation, seal, rows)
            self._mark(relation, seal, rows.filter(pa.array(asked)), found, np.flatnonzero(asked), reasons)
        if not reasons:
            return rows, REJECTED_SCHEMA.empty_table()
        offsets = rows[OFFSET].to_numpy()
        found[np.isin(offsets, offsets[found >= 0]) & (found < 0)] = len(reasons)
        return rows.filter(pa.array(found < 0)), _rejected(rows, found, [*reasons, PART])

    def refuser(self, relation: str) -> Callable[[pa.Table], Mapping[int, Reason]] | None:
        """What says which of the rows that updates and deletes by key would take away are of values that are not open, by their places; None
        if the events tell that themselves."""
        if not any(self._is_beside_key(relation, seal) for seal in self._project.seals.get(relation, ())):
            return None
        return lambda old: self._refused(relation, old)

    def take(self, relation: str, rows: pa.Table) -> None:
        """Register for the values of accepted rows."""
        for seal in self._project.seals.get(relation, ()) if len(rows) else ():
            texts = distinct_texts(rows, seal.columns)
            self._look_up(relation, seal, texts)
            self._register(relation, seal, texts)

    def announce(self, relation: str, seal: SealSettings, rows: pa.Table) -> pa.Table:
        """Register for the values in rows of the seal's columns. Returns those that are rejected."""
        return self._say(relation, seal, rows, self._register, refused=(SEALED,))

    def seal(self, relation: str, seal: SealSettings, rows: pa.Table) -> pa.Table:
        """Seal the values in rows of the seal's columns, once all events are judged. What is sealed already stays so.

        Returns:
            the rows that are rejected.
        """
        return self._say(relation, seal, rows, self._seal_values)

    def sealing(self) -> Sealing | None:
        """What the append says of values; None if nothing is ever sealed."""
        if not self._project.seals:
            return None
        return Sealing(self._number, tuple(self._changes()), frozenset(self._found))

    def _changes(self) -> list[SealChange]:
        seals = [(relation, seal) for relation, of in self._project.seals.items() for seal in of]
        changes = (
            SealChange(
                relation,
                seal.name,
                seal.producers,
                tuple(self._registers[relation, seal.name]),
                tuple(self._seals[relation, seal.name]),
            )
            for relation, seal in seals
        )
        return [change for change in changes if change.registers or change.seals]

    def _is_beside_key(self, relation: str, seal: SealSettings) -> bool:
        """Whether an update by key may take a row from one value to another."""
        settings = self._project.keys.get(relation)
        if settings is None or settings.mode != "upsert":
            return False
        key = next(r.key for r in self._project.relations if r.name == relation)
        return not {*seal.columns} <= {*key}

    def _asked(self, relation: str, seal: SealSettings, rows: pa.Table) -> np.ndarray:
        """Which rows have their value."""
        if self._is_beside_key(relation, seal):
            return np.asarray(rows[SIGN].to_numpy() != -1)
        return np.ones(len(rows), bool)

    def _refused(self, relation: str, old: pa.Table) -> dict[int, Reason]:
        found, reasons = np.full(len(old), -1), list[Reason]()
        for seal in self._project.seals.get(relation, ()):
            if self._is_beside_key(relation, seal):
                self._mark(relation, seal, old, found, np.arange(len(old)), reasons)
        return {int(i): reasons[found[i]] for i in np.flatnonzero(found >= 0)}

    def _mark(
        self,
        relation: str,
        seal: SealSettings,
        rows: pa.Table,
        found: np.ndarray,
        places: np.ndarray,
        reasons: list[Reason],
        refused: Sequence[str] = (SEALED,),
    ) -> None:
        """Note in ``found``, at the places of rows that have no reason yet, the place in ``reasons`` of theirs."""
        if len(rows) == 0:
            return
        texts = distinct_texts(rows, seal.columns)
        self._look_up(relation, seal, texts)
        known = self._reasons[relation, seal.name]
        bad = {v: r for v in texts if (r := known.get(v)) is not None and (r.kind != SEALED or r.kind in refused)}
        if not bad:
            return
        hit = pc.fill_null(pc.index_in(seal_texts(rows, seal.columns), value_set=pa.array(list(bad))), -1).to_numpy()
        new = (hit >= 0) & (found[places] < 0)
        found[places[new]] = hit[new] + len(reasons)
        reasons += bad.values()

    def _say(
        self,
        relation: str,
        seal: SealSettings,
        rows: pa.Table,
        what: Callable[[str, SealSettings, Sequence[str]], None],
        refused: Sequence[str] = (),
    ) -> pa.Table:
        if len(rows) == 0:
            return REJECTED_SCHEMA.empty_table()
        found, reasons = np.full(len(rows), -1), list[Reason]()
        self._mark(relation, seal, rows, found, np.arange(len(rows)), reasons, refused)
        what(relation, seal, distinct_texts(rows.filter(pa.array(found < 0)), seal.columns))
        return _rejected(rows, found, reasons)

    def _look_up(self, relation: str, seal: SealSettings, texts: Sequence[str]) -> None:
        """Get to know values that this process has not seen open."""
        reasons = self._reasons[relation, seal.name]
        new = [v for v in texts if v not in reasons and (relation, seal.name, v) not in self._known]
        states = self._catalog.value_states(self._coordinator, relation, seal.name, new) if new else {}
        for value in new:
            state = states.get(value, ValueState())
            reasons[value] = _reason(self._coordinator, seal.name, value, state)
            if state.is_registered and reasons[value] is None:
                self._found.add((relation, seal.name, value))

    def _register(self, relation: str, seal: SealSettings, texts: Sequence[str]) -> None:
        for value in texts:
            one = (relation, seal.name, value)
            if one not in self._known and one not in self._found:
                self._registers[relation, seal.name][value] = None

    def _seal_values(self, relation: str, seal: SealSettings, texts: Sequence[str]) -> None:
        known = self._reasons[relation, seal.name]
        self._seals[relation, seal.name].update((value, None) for value in texts if known.get(value) is None)


def _rejected(rows: pa.Table, found: np.ndarray, reasons: Sequence[Reason]) -> pa.Table:
    """The rows that have a reason."""
    parts = [REJECTED_SCHEMA.empty_table()]
    texts = pa.array([reason.text for reason in reasons], pa.string())
    for kind in dict.fromkeys(reason.kind for reason in reasons):
        here = [i for i, reason in enumerate(reasons) if reason.kind == kind]
        mine = np.isin(found, here)
        if mine.any():
            parts.append(rejected_rows(rows.filter(pa.array(mine)), kind, texts.take(pa.array(found[mine]))))
    return pa.concat_tables(parts)


def _reason(coordinator: int, seal: str, value: str, state: ValueState) -> Reason | None:
    """Why a coordinator may have no events of a value.

    >>> _reason(1, "day", '["2026-01-31"]', ValueState(True, sealed_s=1769904000.5)).text
    'day: coordinator 1 has sealed ["2026-01-31"] at 2026-02-01 00:00:00Z: no event of it was to come after that'
    """
    if len(value) > VALUE_CHARACTERS:
        text = f"{seal}: a value has at most {VALUE_CHARACTERS} characters, and this one {len(value):,}"
        return Reason("value-too-long", text)
    if state.sealed_s is not None:
        told = f"coordinator {coordinator} has sealed {value} at {_moment(state.sealed_s)}"
        return Reason(SEALED, f"{seal}: {told}: no event of it was to come after that")
    if state.is_closed:
        since = "" if state.closed_s is None else f" since {_moment(state.closed_s)}"
        return Reason(SEALED, f"{seal}: {value} is closed{since}: all who produce into it have sealed it")
    if state.other is not None:
        return Reason("other-producer", f"{seal}: {value} is coordinator {state.other}'s, who alone produces into it")
    return None


def _moment(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S}Z"
