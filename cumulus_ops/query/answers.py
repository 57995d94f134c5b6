"""Answers that say by what they are final.

=============  ======================================================================================  ==========================
a view is      its answer is                                                                           its rows are final by
=============  ======================================================================================  ==========================
``at once``    what is applied, as far as nobody can take it back any more                             ``now``
``sealed``     partitions whose values are closed, and the newest snapshot of all others               ``seal NAME=VALUE``, ``epoch N``
``committed``  the newest snapshot                                                                     ``epoch N``
=============  ======================================================================================  ==========================

Which it is, the coordination plan says. What is asked for with ``tentative`` is fresher, and final by nothing: it may be corrected, or taken back.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.finals import FinalPartition
from cumulus_ops.catalog.records import moment_of_now
from cumulus_ops.catalog.values import shown_value
from cumulus_ops.compute.vector import Frame, evaluate_logical
from cumulus_ops.coordination.finality.lineage import VALUE, relations_of
from cumulus_ops.coordination.plan import AT_ONCE, COMMITTED, SEALED, SealOf
from cumulus_ops.light import lazy_module
from cumulus_ops.maps.columns import to_physical
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import IntegrityProblem, NotYet, ViewInError
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.query.partitions import Partitions, typed_values
from cumulus_ops.query.read import (
    Kept,
    Moment,
    all_rows,
    in_order,
    read_snapshot,
    read_view,
    require_retained,
    snapshot_epoch,
)
from m3.clock import CLOCK
from m3.datatypes import Type
from m3.evaluate import DEFAULTS, Value, evaluate
from m3.formatting import format_column
from m3.program import Column, View
from m3.scalars import Call, Scalar, Var, call

if TYPE_CHECKING:
    from m3 import syntax
else:
    syntax = lazy_module("m3.syntax")  # lark, which only views need that show a form of what is sealed

__all__ = [
    "FINAL_BY",
    "LABEL",
    "NOW",
    "TENTATIVE",
    "Answer",
    "SealedView",
    "final_from",
    "find_sealed_view",
    "find_sealed_views",
    "read_answer",
    "read_final_rows",
    "require_finals",
]


# From when on the rows of a view are final, as its plan says; and which of them a closed value makes final.


@dataclass(frozen=True)
class SealedView:
    """A view whose rows become final by ``seals``, one for each relation that it is over. They are partitioned by the view's key columns at the places
    ``keys``; a partition is called by a value of the first seal. ``forms``: what the view's columns have of its values, which are of the ``types`` of
    the seal's columns (:class:`~cumulus_ops.coordination.plan.SealOf`)."""

    view: View
    seals: tuple[SealOf, ...]
    keys: tuple[int, ...]
    types: tuple[Type, ...]
    forms: tuple[Scalar | None, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The visible columns that have a partition's values, in the order of the first seal's columns."""
        return self.seals[0].output

    @property
    def has_same_texts(self) -> bool:
        """Whether a partition is called by the same value of each seal."""
        return all(seal.output == self.columns for seal in self.seals)

    def partition(self, seal: SealOf, value: str) -> str:
        """The value of the first seal that goes with a value of another one: columns may come in another order there.

        >>> a, b = SealOf("r", "s", ("x", "y"), ("x", "y")), SealOf("q", "s", ("u", "v"), ("y", "x"))
        >>> SealedView(None, (a, b), (0, 1), (), ()).partition(b, '["1","2"]')
        '["2","1"]'
        """
        if seal.output == self.columns:
            return value
        texts = dict(zip(seal.output, json.loads(value), strict=True))
        return json.dumps([texts[name] for name in self.columns], ensure_ascii=False, separators=(",", ":"))

    def values(self, values: Sequence[str]) -> Partitions:
        """Values of the first seal as its columns have them."""
        return typed_values(values, self.types)

    def partitions(self, values: Sequence[str]) -> Partitions:
        """The same as the view's columns have them."""
        sealed = self.values(values)
        shown = zip(sealed.columns, self.types, self.forms, strict=True)
        return Partitions(tuple(c if form is None else _apply_form(form, c, type_) for c, type_, form in shown))

    def has_partition(self, value: str) -> bool:
        """Whether a value of the first seal closes a partition: not where what the view shows of it cannot be computed, nor where it is what the view
        has of all values for which it cannot."""
        if not any(self.forms):
            return True
        columns = self.values([value]).columns
        return all(form is None or _is_own(form, c[0].as_py()) for form, c in zip(self.forms, columns, strict=True))

    def kept(self, partitions: Partitions) -> Kept:
        """The same as the maps have them."""
        types = [self.view.keys[k].type for k in self.keys]
        physical = [to_physical(column, type_) for column, type_ in zip(partitions.columns, types, strict=True)]
        return Kept(self.keys, Partitions(tuple(physical)))

    def columns_of(self, rows: pa.Table) -> list[pa.ChunkedArray]:
        """The columns of rows that say in which partition they are."""
        return [rows[name] for name in self.columns]


def final_from(rt: Runtime, view: View) -> str:
    """From when on rows of a view are final: ``at once``, ``sealed``, or ``committed``. What comes later may push rows over a LIMIT, whatever a
    plan says."""
    planned = rt.coordination.view(view.name).final
    if view.limit is not None or view.offset or (planned == SEALED and find_sealed_view(rt, view) is None):
        return COMMITTED
    return planned if planned in (AT_ONCE, SEALED) else COMMITTED


def find_sealed_views(rt: Runtime) -> list[SealedView]:
    """The views of which closed values make rows final."""
    found = (find_sealed_view(rt, view) for view in rt.program.views if rt.coordination.view(view.name).final == SEALED)
    return [view for view in found if view is not None]


def find_sealed_view(rt: Runtime, view: View) -> SealedView | None:
    """How closed values make rows of a view final; None if they do not. All seals must be about the same columns of the view, and these be its keys."""
    planned = rt.coordination.view(view.name)
    if planned.final != SEALED or not planned.seals or view.limit is not None or view.offset:
        return None
    output = planned.seals[0].output
    keys = {c.name: c.expression.name for c in view.visible if isinstance(c.expression, Var)}
    places = {k.name: i for i, k in enumerate(view.keys)}
    if any(set(seal.output) != set(output) for seal in planned.seals):
        return None
    if not all(keys.get(name) in places for name in output):
        return None
    first = planned.seals[0]
    if any(_form_by_output(seal) != _form_by_output(first) for seal in planned.seals):
        return None
    declared = {c.name: c.type for c in rt.program.relation_by_name[first.relation].columns}
    types = tuple(declared[name] for name in first.columns)
    forms = tuple(map(_read_form, _form_by_output(first).values(), types))
    return SealedView(view, planned.seals, tuple(places[keys[name]] for name in output), types, forms)


def _form_by_output(seal: SealOf) -> dict[str, str]:
    return dict(zip(seal.output, seal.forms or ("",) * len(seal.output), strict=True))


@lru_cache(maxsize=256)
def _read_form(text: str, type_: Type) -> Scalar | None:
    """A form of a seal's value, which is written in M3; None for the value itself."""
    if not text:
        return None
    value = format_column(Column(VALUE, type_))
    program = syntax.parse(
        f"RELATION r({value}); MAP m[] : INT; ON +r({VALUE}) DO {{ m[] += IF ({text}) IS NULL THEN 1 ELSE 0; }}"
    )
    (condition,) = program.triggers[0].statements[0].conditions
    assert isinstance(condition, Call)
    return condition.args[0]


def _apply_form(form: Scalar, values: pa.Array, type_: Type) -> pa.Array:
    return evaluate_logical(form, Frame({VALUE: to_physical(values, type_)}, len(values)))


def _is_own(form: Scalar, value: Value) -> bool:
    """Whether what a form gives is of this value alone, and not also of those for which it fails."""
    if not (isinstance(form, Call) and form.op == "attempt"):
        return True
    env = {VALUE: value}
    if evaluate(call("fails", form.args[0]), env):
        return False
    return evaluate(form, env) != (None if form.type.nullable else DEFAULTS[form.type.kind])


NOW, TENTATIVE = "now", "tentative"
#: The column that says of each row by what it is final, and the metadata that says it of all.
FINAL_BY, LABEL = "final_by", b"cumulus.final-by"


@dataclass(frozen=True)
class Answer:
    """The rows of a view. ``final_by`` has, for each of them, by what it is final: ``now``, ``seal campaign=7``, ``epoch 12``; or ``tentative``. ``epoch``: whose
    snapshot was read, if one was; ``partitions``: how many were final by their seals before; ``error``: why these are all of it, if the view is
    in error in the newest snapshot; ``now``: what now() is in them, if the view depends on it, ``has_now``."""

    view: str
    rows: pa.Table
    final_by: pa.Array
    epoch: int | None = None
    partitions: int = 0
    is_tentative: bool = False
    error: str | None = None
    has_now: bool = False
    now: datetime.datetime | None = None

    @property
    def label(self) -> str:
        """All of it in one line.

        >>> Answer("v", pa.table({"a": [1]}), pa.array(["seal day=1"]), 12, 3).label
        'final by epoch 12, and 3 sealed partitions'
        >>> Answer("v", pa.table({"a": [1]}), pa.array(["seal day=1"]), 12, 3, error="6 / 0").label
        'final by 3 sealed partitions; all others are missing, for the view is in error in the snapshot of epoch 12: 6 / 0'
        """
        now = (
            ""
            if not self.has_now
            else f", as of {self.now} (now())"
            if self.now
            else ", before the first time (now() is NULL)"
        )
        if self.is_tentative:
            return f"tentative: it may still be corrected{now}"
        if self.epoch is None and not self.partitions:
            return "final now: no row of it is ever retracted"
        parts = [] if self.epoch is None or self.error else [f"epoch {self.epoch}"]
        if self.partitions:
            parts.append(f"{self.partitions:,} sealed partition{'s' if self.partitions > 1 else ''}")
        missing = (
            f"; all others are missing, for the view is in error in the snapshot of epoch {self.epoch}: {self.error}"
        )
        return "final by " + ", and ".join(parts) + now + (missing if self.error else "")

    def labelled(self) -> pa.Table:
        """The rows, with their label among the table's metadata."""
        return self.rows.replace_schema_metadata({LABEL: self.label.encode()})

    def with_provenance(self) -> pa.Table:
        """The same with one more column, ``final_by``; with another name if the view has one of that name."""
        name = FINAL_BY
        while name in self.rows.column_names:
            name = f"_{name}"
        return self.labelled().append_column(name, self.final_by.cast(pa.string()))


def read_answer(rt: Runtime, view: str, as_of: int | None = None, tentative: bool = False) -> Answer:
    """The rows of a view, and by what each of them is final.

    Args:
        rt: the open project.
        view: the view's name.
        as_of: the snapshot of this epoch instead.
        tentative: all that is applied so far instead, which may still be corrected, or be taken back.

    Raises:
        As :func:`~cumulus_ops.query.read.read_view`.
    """
    if as_of is not None and view not in rt.program.view_by_name:  # it was removed, and the snapshot has it still
        rt = rt.as_of(as_of)
    declared = rt.program.view(view)
    has_now = CLOCK in relations_of(rt.program, declared)
    if tentative:
        rows = read_view(rt, view, tentative=True)
        now = moment_of_now(rt.catalog.log.newest_tick())
        return Answer(view, rows, _repeat_label(TENTATIVE, len(rows)), is_tentative=True, has_now=has_now, now=now)
    final = final_from(rt, declared) if as_of is None else None
    if final == AT_ONCE:
        with rt.catalog.leases.step():
            commit = rt.catalog.commits.last_commit()
            # in this order: no run that is visible at the commit joins what lies on both sides of a horizon that is read later
            rows = all_rows(rt, declared, Moment(commit, horizon=rt.catalog.finals.horizon()))
        rows = in_order(declared, rows).select([c.name for c in declared.visible])
        return Answer(view, rows, _repeat_label(NOW, len(rows)))
    sealed = find_sealed_view(rt, declared) if final == SEALED else None
    if sealed is not None:
        return _read_sealed(rt, sealed)
    with rt.catalog.leases.step():
        epoch = snapshot_epoch(rt, as_of)
        # of the newest one the current revision's views: they were filled up to there
        rows = read_snapshot(rt, view, epoch) if as_of is None else read_view(rt, view, as_of=epoch)
        snapshot = rt.catalog.snapshots.at(epoch)
    now = None if snapshot is None else moment_of_now(snapshot.now)
    if has_now and now is None:
        raise NotYet(
            f"view {view} depends on now(), which the snapshot of epoch {epoch} has not recorded",
            kind="view-later",
            hint="the next snapshot has it",
        )
    return Answer(view, rows, _repeat_label(f"epoch {epoch}", len(rows)), epoch, has_now=has_now, now=now)


def _repeat_label(label: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([label]))


def _read_sealed(rt: Runtime, sealed: SealedView) -> Answer:
    """Partitions that are final, and the rest of the newest snapshot. What a snapshot has of a partition that is final, it has right if the
    partition's batches are all in it; of the others it is read anew, and so are all if it has none, for the view is in error in it."""
    view = sealed.view
    with rt.catalog.leases.step():
        # in this order: a snapshot that comes meanwhile only makes it have more
        finals = rt.catalog.finals.finals(view.name)
        live = rt.catalog.finals.oldest_live()
        epoch = rt.catalog.snapshots.newest()
        if not finals:
            epoch = snapshot_epoch(rt, None)  # without one it says so
        commit = rt.catalog.commits.last_commit()
        fresh = [i for i, f in enumerate(finals) if epoch < 0 or (live is not None and f.commit >= live)]
        parts, error = [], None
        if epoch >= 0 or not finals:
            try:
                rows = all_rows(rt, view, Moment(commit, epoch_end(epoch)))
                places = _place_rows(sealed, rows, finals)
                stays = ~np.isin(places, fresh)
                parts.append(_label_rows(rows.filter(pa.array(stays)), places[stays], finals, sealed, f"epoch {epoch}"))
            except ViewInError as problem:
                if not finals:
                    raise
                fresh, error = list(range(len(finals))), problem.message
        if fresh:
            chosen = [finals[i] for i in fresh]
            kept = sealed.kept(sealed.partitions([f.value for f in chosen]))
            rows = all_rows(
                rt, view, Moment(commit), kept, checked=False
            )  # none of their events fails, whatever others do
            parts.append(_label_rows(rows, _place_rows(sealed, rows, chosen), chosen, sealed, ""))
        if epoch >= 0:
            require_retained(rt, epoch)
    rows = in_order(view, pa.concat_tables([part.unify_dictionaries() for part in parts]).unify_dictionaries())
    visible = rows.select([c.name for c in view.visible])
    by = rows["#by"].combine_chunks()
    return Answer(view.name, visible, by, None if epoch < 0 else epoch, len(finals), error=error)


def _place_rows(sealed: SealedView, rows: pa.Table, finals: Sequence[FinalPartition]) -> np.ndarray:
    if not finals:
        return np.full(len(rows), -1)
    return sealed.partitions([f.value for f in finals]).place(sealed.columns_of(rows))


def _label_rows(
    rows: pa.Table, places: np.ndarray, finals: Sequence[FinalPartition], sealed: SealedView, otherwise: str
) -> pa.Table:
    """The rows with the column ``#by``: only the labels that occur are made."""
    used, codes = np.unique(places, return_inverse=True)
    seal = ", ".join(sealed.seals[0].columns)
    labels = [f"seal {seal}={shown_value(finals[i].value)}" if i >= 0 else otherwise for i in used.tolist()]
    by = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(labels, pa.string()))
    return rows.append_column("#by", by)


def read_final_rows(
    rt: Runtime, view: SealedView, values: Sequence[str], *, checked: bool = True
) -> tuple[pa.Table, np.ndarray]:
    """The rows of partitions as they are now, with the view's visible columns, and which of the values each of them has.

    Args:
        rt: the open project.
        view: the view.
        values: the partitions, by values of its first seal.
        checked: whether a view that is in error for other rows is in error.

    Raises:
        ViewInError: the view is in error.
    """
    wanted = view.partitions(values)
    with rt.catalog.leases.step():
        moment = Moment(rt.catalog.commits.last_commit())
        rows = all_rows(rt, view.view, moment, view.kept(wanted), checked=checked)
    return rows.select([c.name for c in view.view.visible]), wanted.place(view.columns_of(rows))


def require_finals(rt: Runtime, view: str, rows: pa.Table, epoch: int) -> None:
    """See that a snapshot has of each partition that was final before as many rows as it had then. Costs one query, and only of views that are sealed.

    Args:
        rt: the open project.
        view: the view.
        rows: all its rows in the snapshot.
        epoch: that of the snapshot. Of one that is not the newest nothing is said: what was final may be in a later one.

    Raises:
        IntegrityProblem: what was said to be final has changed.
    """
    sealed = find_sealed_view(rt, rt.program.view(view))
    if sealed is None:
        return
    finals, live = rt.catalog.finals.finals(view), rt.catalog.finals.oldest_live()
    finals = [f for f in finals if live is None or f.commit < live]
    if not finals or rt.catalog.snapshots.newest() != epoch:
        return
    places = sealed.partitions([f.value for f in finals]).place(sealed.columns_of(rows))
    counts = np.bincount(places[places >= 0], minlength=len(finals))
    wrong = next((i for i, f in enumerate(finals) if f.rows != counts[i]), None)
    if wrong is not None:
        message = f"{finals[wrong]} were said to be final, and the snapshot of epoch {epoch} has {counts[wrong]:,}"
        hint = "`cumulus validate` says which is right; please report this as a bug"
        raise IntegrityProblem(message, kind="final-changed", place=f"view {view}", hint=hint)
