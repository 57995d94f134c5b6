"""What a recovery does: from what each damaged file is made again, what that costs, and what is not touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cumulus_ops.catalog.net_tables import NetTable
from cumulus_ops.catalog.records import Run
from cumulus_ops.compute.extend import relations_read
from cumulus_ops.files.net_tables import find_nets
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.versions import epoch_of
from cumulus_ops.repair.damage import (
    FOREIGN,
    KEY_INDEX,
    LOG,
    NET_TABLE,
    PUBLISHED,
    QUARANTINE,
    RUN,
    STATE_FILE,
    UNREADABLE,
    Damage,
)

__all__ = ["ORDER", "Plan", "Repair", "plan_repair"]


#: In this order, what is made again later is made from what is made again before.
ORDER = (STATE_FILE, LOG, QUARANTINE, NET_TABLE, KEY_INDEX, RUN, PUBLISHED, FOREIGN)
#: Rows of the log that are read in a second, about; of a small step the rest is what it takes to begin.
ROWS_PER_S, BEGIN_S = 300_000, 0.2


@dataclass(frozen=True)
class Repair:
    """What is made again together: ``damages`` of one ``kind``, ``source``, from what, in words; ``rows`` that have to be read for it, about, and ``seconds``;
    and what is tried if that does not help (``wider``)."""

    kind: str
    damages: tuple[Damage, ...]
    source: str
    rows: int
    seconds: float
    wider: str


@dataclass(frozen=True)
class Plan:
    """All repairs, in their order."""

    repairs: tuple[Repair, ...]

    @property
    def seconds(self) -> float:
        """How long it takes, about."""
        return sum(repair.seconds for repair in self.repairs)


def plan_repair(rt: Runtime, damages: Sequence[Damage]) -> Plan:
    """The smallest repair of what is damaged; none of what cannot be read and may be whole. Nothing is changed."""
    repairs = []
    for kind in ORDER:
        mine = tuple(damage for damage in damages if damage.kind == kind and damage.problem != UNREADABLE)
        for source, part in _group(rt, kind, mine).items():
            rows = _count_rows(rt, kind, part)
            repairs.append(Repair(kind, tuple(part), source, rows, BEGIN_S + rows / ROWS_PER_S, WIDER[kind]))
    return Plan(tuple(repairs))


WIDER = {
    STATE_FILE: "",
    LOG: "restore the file from a copy of the state folder, of any age; without any, see what the report says of it",
    QUARANTINE: "restore the file from a copy of the state folder; without any, its rows are lost, and nothing else",
    NET_TABLE: "it is let go: the log is read instead",
    KEY_INDEX: "",
    RUN: "`cumulus anew`, which makes all maps again from the event log",
    PUBLISHED: "the table is put aside, and begins anew with the snapshots that can be read",
    FOREIGN: "",
}


def _group(rt: Runtime, kind: str, damages: Sequence[Damage]) -> dict[str, list[Damage]]:
    """source in words -> what is made from it."""
    groups: dict[str, list[Damage]] = {}
    for damage in damages:
        groups.setdefault(_say_source(rt, kind, damage), []).append(damage)
    return groups


def _say_source(rt: Runtime, kind: str, damage: Damage) -> str:
    match kind, damage.row:
        case "run", Run():
            what = (
                "the events"
                if epoch_of(damage.row.min_version) >= rt.catalog.snapshots.oldest_readable()
                else "the rows"
            )
            return f"{what} of {', '.join(sorted(_relations(rt, damage.row))) or 'no relation'}, and the other maps"
        case "log" | "quarantine", _:
            return "the drop that landed, or what its source hands over once more"
        case "net-table", NetTable():
            return f"the log of {damage.row.relation}"
        case "key-index", _:
            return f"the log of {damage.subject}"
        case "published", _:
            return "the maps"
        case "foreign", _:
            return "nothing: it is moved to kept/foreign"
    return "the catalog"


def _relations(rt: Runtime, run: Run) -> frozenset[str]:
    return relations_read(rt.plan, {run.map}) if run.map in rt.plan.groups else frozenset()


def _count_rows(rt: Runtime, kind: str, damages: Sequence[Damage]) -> int:
    """How many rows are read."""
    if kind == RUN:
        return _count_for_runs(rt, [damage.row for damage in damages if isinstance(damage.row, Run)])
    if kind == KEY_INDEX:
        names = {damage.subject for damage in damages}
        return sum(file.rows for name in names for file, *_ in rt.catalog.key_indexes.log(name)[1])
    if kind == NET_TABLE:
        nets = [damage.row for damage in damages if isinstance(damage.row, NetTable)]
        return sum(file.rows for net in nets for file in rt.catalog.net_tables.log_files(net.epoch, {}, net.relation))
    return sum(damage.row.rows for damage in damages if damage.row is not None)


def _count_for_runs(rt: Runtime, runs: Sequence[Run]) -> int:
    """Of live and recent versions the events of their epochs; of older ones what remains of the relations."""
    relations = frozenset[str]().union(*(_relations(rt, run) for run in runs)) if runs else frozenset()
    first = min((epoch_of(run.min_version) for run in runs), default=0)
    last = max((epoch_of(run.max_version) for run in runs), default=0)
    oldest, read = rt.catalog.snapshots.oldest_readable(), 0
    if first < oldest or first <= 0:
        # nothing is verified here: who reads a net table lets it go if it is damaged
        nets = find_nets(rt.catalog, oldest, [r for r in rt.program.relations if r.name in relations])
        after = {r.name: nets[r.name].epoch if r.name in nets else -1 for r in rt.program.relations}
        logged = rt.catalog.net_tables.log_since(oldest, after)
        read = sum(net.rows for net in nets.values()) + sum(logged[r].rows for r in relations & logged.keys())
        first = oldest + 1
    after = dict.fromkeys((relation.name for relation in rt.program.relations), first - 1)
    since = rt.catalog.net_tables.log_since(last, after) if last >= first else {}
    return read + sum(found.rows for name, found in since.items() if name in relations)
