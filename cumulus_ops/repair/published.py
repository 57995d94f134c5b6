"""Published tables: whether readers find what the catalog says, and publishing again what they do not.

A version whose snapshot can be read is compared with the maps; of others it is seen that their files can be read, if they are there. A file whose rows are in the maps still is written again, if that gives a file of the same size: then all versions that have it are what they were. Otherwise the table is put
aside, and begins anew with the snapshots that can be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import CumulusError, IntegrityProblem, ViewInError
from cumulus_ops.project.processes import reach
from cumulus_ops.publishing.delta_tables import read_version, rewrite_version
from cumulus_ops.publishing.publishing import publish_anew
from cumulus_ops.query.read import read_view
from cumulus_ops.repair.damage import DAMAGED, MISSING, PUBLISHED, WRONG, Damage, Outcome

__all__ = ["find_damaged_tables", "repair_tables"]


Say = Callable[[str], None]


def find_damaged_tables(rt: Runtime, only: Collection[str] = ()) -> Iterator[Damage]:
    """Versions that are not what was published: of each view the newest one, and those before that the catalog names."""
    folder, known = rt.project.published, {view.name for view in rt.program.views}
    if folder is None:
        return
    versions = rt.catalog.results.published()
    for view, newest in rt.catalog.results.newest_published().items():
        if view not in known or (only and str(folder / view) not in only):  # it is maintained no more; nobody asks
            continue
        epochs = {version: epoch for (name, epoch), version in sorted(versions.items(), reverse=True) if name == view}
        damages = [
            damage
            for version, epoch in sorted(epochs.items())
            if (damage := _look(rt, folder / view, view, epoch, version, is_newest=version == newest[1]))
        ]
        if (
            rt.catalog.results.newest_published().get(view) == newest
        ):  # else somebody has published it meanwhile, and maybe anew
            yield from damages


def _look(rt: Runtime, path: Path, view: str, epoch: int, version: int, *, is_newest: bool) -> Damage | None:
    if not path.is_dir():
        return _damage(path, view, epoch, version, MISSING, "its table is missing") if is_newest else None
    rows = _read(path, version)
    if isinstance(rows, IntegrityProblem):
        # an earlier one that is gone was let go by whoever owns the table (VACUUM), as far as anybody can tell
        is_gone = not is_newest and isinstance(rows.__cause__, FileNotFoundError | DeltaError)
        return None if is_gone else _damage(path, view, epoch, version, DAMAGED, rows.message)
    right = _read_maps(rt, view, epoch)
    if right is not None and not _is_same(rows, right):
        return _damage(path, view, epoch, version, WRONG, "its rows are not those of the maps")
    return None


def _read(path: Path, version: int) -> pa.Table | IntegrityProblem:
    """The rows of a version, or why they cannot be read."""
    try:
        return pa.concat_tables(read_version(path, version), promote_options="permissive")
    except IntegrityProblem as problem:
        return problem
    except pa.ArrowException as problem:
        return IntegrityProblem(str(problem), kind="unreadable-table", place=str(path))


def _read_maps(rt: Runtime, view: str, epoch: int) -> pa.Table | None:
    """The rows of a view as the maps have them; None if its snapshot cannot be read any more, or it is in error."""
    if epoch < rt.catalog.snapshots.oldest_readable():
        return None
    try:
        return read_view(rt.as_of(epoch), view, as_of=epoch)
    except ViewInError:
        return None
    except CumulusError:  # a map is damaged, and is told of by itself
        return None


def _is_same(rows: pa.Table, right: pa.Table) -> bool:
    """Whether each row is there as often, in whatever order."""
    if rows.column_names != right.column_names or len(rows) != len(right):
        return False
    try:
        both = [rows.cast(right.schema), right]
        weighed = [table.append_column("\0", pa.repeat(w, len(table))) for table, w in zip(both, (1, -1), strict=True)]
        together = pa.concat_tables(weighed)
        sums = together.group_by(rows.column_names, use_threads=False).aggregate([("\0", "sum")])["\0_sum"]
        return not len(sums) or pc.all(pc.equal(sums, 0)).as_py() is True
    except pa.ArrowNotImplementedError:  # lists cannot be grouped by
        return sorted(map(repr, rows.to_pylist())) == sorted(map(repr, right.to_pylist()))


def _damage(path: Path, view: str, epoch: int, version: int, problem: str, detail: str) -> Damage:
    holds = f"view {view} as of epoch {epoch}, version {version} of its published table"
    return Damage(PUBLISHED, str(path), holds, problem, detail, subject=view, offset=version)


def repair_tables(rt: Runtime, damages: Sequence[Damage], on_progress: Say) -> Outcome:
    """Write the files of damaged versions again; where that cannot be, put the table aside, and publish anew what can be read."""
    outcome = Outcome()
    for view in dict.fromkeys(damage.subject for damage in damages):
        mine = [damage for damage in damages if damage.subject == view]
        left = [damage for damage in mine if not _rewrite(rt, damage)]
        how = "its file is written again, with the rows of the maps"
        outcome += Outcome(tuple((damage, how) for damage in mine if damage not in left))
        newest = rt.catalog.results.newest_published()[view][1]
        if any(damage.offset == newest for damage in left):
            outcome += _begin_anew(rt, view, left)
        else:
            why = "its snapshot cannot be read from the maps any more, so it cannot be made again; later versions are right"
            outcome += Outcome(left=tuple((damage, why) for damage in left))
        on_progress(f"view {view}: {len(outcome.done)} versions of its published table made again")
    return outcome


def _rewrite(rt: Runtime, damage: Damage) -> bool:
    path = Path(damage.file)
    epochs = [
        e for (view, e), n in rt.catalog.results.published().items() if (view, n) == (damage.subject, damage.offset)
    ]
    rows = _read_maps(rt, damage.subject, min(epochs)) if epochs else None
    if rows is None or damage.offset is None or damage.problem == MISSING:
        return False
    reach("repair.before-commit")
    try:
        return rewrite_version(path, damage.offset, rows)
    except IntegrityProblem:  # its log is damaged
        return False


def _begin_anew(rt: Runtime, view: str, damages: Sequence[Damage]) -> Outcome:
    assert rt.project.published is not None
    path, kept = rt.project.published / view, ""
    before = {e for name, e in rt.catalog.results.published() if name == view}
    if path.exists():
        aside = next(free for n in count(1) if not (free := path.with_name(f".{view}.damaged-{n}")).exists())
        os.replace(path, aside)
        kept = f"; what was there is kept in {aside}"
    reach("repair.before-commit")
    epochs = publish_anew(rt, view)
    reach("repair.after-commit")
    gone = sorted(before - {*epochs})
    lost = f"; epochs {gone[0]} to {gone[-1]} cannot be made again, for their snapshots cannot be read" if gone else ""
    if not epochs:
        return Outcome(
            left=tuple(
                (damage, f"none of its snapshots can be read{kept}: the next one is published") for damage in damages
            )
        )
    how = f"its table begins anew with epochs {epochs[0]} to {epochs[-1]}{lost}{kept}"
    return Outcome(tuple((damage, how) for damage in damages))
