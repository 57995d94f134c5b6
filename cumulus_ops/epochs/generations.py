"""Beginning anew: a new generation of an installation, from its event log or from its sources. Nothing is deleted by it but what can be made again.

======================================  =====================================  ====================================================
what has happened                       ``cumulus anew``                       ``cumulus anew --from-sources``
======================================  =====================================  ====================================================
views, or this version's formats, have  the maps are made from the event log   unless relations have other columns: not needed
changed; a stored map is damaged
the catalog was restored                the same, from the log that it names   if a log file that it names is gone
the project was copied                  it is an installation of its own       not needed
the catalog, or the state, is lost      refused                                log and quarantine are put aside, into ``kept``
======================================  =====================================  ====================================================

What a reader of a published table sees changes with the next publishing: rows of the generation before stay until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.identity import (
    Beginning,
    Identity,
    claim,
    claimed_by,
    draw_installation,
    end_beginning,
    has_log,
    home_of,
    is_beginning,
    is_original_there,
    note_beginning,
    read_beginning,
)
from cumulus_ops.catalog.records import LEFT_OUT
from cumulus_ops.compute.apply import start_deltas
from cumulus_ops.compute.reading import write_deltas
from cumulus_ops.opening.claims import FROM_SOURCES
from cumulus_ops.opening.columns import check_log, past_programs
from cumulus_ops.opening.runtime import compile_project, initialise
from cumulus_ops.project.errors import InputProblem, SetupProblem
from cumulus_ops.project.processes import reach
from cumulus_ops.project.settings import Project
from cumulus_ops.publishing.delta_tables import published_generation
from m3.clock import CLOCK
from m3.formatting import program_from_json
from m3.program import Program

__all__ = ["Anew", "begin_anew", "next_generation"]


#: Folders of the state that nobody can make again, or that the catalog names.
KEPT = ("log", "quarantine", "runs", "keys")
#: How the names of the files end that say which replication slots are an installation's (:mod:`cumulus_ops.sources.postgres.slot`).
SLOTS_OF = ".installation"


@dataclass(frozen=True)
class Anew:
    """What was begun: ``batches`` of the event log wait to be applied; or ``kept`` is where what was there lies now, None if there was nothing."""

    identity: Identity
    batches: int
    kept: Path | None


def begin_anew(project: Project, *, from_sources: bool = False) -> Anew:
    """Begin a new generation. Killed at any point it can be run again; other processes of the project that are at work are refused from then on.

    Raises:
        SetupProblem: the state folder and the catalog are of different installations, or of none; or a file of the log is gone.
        InputProblem: the log has other columns than the project's relations.
    """
    catalog = Catalog(project.catalog_url)  # without its folder: it may be older than what was seen there
    try:
        catalog.database.migrate()
        catalog.installation.ensure()
        found = claimed_by(project.state)
        kept = _put_aside(project, catalog, found) if from_sources else None
        if not from_sources:
            _read_log_again(project, catalog, found)
    finally:
        catalog.close()
    initialise(project)
    catalog = Catalog(project.catalog_url, project.state)
    try:
        identity = catalog.database.identity()
        assert identity is not None
        return Anew(identity, len(catalog.log.batches(state="appended")), kept)
    finally:
        catalog.close()


def _read_log_again(project: Project, catalog: Catalog, found: Identity | None) -> None:
    identity = _read_identity(project, catalog, found)
    made = compile_project(project, catalog=catalog)
    _check_files(project, catalog, made.program)
    new = Identity(identity.installation, next_generation(project, identity, found))
    if _is_copy(project, catalog, identity):
        new = Identity(draw_installation(), 1)
    note_beginning(
        project.state, Beginning(found or identity, new)
    )  # the catalog is first: who is killed has claimed nothing yet
    with catalog.leases.step() as step:
        start = write_deltas(made.plan, project.state, start_deltas(made.plan), step.label)
        reach("anew.before-commit")
        catalog.installation.begin_generation(new, made.record, start)
    reach("anew.before-claim")
    if found is not None and new.installation != found.installation:
        _forget_slots(project)
    claim(project.state, new, instead=True)
    end_beginning(project.state)
    catalog.installation.record_home(home_of(project.state, project.catalog_url))


def _read_identity(project: Project, catalog: Catalog, found: Identity | None) -> Identity:
    """Whose the log is.

    Raises:
        SetupProblem: the catalog does not know it.
    """
    identity = catalog.database.identity()
    assert identity is not None
    if not catalog.program.is_registered():
        message = "the catalog is empty: which files of the event log count, nothing else says"
        raise SetupProblem(message, kind="catalog-lost", place=str(project.state), hint=FROM_SOURCES)
    is_other = found is not None and found.installation != identity.installation
    if found is not None and is_other and not is_beginning(project.state, found, identity):
        message = f"the state folder is that of installation {found.installation[:8]}, and the catalog that of {identity.installation[:8]}"
        hint = "name the `state:` that belongs to this `catalog:`, or other ones of both"
        raise SetupProblem(message, kind="state-of-another", place=str(project.state), hint=hint)
    return identity


def _check_files(project: Project, catalog: Catalog, program: Program) -> None:
    """See that the log is there, and has the columns that the relations have now.

    Raises:
        SetupProblem: a file is gone.
        InputProblem: it has other columns.
    """
    counted = {b.id for b in catalog.log.batches() if b.state not in LEFT_OUT}
    files = [f for f in catalog.log.files() if f.batch in counted]
    gone = next((f.path for f in files if not (project.state / f.path).exists()), None)
    if gone is not None:
        raise SetupProblem(
            "a file of the event log is gone",
            kind="log-lost",
            place=str(project.state / gone),
            hint="restore the state folder from a backup, or name the right one; without one, `cumulus anew --from-sources` puts what is there "
            "aside and reads the landing folder and the sources again",
        )
    old = program_from_json(catalog.program.record().compiled)
    missing = {f.relation for f in files} & {*old.relation_by_name} - {CLOCK, *program.relation_by_name}
    if missing:
        raise InputProblem(
            f"the event log has events of {min(missing)}, which is not declared any more",
            kind="log-of-other-columns",
            place=str(project.folder / "cumulus.yaml"),
            hint="declare it as it was; or `cumulus anew --from-sources`, which puts the log aside and reads the landing folder and the sources again",
        )
    check_log(project, catalog, (old, *past_programs(catalog)), program)


def _is_copy(project: Project, catalog: Catalog, identity: Identity) -> bool:
    """Whether the original of this project is there still.

    Raises:
        SetupProblem: so it is, and it is its catalog that this project names.
    """
    recorded = catalog.installation.home()
    if recorded is None or claimed_by(project.state) is None:
        return False
    here = home_of(project.state, project.catalog_url)
    if not is_original_there(recorded, here, identity):
        return False
    if here.catalog == recorded.catalog:
        message = f"the catalog works with the state folder {recorded.state}"
        hint = f"name that one (`state: {recorded.state}`); or give this project another `catalog:`, and a `state:` that is empty"
        raise SetupProblem(message, kind="state-copied", place=here.state, hint=hint)
    return True


def next_generation(project: Project, identity: Identity, found: Identity | None) -> int:
    """A number that was not there before, as far as the catalog, the state folder and the published tables tell: each may have been restored."""
    known = [identity.generation]
    if found is not None:
        known.append(found.generation)
    beginning = read_beginning(project.state)
    if beginning is not None and beginning.new.installation == identity.installation:
        known.append(beginning.new.generation)  # so that a note which somebody has left is never that of a later one
    if project.published is not None and project.published.is_dir():
        folders = [path for path in project.published.iterdir() if path.is_dir()]
        known += [n for path in folders if (n := published_generation(path, identity.installation)) is not None]
    return max(known) + 1


def _put_aside(project: Project, catalog: Catalog, found: Identity | None) -> Path | None:
    """Keep what is there in a folder of its own, and be a new catalog.

    Raises:
        SetupProblem: it is another's, who may be alive.
    """
    before = catalog.database.identity()
    assert before is not None
    identity = before
    if found is not None and found.installation != identity.installation:
        if catalog.program.is_registered():
            _read_identity(
                project, catalog, found
            )  # it is no other's if it was to become this catalog's, and somebody was killed
        else:
            identity = found  # its catalog is lost
    if _is_copy(project, catalog, identity):
        identity = Identity(draw_installation(), 0)
        _forget_slots(project)
    new = Identity(identity.installation, next_generation(project, identity, found))
    kept = project.state / "kept" / identity.writer
    note_beginning(project.state, Beginning(before, new))
    claim(project.state, new, instead=True)  # from here on a catalog that is alive all the same is refused
    reach("anew.before-commit")
    is_kept = has_log(project.state)
    for folder in [project.state / name for name in KEPT if (project.state / name).is_dir()]:
        kept.mkdir(parents=True, exist_ok=True)
        folder.rename(_free(kept / folder.name))
    reach("anew.before-claim")
    catalog.installation.forget_everything(new)
    end_beginning(project.state)
    return kept if is_kept else None


def _forget_slots(project: Project) -> None:
    """The replication slots are the original's: this installation makes its own."""
    for file in (project.state / "sources").glob(f"*{SLOTS_OF}"):
        file.rename(_free(file.with_name(f"{file.name}.of-original")))


def _free(path: Path) -> Path:
    """A name that nothing has yet."""
    number = 0
    while path.exists():
        number += 1
        path = path.with_name(f"{path.name.partition('~')[0]}~{number}")
    return path
