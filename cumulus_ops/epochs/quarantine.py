"""What was put aside on the way in, and what becomes of it: somebody looks, mends what is wrong, and decides.

A **retry** reads it again as a delivery of its own, into the epoch that is open now: rows as they came from their quarantine file, files from
the landing folder. The transaction that appends it says that it is done, so that it is done once, whoever is killed.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.attempts import KILLS
from cumulus_ops.append.delivery import PRODUCER, Delivery, Part, SealPart
from cumulus_ops.append.rejected import drop, read_rejected, restamp
from cumulus_ops.catalog.asides import not_aside
from cumulus_ops.catalog.records import Batch, FileAside, Intake, NewFileAside, QuarantinedRows, Repeats
from cumulus_ops.files.log_files import OpenLog
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, InputProblem
from cumulus_ops.publishing.telling import write_notices
from cumulus_ops.sources.drops import Ignored
from cumulus_ops.sources.landing import drop_delivery, retry_name

__all__ = [
    "PutAside",
    "RejectedGroup",
    "Retried",
    "drop_batch",
    "drop_put_aside",
    "put_aside",
    "retry_batch",
    "retry_put_aside",
    "shown_rows",
]


ATTEMPTS = 5
LABEL = re.compile(r"([RF])(\d{1,18})", re.IGNORECASE)


@dataclass(frozen=True)
class RejectedGroup:
    """Quarantined rows of a kind of reason in a relation of a delivery."""

    coordinator: int
    epoch: int
    delivery: str
    relation: str
    kind: str
    rows: int
    label: str


@dataclass(frozen=True)
class PutAside:
    """What does not count: ``rows`` in the quarantine and ``files`` set aside, about which somebody has to decide; ``ignored`` is what lies in the
    landing folder and is nobody's; ``repeats`` are rows that had come before."""

    rows: tuple[QuarantinedRows, ...]
    files: tuple[FileAside, ...]
    ignored: tuple[Ignored, ...]
    repeats: tuple[Repeats, ...]

    @property
    def row_count(self) -> int:
        """How many rows are in the quarantine."""
        return sum(r.rows for r in self.rows)

    @property
    def repeat_count(self) -> int:
        """How many rows had come before."""
        return sum(r.rows for r in self.repeats)

    @property
    def groups(self) -> tuple[RejectedGroup, ...]:
        """The rows by kind of reason, in the order in which they came."""
        return tuple(
            RejectedGroup(r.coordinator, r.epoch, r.delivery, r.relation, kind, rows, r.label)
            for r in self.rows
            for kind, rows in r.reasons.items()
        )

    @property
    def reasons(self) -> dict[str, int]:
        """kind of reason -> rows, the most frequent first."""
        return by_reason(self.rows)


def put_aside(rt: Runtime, *, everything: bool = False) -> PutAside:
    """Read what was put aside from the catalog and the landing folder; with ``everything`` also what was retried or dropped."""
    return PutAside(
        tuple(rt.catalog.deliveries.quarantined_rows(state=None if everything else "kept")),
        tuple(rt.catalog.deliveries.files_aside(state=None if everything else "aside")),
        rt.sources.ignored(),
        tuple(rt.catalog.deliveries.repeats()),
    )


def by_reason(rows: Iterable[QuarantinedRows]) -> dict[str, int]:
    """kind of reason -> rows, the most frequent first."""
    found: Counter[str] = Counter()
    for r in rows:
        found.update(r.reasons)
    return dict(found.most_common())


@dataclass(frozen=True)
class Retried:
    """What was retried as a delivery of its own: rows that are accepted now, that had come before, and that are rejected again."""

    labels: tuple[str, ...]
    batch: int
    epoch: int
    accepted: int
    repeated: int
    rejected: int


def shown_rows(rt: Runtime, label: str, limit: int) -> tuple[QuarantinedRows | FileAside, list[dict[str, object]]]:
    """What has a label, and the first of its rows, each with reason and record; of a file there are none to show.

    Raises:
        InputProblem: nothing has it.
    """
    found = _find(rt, [label])[0]
    if isinstance(found, FileAside):
        return found, []
    with OpenLog(rt.project.state, found) as file:
        first = file.read(groups=[0]).slice(0, limit)
    return found, [{"kind": "unknown", **row} for row in first.to_pylist()]


def drop_put_aside(rt: Runtime, labels: Sequence[str]) -> list[QuarantinedRows | FileAside]:
    """Decide that what has these labels will never count. Transactions are dropped with all their rows, whatever labels those have.

    Returns:
        what was dropped.

    Raises:
        InputProblem: nothing has one of the labels, or it was retried.
    """
    waiting = rt.catalog.deliveries.quarantined_rows()
    dropped: dict[str, QuarantinedRows | FileAside] = {}
    for one in _find(rt, labels):
        if isinstance(one, FileAside):
            rt.catalog.deliveries.drop_file_aside(one.id)
            dropped[one.label] = one
        elif one.label not in dropped:
            whole = _whole(one, waiting)
            rt.catalog.deliveries.drop_quarantined(*(r.id for r in whole))
            dropped |= {r.label: r for r in whole}
    write_notices(rt)
    return list(dropped.values())


def _whole(rows: QuarantinedRows, waiting: Sequence[QuarantinedRows]) -> list[QuarantinedRows]:
    """Rows with all that a decision about them is about: those of a transaction may be in several relations, and in several batches of
    their delivery."""
    if not rows.transactional:
        return [rows]
    return [r for r in waiting if r.transactional and _delivery_of(r) == _delivery_of(rows)] or [rows]


def _delivery_of(rows: QuarantinedRows) -> tuple[int, str, str]:
    """What they came with: two sources may have deliveries of the same name."""
    return rows.coordinator, rows.source.rpartition("/")[0], rows.delivery


def retry_put_aside(
    rt: Runtime, labels: Sequence[str], *, as_new: bool = False, on_retried: Callable[[Retried], None] = lambda _: None
) -> list[Retried]:
    """Read again what has these labels, after the file or the project's settings were mended. Transactions are retried with all their rows.

    Args:
        rt: the open project.
        labels: of quarantined rows and of files.
        as_new: leave out the events' numbers: each row is an event that has not come before.
        on_retried: called with each one when it is done; if one fails, those before it are.

    Raises:
        InputProblem: nothing has one of the labels, somebody has decided about it already, or it cannot be read still.
        Conflict: others keep appending for the coordinator.
    """
    deliveries = _deliveries(rt, _find(rt, labels), as_new)
    done: list[Retried] = []
    try:
        for coordinator, delivery in deliveries:
            done.append(_append(rt, coordinator, delivery))
            on_retried(done[-1])
    finally:
        write_notices(rt)
    return done


def _find(rt: Runtime, labels: Sequence[str]) -> list[QuarantinedRows | FileAside]:
    known: dict[str, QuarantinedRows | FileAside] = {
        r.label: r for r in rt.catalog.deliveries.quarantined_rows(state=None)
    }
    known |= {f.label: f for f in rt.catalog.deliveries.files_aside(state=None)}
    for label in labels:
        if not LABEL.fullmatch(label) or label.upper() not in known:
            hint = "`cumulus quarantine list` shows what there is: R1 for rows, F1 for files"
            raise InputProblem(f"there is no {label}", kind="not-aside", hint=hint)
    return [known[label.upper()] for label in dict.fromkeys(labels)]


def _deliveries(
    rt: Runtime, found: Sequence[QuarantinedRows | FileAside], as_new: bool
) -> Iterator[tuple[int, Delivery]]:
    waiting = rt.catalog.deliveries.quarantined_rows()
    done: set[int] = set()
    for one in found:
        if one.state not in ("kept", "aside"):
            hint = "`cumulus quarantine list` shows what can be decided about"
            raise InputProblem(f"{one.label} is {one.state}", kind="not-aside", hint=hint)
        if isinstance(one, FileAside):
            yield one.coordinator, _file(rt, one)
        elif one.id not in done:
            whole = _whole(one, waiting)
            done |= {r.id for r in whole}
            yield one.coordinator, _rows(rt, whole, as_new)


def _rows(rt: Runtime, rows: Sequence[QuarantinedRows], as_new: bool) -> Delivery:
    """Quarantined rows as a delivery of the source that they came from."""
    first = rows[0]
    source = first.source.rpartition("/")[0] or str(first.coordinator)
    relations = dict.fromkeys(r.relation for r in rows)
    parts = [_part(rt, [r for r in rows if r.relation == name], as_new) for name in relations]
    return Delivery(
        source,
        retry_name(first.delivery, first.label),
        datetime.datetime.now(datetime.UTC),
        lambda: parts,
        transactional=first.transactional and not as_new,
        intake=Intake(retried_rows=tuple(r.id for r in rows)),
    )


def _part(rt: Runtime, rows: Sequence[QuarantinedRows], as_new: bool) -> Part | SealPart:
    """All of them of one relation, or of one seal."""
    name, labels = rows[0].relation, ", ".join(r.label for r in rows)
    if "." in name:
        return _seal_part(rt, rows, labels)
    relation = next((r for r in rt.project.relations if r.name == name), None)
    if relation is None:
        raise InputProblem(f"there is no relation {name} any more", kind="no-relation", place=labels)
    settings = rt.project.settings_of(name)
    return Part(name, labels, partial(read_rejected, rt.project.state, rows, relation, settings, as_new=as_new))


def _seal_part(rt: Runtime, rows: Sequence[QuarantinedRows], labels: str) -> SealPart:
    """Rows of files with values of a seal."""
    relation, name, said = rows[0].relation.split(".")
    seal = rt.project.seal(relation, name)
    if seal is None:
        raise InputProblem(f"{relation} has no seal {name} any more", kind="unknown-seal", place=labels)
    settings = replace(rt.project.settings_of(relation), ops="insert")
    read = partial(read_rejected, rt.project.state, rows, rt.project.seal_rows(relation, seal), settings)
    return SealPart(relation, name, said == PRODUCER, labels, read)


def _file(rt: Runtime, file: FileAside) -> Delivery:
    """A file of a drop, or a whole one, as a delivery of its own."""
    place = Path(file.place)
    coordinators = rt.project.landing / str(file.coordinator)
    if coordinators not in (place.parent, place.parent.parent):
        hint = "its source would have to deliver it again; or `cumulus quarantine drop`"
        raise InputProblem("is no file of a drop", kind="no-drop", place=file.place, hint=hint)
    if not place.exists():
        hint = "put it back, or `cumulus quarantine drop`"
        raise InputProblem("is gone", kind="no-file", place=file.place, hint=hint)
    is_drop = place.is_dir() and not place.is_symlink() and place.parent == coordinators
    folder = place if is_drop else place.parent
    delivery = drop_delivery(
        rt.project,
        folder,
        arrived=datetime.datetime.now(datetime.UTC),
        name=retry_name(file.delivery, file.label),
        files=None if is_drop else [place.name],
    )
    found = list(delivery.parts())
    if not any(isinstance(part, Part | SealPart) for part in found):
        said = next((part for part in found if isinstance(part, NewFileAside)), file)
        raise InputProblem(said.reason, kind=said.kind, place=said.place, hint=said.hint)
    return replace(delivery, intake=Intake(retried_files=(file.id,)), apart=file.kind == KILLS)


def _append(rt: Runtime, coordinator: int, delivery: Delivery) -> Retried:
    for attempt in range(ATTEMPTS):
        try:
            ids = append_delivery(rt.project, rt.catalog, coordinator, delivery, room=rt.room)
            break
        except Conflict:
            if attempt == ATTEMPTS - 1 or rt.catalog.log.drops(
                coordinator, delivery.space(coordinator), among=[delivery.name]
            ):
                raise
    batches = [rt.catalog.log.batch(i) for i in ids]
    intake = delivery.intake
    return Retried(
        (*(f"R{i}" for i in intake.retried_rows), *(f"F{i}" for i in intake.retried_files)),
        ids[0],
        batches[0].epoch,
        sum(b.events for b in batches),
        sum(b.duplicates for b in batches),
        sum(b.quarantined for b in batches),
    )


# What becomes of a batch that is set aside: somebody decides.


def retry_batch(rt: Runtime, number: int) -> Batch:
    """Stamp the events of a batch that is set aside into its coordinator's open epoch, as another batch, which is applied like
    any other. Done before, it is only reported.

    Returns:
        the batch that has its events now.

    Raises:
        InputProblem: it is not set aside.
        Conflict: something else was appended for its coordinator meanwhile.
    """
    batches = {b.id: b for b in rt.catalog.log.batches()}
    batch = batches.get(number)
    if batch is not None and batch.state == "retried":
        return next(b for b in batches.values() if b.retry_of == number)
    if batch is None or batch.state != "aside":
        raise not_aside(number, batch.state if batch else None)
    if batch.tick is not None:
        hint = f"`cumulus batch drop {number}`; the next epoch's tick says a later time"
        raise InputProblem("it is a tick of now()", kind="tick", place=f"batch {number}", hint=hint)
    new = restamp(rt.project, rt.catalog, batch)
    write_notices(rt)
    return rt.catalog.log.batch(new)


def drop_batch(rt: Runtime, number: int) -> Batch:
    """Decide that the events of a batch that is set aside will never count; its source may deliver them again, in another drop.

    Where keys mean something, what later events rest on is appended again, as another batch (:mod:`cumulus_ops.keys.stage`).

    Raises:
        InputProblem: it is not set aside.
        Conflict: something else was appended for its coordinator meanwhile.
    """
    batch = next((b for b in rt.catalog.log.batches(state="aside") if b.id == number), None)
    if batch is None:
        rt.catalog.asides.drop_batch(number)  # it says what is wrong
    else:
        drop(rt.project, rt.catalog, batch)
    write_notices(rt)
    return rt.catalog.log.batch(number)
