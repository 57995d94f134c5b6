"""Restoring the catalog from a backup: a generation that begins where the backup was made, with all maps that are there (docs/adr/0083).

======================================  ================================================================================================
what came after the backup              what becomes of it
======================================  ================================================================================================
events                                  are read again from where they came from: the catalog says how far each source was, and which drops were taken
votes, ends of epochs, snapshots        are made again, over the same events; which epoch an event is in may be another one
rows that readers have seen             stay until the next publishing, which replaces them
files of log, maps and key indexes      are moved to ``kept/``: this catalog does not know what counts in them
decisions (batches and rows put aside,  are not known, and have to be made again
members, deployments)
======================================  ================================================================================================

Nothing is deleted, and each step leaves a state from which ``cumulus restore`` goes on when it is killed:

1. the copy is prepared beside the state folder: brought to this version's schema, and made that of the new generation;
2. ``begins.json`` says that a generation begins, and a catalog that is there is backed up;
3. the state folder is claimed for the generation, so that whoever has the lost catalog open does no more harm;
4. one transaction replaces what is in the catalog;
5. what came after the backup is moved away;
6. what is lost of maps is made again.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.copies import is_usable, renew, replace_catalog
from cumulus_ops.catalog.database import Database, database_problem, schema_version
from cumulus_ops.catalog.identity import (
    Beginning,
    Identity,
    claim,
    claimed_by,
    end_beginning,
    home_of,
    note_beginning,
)
from cumulus_ops.epochs.backups import Backup, back_up, list_backups, read_backup, verify_backup
from cumulus_ops.epochs.generations import begin_anew, next_generation
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import CumulusError, InputProblem, NotYet, SetupProblem
from cumulus_ops.project.names import shown_url
from cumulus_ops.project.processes import reach
from cumulus_ops.project.settings import Project
from cumulus_ops.project.small_files import locked_folder
from cumulus_ops.publishing.telling import tell_where_coordinators_are
from cumulus_ops.repair.after_loss import Later, Losses, bring_back, find_later, find_losses, forget_derived, keep_later
from cumulus_ops.repair.recover import recover

log = logging.getLogger(__name__)
__all__ = ["RestorePlan", "Restored", "find_backup", "opened_plan", "restore", "taken_as_it_is"]

#: Of a catalog that is there, and replaced: as of which commit.
MISSING, DAMAGED, EMPTY = "missing", "damaged", "empty"
#: The copy that takes the catalog's place, in the state folder.
PREPARED = ".restore.db"


@dataclass(frozen=True)
class RestorePlan:
    """What restoring a ``backup`` will do: the catalog becomes ``new``, in the place of ``found`` (``missing``, ``damaged``, ``empty``, or as of which commit it is).
    ``prepared`` is the copy that takes its place."""

    backup: Backup
    new: Identity
    found: str | int
    losses: Losses
    later: Later
    prepared: Path
    batches: int

    @property
    def makes_again(self) -> bool:
        """Whether files of maps are missing, and what they held is made again."""
        return bool(self.losses.runs)


@dataclass(frozen=True)
class Restored:
    """``replaced``: where the catalog is that was there before, None if there was none. ``kept``: where files are that came after the backup. ``waiting``: source (or
    ``landing``) -> deliveries that wait; more may come behind them. ``problems``: why a source cannot go on from where the backup was. ``is_whole``: all that was lost of maps is there again;
    else all maps are made anew from the event log, in another generation."""

    identity: Identity
    replaced: Path | None
    kept: Path | None
    waiting: dict[str, int]
    problems: dict[str, str]
    is_whole: bool = True


def find_backup(project: Project, place: Path | None) -> Backup:
    """The backup in a folder, or the newest one in a folder of backups.

    Args:
        project: the project.
        place: the folder; None for that of the project's settings.

    Raises:
        SetupProblem: there is none.
        InputProblem: nothing says where backups are.
    """
    if place is None:
        if project.backup is None:
            hint = "name a backup's folder; or say in cumulus.yaml where they are: `backup: {to: FOLDER}`"
            raise InputProblem("the project has no folder of backups", kind="no-backup", hint=hint)
        place = project.backup.to
    found = claimed_by(project.state)
    backups = [b for b in list_backups(place) if found is None or b.installation == found.installation]
    return backups[0] if backups else read_backup(place)


@contextmanager
def taken_as_it_is(project: Project) -> Iterator[Backup]:
    """The catalog that is there, which somebody has restored by other means, as a backup."""
    folder = project.state / f".restore.{os.getpid()}"
    try:
        with closing(Catalog(project.catalog_url)) as catalog:
            backup = back_up(catalog, folder, record=False)
        yield backup
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def opened_plan(project: Project, backup: Backup, *, as_it_is: bool = False) -> Iterator[RestorePlan]:
    """What restoring a backup will do; nothing is changed.

    Args:
        project: the project.
        backup: the backup.
        as_it_is: it is the catalog that is there.

    Raises:
        IntegrityProblem: the backup is damaged.
        SetupProblem: state folder, catalog and backup do not belong together.
    """
    found = claimed_by(project.state)
    if found is not None and found.installation != backup.installation:
        message = f"the backup is of installation {backup.installation[:8]}, and the state folder is that of {found.installation[:8]}"
        hint = "name the `state:` that belongs to it, or another backup"
        raise SetupProblem(message, kind="state-of-another", place=str(backup.place), hint=hint)
    project.state.mkdir(parents=True, exist_ok=True)
    prepared = project.state / PREPARED
    with _alone(project):
        standing = _look_at_catalog(project, backup)
        verify_backup(backup)
        _remove(prepared)  # of somebody who was killed
        shutil.copyfile(backup.copy, prepared)
        before = found or Identity(backup.installation, backup.generation)
        new = Identity(backup.installation, next_generation(project, before, before))
        with closing(Catalog(f"sqlite:///{prepared}")) as catalog:
            catalog.database.migrate()
            losses = find_losses(catalog, project.state)
            if found is None and losses.log:
                raise _state_lost(project)
            forget_derived(catalog, losses)
            row = None if as_it_is else backup.last(holds=project.backup is not None).row
            renew(catalog.database, new, row)
            later = find_later(catalog, project.state, before, backup.made_at)
            batches = len([b for b in catalog.log.batches() if b.counts])
        try:
            yield RestorePlan(backup, new, standing, losses, later, prepared, batches)
        finally:
            _remove(prepared)


@contextmanager
def _alone(project: Project) -> Iterator[None]:
    """Nobody else restores this project meanwhile.

    Raises:
        NotYet: somebody does.
    """
    try:
        with locked_folder(project.state):
            yield
    except BlockingIOError:
        raise NotYet("somebody else restores it just now", kind="restoring", place=str(project.state)) from None


def _remove(prepared: Path) -> None:
    for file in prepared.parent.glob(f"{prepared.name}*"):
        file.unlink()


def _state_lost(project: Project) -> SetupProblem:
    message = "the state folder has nothing of what the backup names: a catalog alone answers nothing"
    hint = "restore the state folder first, or name the right one (`state:`); else `cumulus anew --from-sources`"
    return SetupProblem(message, kind="state-lost", place=str(project.state), hint=hint)


def _look_at_catalog(project: Project, backup: Backup) -> str | int:
    """What is there in the place of the catalog.

    Raises:
        SetupProblem: it is another project's, or another version's, or cannot be reached.
    """
    with closing(Database(project.catalog_url)) as database:
        try:
            schema = schema_version(database.reader)
            if schema is None or not is_usable(database):
                if schema is not None:
                    database.check_schema()
                return MISSING if schema is None else EMPTY
            identity = database.identity()
            if identity is not None and identity.installation != backup.installation:
                message = f"the catalog is that of installation {identity.installation[:8]}, and the backup that of {backup.installation[:8]}"
                hint = "name the `catalog:` that is to be restored, or another backup"
                raise SetupProblem(message, kind="catalog-of-another", place=shown_url(project.catalog_url), hint=hint)
        except Exception as error:
            problem = database_problem(error)
            if problem is None:
                raise
            if problem.kind != "catalog-damaged":
                raise problem from error
            return DAMAGED
    with closing(Catalog(project.catalog_url)) as catalog:
        return catalog.commits.last_commit()


def restore(project: Project, plan: RestorePlan) -> Restored:
    """Do what a plan says. Killed at any point it can be run again."""
    root, new = project.state, plan.new
    reach("restore.prepared")
    found = claimed_by(root) or Identity(new.installation, plan.backup.generation)
    note_beginning(root, Beginning(found, new))
    reach("restore.begun")
    replaced = _keep_replaced(project, plan)
    claim(root, new, instead=True)
    bring_back(root, plan.losses.kept)
    reach("restore.claimed")
    with closing(Catalog(project.catalog_url)) as catalog:
        replace_catalog(plan.prepared, catalog.database)
        reach("restore.after-commit")
        catalog.installation.record_home(home_of(root, project.catalog_url))
    end_beginning(root)
    reach("restore.before-files")
    kept = root / "kept" / f"after-{plan.backup.place.name}" if plan.later.files else None
    if kept is not None:
        keep_later(root, plan.later.files, kept)
    initialise(project, goes_on=True)
    is_whole = not plan.makes_again or _make_again(project, plan.losses.runs)
    identity = new if is_whole else begin_anew(project).identity
    return Restored(identity, replaced, kept, *_look_at_sources(project), is_whole)


def _make_again(project: Project, runs: Sequence[str]) -> bool:
    """What lost files of maps held, from the log and the maps that are there, as `cumulus recover` does; whether nothing is left. Killed meanwhile, `cumulus recover` goes on, too."""
    try:
        with open_runtime(project, "inprocess") as rt:
            return not recover(rt, runs).outcome.left
    except CumulusError as problem:
        log.warning("the lost files of maps cannot be made again one by one: %s", problem)
        return False


def _keep_replaced(project: Project, plan: RestorePlan) -> Path | None:
    """Whatever is there instead of the catalog stays somewhere."""
    if plan.found == DAMAGED:
        return _move_damaged(project)
    if isinstance(plan.found, str):
        return None
    with closing(Catalog(project.catalog_url)) as catalog:
        return back_up(catalog, project.state / "kept" / "catalogs", record=False).place


def _move_damaged(project: Project) -> Path:
    """A SQLite file, with what belongs to it."""
    file = Path(project.catalog_url.removeprefix("sqlite:///"))
    to = file.with_name(f"{file.name}.damaged-{os.urandom(3).hex()}")
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            file.with_name(file.name + ending).rename(to.with_name(to.name + ending))
    return to


def _look_at_sources(project: Project) -> tuple[dict[str, int], dict[str, str]]:
    """What waits to be read again, and which sources cannot be read from where they are now."""
    with open_runtime(project, "inprocess") as rt:
        tell_where_coordinators_are(rt)
        waiting: dict[str, int] = {}
        for member in rt.catalog.members.membership().active():
            for delivery in rt.sources.pending(member.coordinator):
                name = delivery.space(member.coordinator) or "landing"
                waiting[name] = waiting.get(name, 0) + 1
        return waiting, dict(rt.sources.problems)
