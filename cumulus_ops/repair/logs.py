"""Files of the log and of the quarantine, made again from what they were made of: the drop that landed, or what a source hands over once more.

A delivery is read by the same checks, repeats and keys as when it was appended, against the log and the keys as they were then, and stamped with the same versions. So
the files come out byte by byte as they were, and take the places of those that are damaged: no row of the catalog changes. What comes out otherwise is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

from cumulus_ops.append.append import write_again
from cumulus_ops.append.delivery import RETRIES, Delivery
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.key_indexes import KeyIndexes
from cumulus_ops.catalog.log import EventLog
from cumulus_ops.catalog.records import (
    Batch,
    KeyIndex,
    KeyRun,
    LogFile,
    NewBatch,
    NewKeyRun,
    NewQuarantine,
    QuarantinedRows,
)
from cumulus_ops.catalog.seals import Seals
from cumulus_ops.catalog.values import ValueState
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import CumulusError, InputProblem
from cumulus_ops.project.processes import reach
from cumulus_ops.repair.damage import Damage, Outcome
from cumulus_ops.repair.others import put_in_place
from cumulus_ops.sources.foreign import make_source
from cumulus_ops.sources.landing import drop_delivery

__all__ = ["find_delivery", "repair_log", "say_consequences"]


Say = Callable[[str], None]
#: A source that counts in its server cannot be asked for what it has handed over.
ONCE_ONLY = ("postgres",)
#: So many deliveries of a source are looked at for one that was appended.
DELIVERIES = 10_000


def repair_log(rt: Runtime, damages: Sequence[Damage], on_progress: Say) -> Outcome:
    """Make files of the log and the quarantine again, delivery by delivery, the oldest first: a later one is compared with those before."""
    outcome = Outcome()
    for first, mine in sorted(_by_delivery(rt, damages).items()):
        try:
            batches = _batches_of(rt, first)
            outcome += _repair_delivery(rt, batches, mine, on_progress)
        except CumulusError as problem:
            place = f"{problem.place}: " if problem.place else ""
            why = f"there is no second source of it: {place}{problem.message}"
            outcome += Outcome(left=tuple((damage, f"{why}. {say_consequences(rt, damage)}") for damage in mine))
    return outcome


def _by_delivery(rt: Runtime, damages: Sequence[Damage]) -> dict[int, list[Damage]]:
    """The first batch of a delivery -> what is damaged of it."""
    found: dict[int, list[Damage]] = {}
    for damage in damages:
        assert isinstance(damage.row, LogFile | QuarantinedRows)
        batch = rt.catalog.log.batch(damage.row.batch)
        found.setdefault(_batches_of(rt, batch.id)[0].id, []).append(damage)
    return found


def _batches_of(rt: Runtime, batch: int) -> list[Batch]:
    """The batches of the delivery that a batch is of, in their order."""
    one = rt.catalog.log.batch(batch)
    others = rt.catalog.log.batches(coordinator=one.coordinator, epoch=one.epoch)
    mine = [b for b in others if (b.space, b.drop) == (one.space, one.drop)]
    return sorted(mine, key=lambda b: b.part)


def _repair_delivery(rt: Runtime, batches: Sequence[Batch], damages: Sequence[Damage], on_progress: Say) -> Outcome:
    then = rt.as_of(batches[0].epoch)
    done, left = [], []
    with find_delivery(then, batches[0]) as delivery, rt.catalog.leases.step() as step:
        reach("repair.before-files")
        written = write_again(then.project, _CatalogBefore(rt.catalog, batches[0].id), delivery, batches[0], step.label)
        reach("repair.before-commit")
        made = _name_files(written)
        for damage in damages:
            assert isinstance(damage.row, LogFile | QuarantinedRows)
            same = made.get((type(damage.row).__name__, damage.row.relation), [])
            new = next((file for file in same if file.checksums == damage.row.checksums), None)
            if new is not None:
                same.remove(new)
                put_in_place(rt.project.state, new.path, damage.row.path)
                how = f"read again from {delivery.place or delivery.name}, byte for byte what it was"
                on_progress(f"{damage.holds}: {how}")
                done.append((damage, how))
            else:
                why = f"{delivery.place or delivery.name} has other rows by now, or another version of Cumulus has read it"
                left.append((damage, f"{why}. {say_consequences(rt, damage)}"))
        for file in (file for files in made.values() for file in files):
            (rt.project.state / file.path).unlink(missing_ok=True)
    return Outcome(tuple(done), tuple(left))


def _name_files(written: Sequence[NewBatch]) -> dict[tuple[str, str], list[LogFile | NewQuarantine]]:
    """The files that were written, by what the catalog has of those that were written before. Of which batch each was, it alone says: a drop may be cut
    otherwise by now, as other memory or another program allows it."""
    found: dict[tuple[str, str], list[LogFile | NewQuarantine]] = {}
    for new in written:
        for log in new.log_files:
            found.setdefault(("LogFile", log.relation), []).append(log)
        for rejected in new.quarantine_files:
            found.setdefault(("QuarantinedRows", rejected.relation), []).append(rejected)
    return found


@contextmanager
def find_delivery(rt: Runtime, first: Batch) -> Iterator[Delivery]:
    """A delivery that was appended, once more, to be read within.

    Raises:
        InputProblem: nothing has it any more.
    """
    if first.tick is not None or first.retry_of is not None or first.space == RETRIES:
        message = f"{first.drop} is no delivery, but what somebody has asked to be read again"
        raise InputProblem(message, kind="no-second-source")
    if first.space == "":
        folder = rt.project.landing / str(first.coordinator) / first.drop
        if not folder.is_dir():
            raise InputProblem("the drop is not there any more", kind="no-second-source", place=str(folder))
        yield drop_delivery(rt.project, folder)
        return
    settings = next((s for s in rt.project.sources if s.name == first.space), None)
    if settings is None or settings.kind in ONCE_ONLY:
        message = f"source {first.space} hands over nothing twice"
        raise InputProblem(message, kind="no-second-source")
    source = make_source(rt.project, settings, rt.catalog)
    try:
        position = _position_before(rt, first)
        found = (d for d in islice(source.poll(position), DELIVERIES) if d.name == first.drop)
        delivery = next(found, None)
        if delivery is None:
            raise InputProblem(f"source {first.space} does not hand it over any more", kind="no-second-source")
        yield delivery
    finally:
        source.close()


def _position_before(rt: Runtime, first: Batch) -> str | None:
    """Where a source was before a batch, or earlier."""
    try:
        return rt.catalog.deliveries.source_positions(first.epoch - 1).get(first.space)
    except InputProblem:  # that is not retained: from its beginning
        return None


# The catalog as it was before a delivery.


class _CatalogBefore(Catalog):
    """What an append asks, answered as it would have been before a batch. Nothing is written by it."""

    def __init__(self, catalog: Catalog, batch: int) -> None:
        self.__dict__.update(catalog.__dict__)
        self.log = _LogBefore(catalog.log, batch)
        self.key_indexes = _KeysBefore(catalog.key_indexes, batch)
        self.seals = _SealsBefore(catalog.seals)


class _LogBefore(EventLog):
    def __init__(self, log: EventLog, batch: int) -> None:
        self.__dict__.update(log.__dict__)
        self._before = batch

    def files_within(self, source: str, lowest: int, highest: int) -> list[LogFile]:
        return [file for file in super().files_within(source, lowest, highest) if file.batch < self._before]


class _KeysBefore(KeyIndexes):
    """Indexes that are built from the log before a batch, when they are first asked for."""

    def __init__(self, indexes: KeyIndexes, batch: int) -> None:
        self.__dict__.update(indexes.__dict__)
        self._before, self._built = batch, dict[str, KeyIndex]()

    def index(self, relation: str) -> KeyIndex | None:
        return self._built.get(relation)

    def log(self, relation: str) -> tuple[int, list[tuple[LogFile, int, int, str]]]:
        last, files = super().log(relation)
        return last, [entry for entry in files if entry[0].batch < self._before]

    def lowest_open_epoch(self) -> int:
        return 0

    def put(
        self, relation: str, signature: str, covers: int, runs: Sequence[NewKeyRun], replaced: KeyIndex | None
    ) -> None:
        known = tuple(KeyRun(**vars(run), id=i, first=1, last=1) for i, run in enumerate(runs))
        self._built[relation] = KeyIndex(relation, 1, signature, covers, False, known)


class _SealsBefore(Seals):
    """No value is known to be sealed: of an event that was rejected for one, what is written shows that it was not."""

    def __init__(self, seals: Seals) -> None:
        self.__dict__.update(seals.__dict__)

    def known_open(self, coordinator: int) -> tuple[int, Mapping[tuple[str, str], frozenset[str]]]:
        return 0, {}

    def value_states(self, coordinator: int, relation: str, seal: str, values: Sequence[str]) -> dict[str, ValueState]:
        return {}


# What cannot be made again.


def say_consequences(rt: Runtime, damage: Damage) -> str:
    """What the loss of a file concerns, and what is still right."""
    row = damage.row
    if isinstance(row, QuarantinedRows):
        return "Its rows cannot be shown or read again; nothing that counts is concerned. `cumulus quarantine drop` decides about them"
    assert isinstance(row, LogFile)
    batch, nets = rt.catalog.log.batch(row.batch), rt.catalog.net_tables.all()
    concerned = rt.plan.concerned({row.relation})
    views = {v.name: any(rt.plan.group_of[name] in concerned for name in v.maps()) for v in rt.program.views}
    net = next((n for n in nets if n.relation == row.relation and n.epoch >= batch.epoch), None)
    said = [f"It has {row.rows:,} events of {row.relation}, in epoch {batch.epoch}"]
    if batch.state not in ("applied", "retired"):
        said.append(f"They are not in the maps: epoch {batch.epoch} waits until the file is restored")
    elif net is None:
        said.append(
            f"They are in the maps, so what is read and published is right; from epoch {batch.epoch} on it cannot be proved any more"
        )
    else:
        said.append(
            f"They are in the maps, so what is read and published is right; epochs from {net.epoch} on are proved by a net table, epochs before are not"
        )
    if concerned_views := [name for name, is_concerned in views.items() if is_concerned]:
        said.append(
            f"Views that read it: {', '.join(concerned_views)}. While it is missing, `cumulus anew` cannot make their maps again"
        )
    if others := [name for name, is_concerned in views.items() if not is_concerned]:
        said.append(f"Not concerned: {', '.join(others)}")
    return ". ".join(said)
