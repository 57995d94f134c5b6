"""Keeping the number of key runs small, in proportion to what is appended."""

from __future__ import annotations

import numpy as np

from cumulus_ops.catalog import Catalog, KeyIndex, KeyRun
from cumulus_ops.config import Project
from cumulus_ops.errors import Conflict
from cumulus_ops.faults import reach
from cumulus_ops.keys.building import signature
from cumulus_ops.keys.codes import KeyCodes
from cumulus_ops.keys.merging import RUN_ROWS, Keep, limited, merged, newest_first, pick
from cumulus_ops.keys.runs import KeyFile, open_run, stamped_epoch
from m3.program import Relation

__all__ = ["tidy_keys"]


def tidy_keys(project: Project, catalog: Catalog, label: str) -> int:
    """Merge runs of the indexes that have too many of one size. When others do the same at the same time, it is left to them.

    Args:
        project: the project.
        catalog: its catalog.
        label: of the step that does it.

    Returns:
        the number of runs that were replaced.
    """
    sizes = catalog.key_runs() if project.keys else {}
    crowded = [r for r in project.relations if r.name in project.keys and pick(sizes.get(r.name, []))]
    return sum(_tidy(project, catalog, relation, label) for relation in crowded)


def _tidy(project: Project, catalog: Catalog, relation: Relation, label: str) -> int:
    index = catalog.key_index(relation.name)
    if index is None or index.signature != signature(relation):
        return 0
    chosen = pick([(run.last, run.rows) for run in index.runs])
    runs = [run for run in index.runs if run.last in chosen]
    return _merge(project, catalog, relation, index, runs, label) if runs else 0


def _merge(
    project: Project, catalog: Catalog, relation: Relation, index: KeyIndex, runs: list[KeyRun], label: str
) -> int:
    file = KeyFile(project.state, label)
    keep = _living(catalog.lowest_open_epoch()) if len(runs) == len(index.runs) else None
    try:
        opened = [open_run(project.state, relation, run) for run in newest_first(runs)]
        parts = merged(KeyCodes.of(relation), opened, [c.name for c in relation.columns], keep)
        new = [run for some in limited(parts, RUN_ROWS) if (run := file.write(relation, some)) is not None]
        file.close()
        reach("keys.before-merge")
        catalog.commit_key_merge(runs, new)
        reach("keys.after-merge")
    except Conflict:
        file.discard()
        return 0
    except BaseException:
        file.discard()
        raise
    return len(runs)


def _living(lowest_open: int) -> Keep:
    """With the oldest run merged, a key that is gone may be forgotten, unless somebody is still in an epoch before that."""

    def keep(counts: np.ndarray, stamps: np.ndarray) -> np.ndarray:
        return (counts > 0) | (stamped_epoch(stamps) > lowest_open)

    return keep
