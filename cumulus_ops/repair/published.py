"""Published tables: whether readers find what the catalog says, and publishing again what they do not.

A version whose snapshot can be read is compared with the maps; of others it is seen that their files can be read, if they are there, and have as many rows as were published. A file whose rows are in the maps still is written again, if that gives a file of the same size: then all versions that have it are what they were. Otherwise the table is put
aside, and begins anew with the snapshots that can be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from cumulus_ops.epochs.finals import publish_lost_finals
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import CumulusError, IntegrityProblem, ViewInError
from cumulus_ops.project.processes import reach
from cumulus_ops.publishing.delta_tables import (
    REFUSED,
    contradicts_itself,
    open_table,
    read_version,
    rewrite_version,
)
from cumulus_ops.publishing.final_tables import final_table
from cumulus_ops.publishing.publishing import publish_anew
from cumulus_ops.query.answers import SealedView, find_sealed_views, read_final_rows
from cumulus_ops.query.read import read_view
from cumulus_ops.repair.damage import DAMAGED, MISSING, PUBLISHED, UNREADABLE, WRONG, Damage, Outcome

__all__ = ["find_damaged_tables", "repair_tables"]


Say = Callable[[str], None]


def find_damaged_tables(rt: Runtime, only: Collection[str] = ()) -> Iterator[Damage]:
    """Versions that are not what was published: of each view the newest one, and those before that the catalog names; and tables of final rows."""
    folder, known = rt.project.published, {view.name for view in rt.program.views}
    if folder is None:
        return
    yield from _find_damaged_finals(rt, only)
    versions = rt.catalog.results.published()
    for view, newest in rt.catalog.results.newest_published().items():
        if view not in known or (only and str(folder / view) not in only):  # it is maintained no more; nobody asks
            continue
        epochs = {version: epoch for (name, epoch), version in sorted(versions.items(), reverse=True) if name == view}
        counts = dict(rt.catalog.history.published_rows(0).get(view, ()))
        damages = [
            damage
            for version, epoch in sorted(epochs.items())
            if (damage := _look(rt, folder / view, epoch, version, counts.get(epoch), is_newest=version == newest[1]))
        ]
        if (
            rt.catalog.results.newest_published().get(view) == newest
        ):  # else somebody has published it meanwhile, and maybe anew
            yield from damages


def _find_damaged_finals(rt: Runtime, only: Collection[str]) -> Iterator[Damage]:
    """Tables of final rows that cannot be read, or do not have the rows that the maps have. One that is gone, or an older copy of itself, is published again
    by itself."""
    for view in find_sealed_views(rt):
        name, path = view.view.name, final_table(rt.project, view.view.name)
        if path is None or not path.is_dir() or (only and str(path) not in only):
            continue
        before, table = rt.catalog.finals.finals(name), None
        if all(final.delta_version is None for final in before):
            continue
        try:
            table = open_table(path)
            rows = IntegrityProblem("") if table is None else _read(path, table.version())
        except IntegrityProblem as problem:
            rows = problem
        version = -1 if table is None else table.version()
        if isinstance(rows, IntegrityProblem):
            if rows.message:
                yield _tell(_final_damage(path, name, version, DAMAGED, rows.message), rows)
            continue
        if any(final.delta_version is None for final in before) or rt.catalog.finals.finals(name) != before:
            continue  # somebody is just adding rows
        right = _read_finals(rt, view, [final.value for final in before])
        if right is not None and not _is_same(rows, right):
            yield _final_damage(path, name, version, WRONG, "its rows are not those of the maps")


def _read_finals(rt: Runtime, view: SealedView, values: Sequence[str]) -> pa.Table | None:
    """The rows of final partitions as the maps have them; None if they cannot be read, which is told by itself."""
    try:
        return read_final_rows(rt, view, values, checked=False)[0]
    except CumulusError:
        return None


def _final_damage(path: Path, view: str, version: int, problem: str, detail: str) -> Damage:
    holds = (
        f"final rows of view {view}, version {version} of their table" if version >= 0 else f"final rows of view {view}"
    )
    return Damage(PUBLISHED, str(path), holds, problem, detail, subject=view, offset=max(0, version))


def _look(rt: Runtime, path: Path, epoch: int, version: int, count: int | None, *, is_newest: bool) -> Damage | None:
    """A version, of which so many rows (None: nobody has counted them) were published."""
    view = path.name
    if not path.is_dir():
        return _damage(path, view, epoch, version, MISSING, "its table is missing") if is_newest else None
    rows = _read(path, version)
    if isinstance(rows, IntegrityProblem):
        # an earlier one that is gone was let go by whoever owns the table (VACUUM), as far as anybody can tell
        is_gone = not is_newest and isinstance(rows.__cause__, FileNotFoundError | DeltaError)
        return None if is_gone else _tell(_damage(path, view, epoch, version, DAMAGED, rows.message), rows)
    if is_newest and _contradicts_itself(rt, path):
        return _damage(path, view, epoch, version, DAMAGED, "its log says two things of which epoch it has")
    right = _read_maps(rt, view, epoch)
    if right is not None and not _is_same(rows, right):
        return _damage(path, view, epoch, version, WRONG, "its rows are not those of the maps")
    if right is None and count not in (None, len(rows)):
        return _damage(path, view, epoch, version, WRONG, f"it has {len(rows):,} rows, and {count:,} were published")
    return None


def _tell(damage: Damage, problem: IntegrityProblem) -> Damage:
    """What is said of a table that cannot be read: it may be whole."""
    return damage if problem.kind != REFUSED else replace(damage, problem=UNREADABLE, hint=problem.hint)


def _contradicts_itself(rt: Runtime, path: Path) -> bool:
    identity = rt.catalog.database.identity()
    if identity is None or rt.catalog.results.published_table(path.name) is None:  # it is from before tables had owners
        return False
    try:
        return contradicts_itself(path, identity.installation)
    except IntegrityProblem as problem:
        return problem.kind != REFUSED


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


#: Why an earlier version is left as it is.
NOT_IN_MAPS = (
    "its snapshot cannot be read from the maps any more, so it cannot be made again; later versions are right. If nobody needs those before, move the folder "
    "away: the table begins anew"
)


def repair_tables(rt: Runtime, damages: Sequence[Damage], on_progress: Say) -> Outcome:
    """Write the files of damaged versions again; where that cannot be, put the table aside, and publish anew what can be read."""
    outcome = Outcome()
    for file in dict.fromkeys(damage.file for damage in damages):
        mine = [damage for damage in damages if damage.file == file]
        view = mine[0].subject
        if Path(file) == final_table(rt.project, view):
            outcome += _begin_finals_anew(rt, Path(file), mine)
            on_progress(f"view {view}: its table of final rows begins anew")
            continue
        newest = rt.catalog.results.newest_published()[view][1]
        left = [d for d in mine if not _rewrite(rt, d) or _is_damaged(rt, d, is_newest=d.offset == newest)]
        how = "its file is written again, with the rows of the maps"
        outcome += Outcome(tuple((damage, how) for damage in mine if damage not in left))
        if any(damage.offset == newest or _is_readable(rt, damage) for damage in left):
            outcome += _begin_anew(rt, view, left)
        else:
            outcome += Outcome(left=tuple((damage, NOT_IN_MAPS) for damage in left))
        on_progress(f"view {view}: {len(outcome.done)} versions of its published table made again")
    return outcome


def _epochs(rt: Runtime, damage: Damage) -> list[int]:
    """Those of which a version is."""
    versions = rt.catalog.results.published().items()
    return [epoch for (view, epoch), version in versions if (view, version) == (damage.subject, damage.offset)]


def _is_damaged(rt: Runtime, damage: Damage, *, is_newest: bool) -> bool:
    """Still: with a file that is right its log may be wrong."""
    assert damage.offset is not None
    return _look(rt, Path(damage.file), min(_epochs(rt, damage)), damage.offset, None, is_newest=is_newest) is not None


def _is_readable(rt: Runtime, damage: Damage) -> bool:
    """Whether the maps have what a version has to show."""
    return any(_read_maps(rt, damage.subject, epoch) is not None for epoch in _epochs(rt, damage))


def _rewrite(rt: Runtime, damage: Damage) -> bool:
    path, epochs = Path(damage.file), _epochs(rt, damage)
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
    before = {e for name, e in rt.catalog.results.published() if name == view}
    kept = _move_away(rt.project.published / view)
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


def _begin_finals_anew(rt: Runtime, path: Path, damages: Sequence[Damage]) -> Outcome:
    """All rows that are final are in the maps."""
    kept = _move_away(path)
    reach("repair.before-commit")
    publish_lost_finals(rt)
    reach("repair.after-commit")
    how = f"its table begins anew with all rows that are final, from the maps{kept}"
    return Outcome(tuple((damage, how) for damage in damages))


def _move_away(path: Path) -> str:
    """Put a table's folder aside, if it is there; returns what is said of that."""
    if not path.exists():
        return ""
    aside = next(free for n in count(1) if not (free := path.with_name(f".{path.name}.damaged-{n}")).exists())
    os.replace(path, aside)
    return f"; what was there is kept in {aside}"
