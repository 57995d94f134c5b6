"""The values of seals in one append: whose events are refused because their value is sealed, for which values it registers, and which it seals.

Values are looked at set at a time: of each piece of rows the different ones, and of those the ones that this process has not seen open yet.
"""

from __future__ import annotations

import csv
import datetime
import difflib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.append.checks import Checks, Reason
from cumulus_ops.append.rejected import join_chunks, quote_json, rejected_rows
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.values import SealChange, Sealing, ValueState
from cumulus_ops.files.columns import NO_REJECTED, OFFSET, SIGN, RawFile
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import Project, SealSettings

__all__ = ["VALUE_CHARACTERS", "SealStage", "distinct_texts", "seal_by_hand", "seal_texts"]


# The text of a seal's value: the same for equal values, whoever has written them, and however.
#
# It is a JSON list with the text, or ``null``, of each of the seal's columns; texts are those of the columns' types in the log.


#: A longer value cannot be sealed.
VALUE_CHARACTERS = 400


def seal_texts(rows: pa.Table, columns: Sequence[str]) -> pa.Array:
    """The text of each row's value.

    Args:
        rows: has the columns, with their types in the log (:func:`~cumulus_ops.files.columns.event_schema`) or in views.
        columns: those of the seal.

    >>> rows = pa.table({"shop": ["a", None], "price": pa.array(["1.0", "20"]).cast(pa.decimal128(6, 2))})
    >>> seal_texts(rows, ["shop", "price"]).to_pylist()
    ['["a","1.00"]', '[null,"20.00"]']
    """
    parts: list[pa.Array | pa.Scalar] = []
    for name in columns:
        values = _plain(rows[name])
        parts += [pa.scalar("," if parts else "["), pc.fill_null(quote_json(pc.cast(values, pa.string())), "null")]
    return pc.binary_join_element_wise(*parts, pa.scalar("]"), pa.scalar(""))


def distinct_texts(rows: pa.Table, columns: Sequence[str]) -> list[str]:
    """The texts of the rows' different values."""
    plain = pa.table([_plain(rows[name]) for name in columns], names=list(columns))
    values = plain.group_by(list(columns), use_threads=False).aggregate([])
    return list(seal_texts(values, columns).to_pylist())


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """In one piece, without a dictionary, and of a type that Arrow can group and print."""
    array = join_chunks(column)
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_decimal(array.type):
        return array.cast(pa.decimal128(min(38, max(array.type.precision, 1)), array.type.scale))
    return array


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
        self._number, known = catalog.seals.known_open(coordinator) if project.seals else (0, {})
        self._values = {
            (relation, seal.name): _Values(known.get((relation, seal.name), frozenset()))
            for relation, seals in project.seals.items()
            for seal in seals
        }

    def judge(self, relation: str, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The events whose values are open, and the rows of the others, with the reasons. What a delete by key deletes is not known yet
        (:meth:`refuser`)."""
        found, reasons = np.full(len(rows), -1), list[Reason]()
        for seal in self._project.seals.get(relation, ()) if len(rows) else ():
            asked, mine = np.arange(len(rows)), rows  # the places of the rows that have their value
            if self._is_beside_key(relation, seal):
                asked = np.flatnonzero(rows[SIGN].to_numpy() != -1)
                mine = rows if len(asked) == len(rows) else rows.take(pa.array(asked))
            self._mark(relation, seal, mine, found, asked, reasons)
        if not reasons:
            return rows, NO_REJECTED
        # The other rows of their events go with them: an event is accepted or rejected whole.
        offsets = rows[OFFSET].to_numpy()
        found[np.isin(offsets, offsets[found >= 0]) & (found < 0)] = len(reasons)
        return rows.filter(pa.array(found < 0)), _reject(rows, found, [*reasons, PART])

    def refuser(self, relation: str) -> Callable[[pa.Table], Mapping[int, Reason]] | None:
        """What says which of the rows that updates and deletes by key would take away are of values that are not open, by their places; None
        if the events tell that themselves."""
        beside = [seal for seal in self._project.seals.get(relation, ()) if self._is_beside_key(relation, seal)]
        if not beside:
            return None

        def refuse(old: pa.Table) -> dict[int, Reason]:
            found, reasons = np.full(len(old), -1), list[Reason]()
            for seal in beside:
                self._mark(relation, seal, old, found, np.arange(len(old)), reasons)
            return {int(i): reasons[found[i]] for i in np.flatnonzero(found >= 0)}

        return refuse

    def take(self, relation: str, rows: pa.Table) -> None:
        """Register for the values of accepted rows."""
        for seal in self._project.seals.get(relation, ()) if len(rows) else ():
            values = self._values[relation, seal.name]
            judged, texts = values.judged
            values.register(texts if judged is rows else self._look_up(relation, seal, rows))

    def announce(self, relation: str, seal: SealSettings, rows: pa.Table) -> pa.Table:
        """Register for the values in rows of the seal's columns. Returns those that are rejected."""
        return self._say(relation, seal, rows, self._values[relation, seal.name].register)

    def seal(self, relation: str, seal: SealSettings, rows: pa.Table) -> pa.Table:
        """Seal the values in rows of the seal's columns, once all events are judged. What is sealed already stays so.

        Returns:
            the rows that are rejected.
        """
        return self._say(relation, seal, rows, self._values[relation, seal.name].seal, passed=(SEALED,))

    def sealing(self) -> Sealing | None:
        """What the append says of values; None if nothing is ever sealed."""
        if not self._project.seals:
            return None
        known = {seal: values.found for seal, values in self._values.items() if values.found}
        changes = []
        for relation, seal in ((relation, seal) for relation, seals in self._project.seals.items() for seal in seals):
            values = self._values[relation, seal.name]
            if values.registers or values.seals:
                said = (tuple(values.registers), tuple(values.seals))
                changes.append(SealChange(relation, seal.name, seal.producers, *said, seal.columns))
        return Sealing(self._number, tuple(changes), known)

    def _is_beside_key(self, relation: str, seal: SealSettings) -> bool:
        """Whether an update by key may take a row from one value to another."""
        settings = self._project.keys.get(relation)
        if settings is None or settings.mode != "upsert":
            return False
        key = next(r.key for r in self._project.relations if r.name == relation)
        return not {*seal.columns} <= {*key}

    def _mark(
        self,
        relation: str,
        seal: SealSettings,
        rows: pa.Table,
        found: np.ndarray,
        places: np.ndarray,
        reasons: list[Reason],
        passed: Sequence[str] = (),
    ) -> None:
        """Note in ``found``, at the places of rows that have no reason yet, the place in ``reasons`` of theirs, if that is not of a kind that is
        ``passed``."""
        if len(rows) == 0:
            return
        texts, known = self._look_up(relation, seal, rows), self._values[relation, seal.name].refused
        bad = {value: known[value] for value in known.keys() & texts if known[value].kind not in passed}
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
        what: Callable[[Set[str]], None],
        passed: Sequence[str] = (),
    ) -> pa.Table:
        if len(rows) == 0:
            return NO_REJECTED
        found, reasons = np.full(len(rows), -1), list[Reason]()
        self._mark(relation, seal, rows, found, np.arange(len(rows)), reasons, passed)
        what({*distinct_texts(rows.filter(pa.array(found < 0)), seal.columns)})
        return _reject(rows, found, reasons)

    def _look_up(self, relation: str, seal: SealSettings, rows: pa.Table) -> Set[str]:
        """The different values of rows; those that this process has not seen open are looked up."""
        values, texts = self._values[relation, seal.name], {*distinct_texts(rows, seal.columns)}
        values.judged = rows, texts
        new = sorted(texts - values.known - values.found - values.unknown - values.refused.keys())
        states = self._catalog.seals.value_states(self._coordinator, relation, seal.name, new) if new else {}
        for value in new:
            state = states.get(value, ValueState())
            reason = _explain(self._coordinator, seal.name, value, state)
            if reason is not None:
                values.refused[value] = reason
            else:
                (values.found if state.is_registered else values.unknown).add(value)
        return texts


@dataclass
class _Values:
    """What one append knows of the values of a seal, and says of them.

    ``known`` before it, and ``found`` by it, to be open for its coordinator, which is registered for them; ``unknown``, for which it is not; and ``refused``,
    with the reason. ``judged``: the rows that were looked at last, and their values.
    """

    known: Set[str]
    found: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    refused: dict[str, Reason] = field(default_factory=dict)
    registers: set[str] = field(default_factory=set)
    seals: set[str] = field(default_factory=set)
    judged: tuple[pa.Table | None, Set[str]] = (None, frozenset())

    def register(self, texts: Set[str]) -> None:
        """Have, or say that it will have, events of values."""
        self.registers |= texts & self.unknown

    def seal(self, texts: Set[str]) -> None:
        """Have no more of them; what is sealed already stays so."""
        self.seals |= texts - self.refused.keys()


def _reject(rows: pa.Table, found: np.ndarray, reasons: Sequence[Reason]) -> pa.Table:
    """The rows that have a reason."""
    parts = [NO_REJECTED]
    texts = pa.array([reason.text for reason in reasons], pa.string())
    for kind in dict.fromkeys(reason.kind for reason in reasons):
        here = [i for i, reason in enumerate(reasons) if reason.kind == kind]
        mine = np.isin(found, here)
        if mine.any():
            parts.append(rejected_rows(rows.filter(pa.array(mine)), kind, texts.take(pa.array(found[mine]))))
    return pa.concat_tables(parts)


def _explain(coordinator: int, seal: str, value: str, state: ValueState) -> Reason | None:
    """Why a coordinator may have no events of a value.

    >>> _explain(1, "day", '["2026-01-31"]', ValueState(True, sealed_s=1769904000.5)).text
    'day: coordinator 1 has sealed ["2026-01-31"] at 2026-02-01 00:00:00Z: no event of it was to come after that'
    """
    if len(value) > VALUE_CHARACTERS:
        text = f"{seal}: a value has at most {VALUE_CHARACTERS} characters, and this one {len(value):,}"
        return Reason("value-too-long", text)
    if state.sealed_s is not None:
        told = f"coordinator {coordinator} has sealed {value} at {_show_moment(state.sealed_s)}"
        return Reason(SEALED, f"{seal}: {told}: no event of it was to come after that")
    if state.is_closed:
        since = "" if state.closed_s is None else f" since {_show_moment(state.closed_s)}"
        return Reason(SEALED, f"{seal}: {value} is closed{since}: all who produce into it have sealed it")
    if state.other is not None:
        return Reason("other-producer", f"{seal}: {value} is coordinator {state.other}'s, who alone produces into it")
    return None


def _show_moment(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S}Z"


# Values that a person seals, in the name of a coordinator that does not do so itself.


def seal_by_hand(
    project: Project,
    catalog: Catalog,
    relation: str,
    seal: str,
    values: Sequence[str],
    coordinator: int | None,
    by: str,
) -> tuple[int, int]:
    """Seal values; what is sealed already stays as it is.

    Args:
        project: has the seal.
        catalog: its catalog.
        relation, seal: which.
        values: as a line of a CSV file of the seal would have them.
        coordinator: in whose name; None for the one that all of them wait for.
        by: who does so.

    Returns:
        the coordinator, and how many of the values it had not sealed.

    Raises:
        InputProblem: there is no such seal, a value is none, or it is not clear in whose name.
    """
    settings = project.seal(relation, seal)
    if settings is None:
        known = [f"{name} {s.name}" for name, seals in project.seals.items() for s in seals]
        near = difflib.get_close_matches(f"{relation} {seal}", known, 1)
        hint = f"did you mean {near[0]}?" if near else f"seals in cumulus.yaml: {', '.join(known) or 'none'}"
        raise InputProblem(f"{relation} has no seal {seal}", kind="unknown-seal", hint=hint)
    texts = _parse_values(project, relation, settings, values)
    who = _find_awaited(catalog, relation, seal, texts) if coordinator is None else coordinator
    return who, catalog.seals.seal_by_hand(
        who, SealChange(relation, seal, settings.producers, (), texts, settings.columns), by
    )


def _parse_values(project: Project, relation: str, seal: SealSettings, values: Sequence[str]) -> tuple[str, ...]:
    fields = [next(csv.reader([value]), []) or [""] for value in values]
    wrong = next((v for v, f in zip(values, fields, strict=True) if len(f) != len(seal.columns)), None)
    if wrong is not None:
        hint = f"write {','.join(seal.columns)}, as in a line of a CSV file; nothing is NULL"
        raise InputProblem(f"{wrong!r} is no value of {relation}.{seal.name}", kind="bad-value", hint=hint)
    columns = [pa.array([text or None for text in column], pa.string()) for column in zip(*fields, strict=True)]
    raw = RawFile(pa.table(columns, names=list(seal.columns)), np.arange(len(values)), ops="insert")
    checked = Checks(project.seal_rows(relation, seal), "the command").check(raw)
    if len(checked.rejected):
        reason = checked.rejected["reason"][0].as_py()
        raise InputProblem(reason, kind="bad-value", hint="write values as in a CSV file (docs/files.md)")
    texts = tuple(dict.fromkeys(seal_texts(checked.rows, seal.columns).to_pylist()))
    if any(len(text) > VALUE_CHARACTERS for text in texts):
        hint = f"a value has at most {VALUE_CHARACTERS} characters"
        raise InputProblem("no such value can have been seen", kind="bad-value", hint=hint)
    return texts


def _find_awaited(catalog: Catalog, relation: str, seal: str, texts: Sequence[str]) -> int:
    """The coordinator that values wait for, if it is one."""
    waiting = catalog.seals.open_values(relation, seal, texts)
    missing = sorted({c for value in waiting for c in value.missing})
    if len(missing) == 1:
        return missing[0]
    if missing:
        who = f"they wait for coordinators {', '.join(map(str, missing))}"
        hint = "seal them in the name of each: --coordinator N"
    else:
        who, hint = "none of them waits for a seal", "`cumulus seals` shows which do; --coordinator N seals others"
    raise InputProblem(who, kind="no-producer", hint=hint)
