"""Hashes that the catalog has, compared with what they are hashes of."""

from __future__ import annotations

from collections.abc import Iterable

from cumulus_ops.catalog.records import NewRun
from cumulus_ops.maps.hashes import Hashes, add_hashes, hash_run, rows_of_table
from cumulus_ops.maps.packs import open_run
from cumulus_ops.maps.runs import merge_runs
from cumulus_ops.opening.runtime import Runtime

__all__ = ["check_hashes", "hashes_of_copies"]

#: (group, access path) -> what its runs hold together
Copies = dict[tuple[str, str], Hashes]


def hashes_of_copies(runs: Iterable[NewRun]) -> Copies:
    """What the catalog says; of copies that add up to nothing there is none."""
    found: dict[tuple[str, str], list[Hashes]] = {}
    for run in runs:
        found.setdefault((run.map, run.access_path), []).append(Hashes(run.content, run.total))
    return {copy: known for copy, each in found.items() if (known := add_hashes(each)) != Hashes(0, 0)}


def check_hashes(rt: Runtime) -> Copies:
    """Each visible run has its root, and the hashes of its rows; and together those of a copy have the hashes of what they add up to. Of versions that were folded it may
    be unknown what they are worth."""
    runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
    opened = {run.id: open_run(rt.project.state / run.path, run.offset, run.bytes, run.root) for run in runs}
    for run in runs:
        assert run.root is not None
        assert _is_known(Hashes(run.content, run.total), hash_run(opened[run.id])), run
    copies = hashes_of_copies(runs)
    for (group, label), known in copies.items():
        mine = [opened[run.id] for run in runs if (run.map, run.access_path) == (group, label)]
        merged = merge_runs(mine, rt.plan.key_names(group), -1, 0)
        assert _is_known(known, rows_of_table(merged, mine[0].path.keys).hashes())
    return copies


def _is_known(known: Hashes, found: Hashes) -> bool:
    return known.total == found.total and known.content in (None, found.content)
