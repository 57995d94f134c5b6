"""Compacting the log: net tables of relations, from which others read instead of from the log's beginning (docs/adr/0065)."""

from __future__ import annotations

import logging
from contextlib import suppress

from cumulus_ops.catalog.net_tables import NetTable
from cumulus_ops.compute.reading import rows_within
from cumulus_ops.files.net_tables import choose_base_files, find_nets, is_due, write_net_table
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, CumulusError
from cumulus_ops.project.processes import reach
from cumulus_ops.publishing.telling import watch_step
from m3.program import Relation

__all__ = ["compact", "compact_when_due"]

log = logging.getLogger(__name__)


def compact_when_due(rt: Runtime) -> None:
    """Compact; whatever goes wrong holds nobody up, for the log says the same."""
    with suppress(Conflict):  # somebody else does it
        try:
            compact(rt)
        except Conflict:
            raise
        except (CumulusError, OSError) as problem:
            log.warning("the log is not compacted: %s", problem)


@watch_step("compact")
def compact(rt: Runtime) -> int:
    """Write net tables as of the newest snapshot, of the relations for which that pays; returns how many.

    Raises:
        Conflict: somebody else has done so meanwhile, or something is gone.
    """
    epoch = rt.catalog.snapshots.newest()
    if epoch < 0 or not rt.plan.versions.summed:  # else the order of events matters
        return 0
    relations = rt.as_of(epoch).program.relations  # a snapshot of the revision before is proved from it
    nets = find_nets(rt.catalog, epoch, relations)
    since = rt.catalog.net_tables.log_since(epoch, {name: net.epoch for name, net in nets.items()})
    due = [
        relation
        for relation in relations
        if relation.name in since
        and is_due(nets[relation.name].rows if relation.name in nets else 0, since[relation.name])
    ]
    for relation in due:
        _compact(rt, relation, epoch)
    return len(due)


def _compact(rt: Runtime, relation: Relation, epoch: int) -> NetTable:
    with rt.catalog.leases.step() as step:
        chosen = choose_base_files(rt.project.state, rt.catalog, epoch, [relation])
        base = chosen.nets.get(relation.name)
        newest = max((net.epoch for net in rt.catalog.net_tables.all() if net.relation == relation.name), default=None)
        files = [file for file in chosen.files if file.relation == relation.name]
        reach("compact.before-files")
        limit = rows_within(rt.project.memory_bytes)
        new = write_net_table(
            rt.project.state, relation, files, None if base is None else base.epoch, epoch, limit, step.label
        )
        reach("compact.before-commit")
        rt.catalog.net_tables.put(new, newest)
        reach("compact.after-commit")
        return new
