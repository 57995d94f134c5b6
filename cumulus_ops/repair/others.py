"""Key indexes, net tables and files that nobody knows: what is made again from the log, and what is put aside."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from cumulus_ops.catalog.net_tables import NetTable
from cumulus_ops.compute.reading import rows_within
from cumulus_ops.files.net_tables import write_net_table
from cumulus_ops.keys.building import build, prove_index
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, CumulusError
from cumulus_ops.project.processes import reach
from cumulus_ops.project.small_files import sync_folder
from cumulus_ops.repair.damage import Damage, Outcome

__all__ = ["put_aside", "put_in_place", "repair_key_indexes", "repair_net_tables"]


Say = Callable[[str], None]
#: As often is something built again when others append meanwhile.
ATTEMPTS = 5


def repair_key_indexes(rt: Runtime, damages: Sequence[Damage], on_progress: Say) -> Outcome:
    """Build the indexes from the log, a relation's as a whole: a run of one says what the newest events of its keys have left, which others' do not."""
    outcome = Outcome()
    for name in dict.fromkeys(damage.subject for damage in damages):
        mine = [damage for damage in damages if damage.subject == name]
        try:
            how = _build(rt, name, on_progress)
        except CumulusError as problem:
            outcome += Outcome(left=tuple((damage, f"{problem.place}: {problem.message}") for damage in mine))
        else:
            outcome += Outcome(done=tuple((damage, how) for damage in mine))
    return outcome


def _build(rt: Runtime, name: str, on_progress: Say) -> str:
    relation = rt.project.relation(name)
    for attempt in range(ATTEMPTS):
        try:
            with rt.catalog.leases.step() as step:
                reach("repair.before-files")
                build(rt.project, rt.catalog, relation, step.label)
                reach("repair.after-commit")
                proof = prove_index(rt.project, rt.catalog, relation, step.label)
            break
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
    said = "" if proof is None or proof.differ else ", and says what the log says"
    on_progress(f"key index of {name}: built again from the log{said}")
    return f"built again from the log{said}"


def repair_net_tables(rt: Runtime, damages: Sequence[Damage], on_progress: Say) -> Outcome:
    """Write them again from the log, as of the same epochs; if what is written is what was written, in the same place."""
    outcome = Outcome()
    for damage in damages:
        net = damage.row
        assert isinstance(net, NetTable)
        try:
            how = _write_net(rt, net)
        except CumulusError as problem:
            outcome += Outcome(left=((damage, f"{problem.place}: {problem.message}"),))
        else:
            on_progress(f"{damage.holds}: {how}")
            outcome += Outcome(done=((damage, how),))
    return outcome


def _write_net(rt: Runtime, net: NetTable) -> str:
    root, relation = rt.project.state, rt.as_of(net.epoch).project.relation(net.relation)
    others = [t for t in rt.catalog.net_tables.all() if t.relation == net.relation and t.path != net.path]
    with rt.catalog.leases.step() as step:
        base = next((t for t in others if t.epoch == net.base), None)
        after = {} if base is None else {net.relation: base.epoch}
        files = [
            *([] if base is None else [base.file]),
            *rt.catalog.net_tables.log_files(net.epoch, after, net.relation),
        ]
        reach("repair.before-files")
        what = (None if base is None else base.epoch, net.epoch, rows_within(rt.project.memory_bytes), step.label)
        new = write_net_table(root, relation, files, *what)
        reach("repair.before-commit")
        if new.checksums == net.checksums:
            put_in_place(root, new.path, net.path)
            return "written again from the log, byte for byte"
        is_same = (new.rows, new.total) == (net.rows, net.total) and net.total is not None
        rt.catalog.net_tables.drop(net, later=False)
        if all(other.epoch < net.epoch for other in others):
            rt.catalog.net_tables.put(new, max((other.epoch for other in others), default=None))
            reach("repair.after-commit")
            return "written again from the log" + (", with the same rows" if is_same else "")
        return "not needed: the log is read instead"


def put_in_place(root: Path, new: str, old: str) -> None:
    """Let a file that is the same as one was be in its place: its row in the catalog is right for it. Both are relative to the state folder."""
    os.replace(root / new, root / old)
    sync_folder((root / old).parent)
    reach("repair.after-commit")


def put_aside(rt: Runtime, damages: Sequence[Damage], on_progress: Say) -> Outcome:
    """Move files that nobody knows out of the way, and keep them: they may be somebody's."""
    done = []
    for damage in damages:
        kept = rt.project.state / "kept" / "foreign" / damage.file
        kept.parent.mkdir(parents=True, exist_ok=True)
        reach("repair.before-commit")
        os.replace(rt.project.state / damage.file, kept)
        where = f"moved to {kept.relative_to(rt.project.state)}: delete it when nobody misses it"
        on_progress(f"{damage.file}: {where}")
        done.append((damage, where))
    return Outcome(tuple(done))
