"""Whether a state folder and a catalog belong together: looked at before anything is written, and whenever a project is opened.

======================================  ==================================================================================
the state folder                        what is done
======================================  ==================================================================================
is new                                  it is claimed
is from before there were claims        it is claimed once, for the catalog that names the files in its log
is another installation's               refused (``state-of-another``)
has no claim, but the catalog has one   refused (``state-lost``)
has a log, and the catalog nothing      refused (``catalog-lost``)
has seen more than the catalog          refused (``catalog-older``): the catalog was restored
has seen less, and lacks what came last refused (``state-lost``): the folder was restored
is of an earlier generation             refused (``state-lost``): it was put aside when the later one began, and came back
... the later one was begun in it       it is claimed: who has begun it was killed before he could
has a later one that is being begun     refused (``anew-unfinished``) until `cumulus anew` was run to its end
was moved, or is mounted elsewhere      that is noted
is a copy, and the original is there    refused (``state-copied``): it would use the original's tables and replication slots
======================================  ==================================================================================
"""

from __future__ import annotations

from pathlib import Path

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.identity import (
    Home,
    Identity,
    Mark,
    claim,
    claimed_by,
    has_log,
    home_of,
    is_beginning,
    is_original_there,
    older_catalog,
    read_beginning,
    read_mark,
)
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.settings import Project

__all__ = ["FROM_SOURCES", "Claim", "check_claim", "claim_state", "look_at_claim", "read_claim"]


#: What helps when the catalog is lost.
FROM_SOURCES = (
    "restore the catalog from a backup (`cumulus restore`); if there is none, `cumulus anew --from-sources` puts what is there aside and reads "
    "the landing folder and the sources again"
)

#: Whose a state folder is, and what was seen of its catalog.
Claim = tuple[Identity | None, Mark]


def read_claim(project: Project) -> Claim:
    """What the state folder says; to be read before the catalog is.

    Raises:
        SetupProblem: its claim is damaged.
    """
    return claimed_by(project.state), read_mark(project.state)


def claim_state(project: Project, catalog: Catalog) -> None:
    """Claim the project's state folder for its catalog, or see that it was claimed.

    Raises:
        SetupProblem: they do not belong together.
    """
    found, seen = read_claim(project)
    identity = catalog.installation.ensure()
    if found is None:
        _refuse_foreign_log(project, catalog)
        found = claim(project.state, identity)
    check_claim(project, catalog, (found, seen))


def _refuse_foreign_log(project: Project, catalog: Catalog) -> None:
    """Before a folder without a claim is claimed: by a version before this one, the catalog names what is in it."""
    named = catalog.log.files() if catalog.program.is_registered() else []
    if catalog.installation.home() is not None or (
        named and not any((project.state / file.path).exists() for file in named[:1])
    ):
        raise _state_lost(project.state)
    if not named and has_log(project.state):
        message = "the state folder has an event log, and the catalog knows nothing of it"
        raise SetupProblem(message, kind="catalog-lost", place=str(project.state), hint=FROM_SOURCES)


def check_claim(project: Project, catalog: Catalog, claimed: Claim, *, complete: bool = True) -> None:
    """See that a state folder is the catalog's, and that the catalog is not older; note what has changed.

    Args:
        project: the project.
        catalog: its catalog.
        claimed: what :func:`read_claim` has found before the catalog was read.
        complete: whether a folder is refused that lacks the newest file of the log.

    Raises:
        SetupProblem: they do not belong together.
    """
    _refuse_others(project, catalog, claimed, complete=complete)
    found, identity = claimed[0], catalog.database.identity()
    assert identity is not None
    if (
        found != identity and claimed_by(project.state) == found
    ):  # asked again: others may have claimed it by now, even for a later one
        claim(project.state, identity, instead=True)
    here = home_of(project.state, project.catalog_url)
    if catalog.installation.home() != here:
        catalog.installation.record_home(here)


def look_at_claim(project: Project, catalog: Catalog, claimed: Claim) -> None:
    """What :func:`check_claim` and :func:`claim_state` refuse, of a project that they need not be the first to open; nothing is written.

    Raises:
        SetupProblem: they do not belong together.
    """
    if claimed[0] is None:
        _refuse_foreign_log(project, catalog)
    else:
        _refuse_others(project, catalog, claimed)


def _refuse_others(project: Project, catalog: Catalog, claimed: Claim, *, complete: bool = True) -> None:
    (found, seen), identity, root = claimed, catalog.database.identity(), project.state
    if identity is None or found is None:
        raise _state_lost(root)
    is_other = found.installation != identity.installation
    if (is_other or found.generation > identity.generation) and is_beginning(root, found, identity):
        message = "a new generation is being begun here, or `cumulus anew` was ended in its midst"
        hint = "let it end; if nobody is at it any more, run it again: `cumulus anew`, or `cumulus anew --from-sources` if that was it"
        raise SetupProblem(message, kind="anew-unfinished", place=str(root), hint=hint)
    if is_other:
        raise _of_another(root, found, identity, is_empty=not catalog.program.is_registered())
    if found.generation > identity.generation:
        raise older_catalog(root)
    if found.generation < identity.generation and not _is_begun_here(root, identity):
        raise _of_earlier(root, found, identity)
    # Commits of different generations are not compared: where one has begun from the sources, they count from 1 again.
    is_same = seen.generation == identity.generation
    last = catalog.commits.last_commit() if catalog.program.is_registered() else 0
    if is_same and seen.commit > last:
        raise older_catalog(root)
    if complete and not (is_same and seen.commit == last) and not _has_newest_file(project, catalog):
        raise _state_lost(root)
    here, recorded = home_of(project.state, project.catalog_url), catalog.installation.home()
    if recorded is not None and is_original_there(recorded, here, identity):
        raise _say_copied(here, recorded)


def _is_begun_here(root: Path, identity: Identity) -> bool:
    """Whether a later generation than the folder's was begun in this folder: it was noted before the catalog knew of it, or is claimed by now. The
    note is read first, for it goes when the claim is there."""
    beginning = read_beginning(root)
    return (beginning is not None and beginning.new == identity) or claimed_by(root) == identity


def _has_newest_file(project: Project, catalog: Catalog) -> bool:
    """Whether the newest file of the log is there: it is not in a folder that was restored from a backup of before."""
    path = catalog.log.newest_file()
    return path is None or (project.state / path).exists()


def _say_copied(here: Home, recorded: Home) -> SetupProblem:
    if here.catalog == recorded.catalog:
        message = f"the catalog works with the state folder {recorded.state}, of which this is a copy"
        hint = f"name that one (`state: {recorded.state}`); or give this project another `catalog:`, and a `state:` that is empty"
    else:
        message = f"this project is a copy of the one whose state is in {recorded.state}"
        hint = "`cumulus anew` makes it an installation of its own, with the same event log; or name another `state:` and `catalog:`"
    return SetupProblem(message, kind="state-copied", place=here.state, hint=hint)


def _of_another(root: Path, found: Identity, identity: Identity, *, is_empty: bool) -> SetupProblem:
    mine = "is empty" if is_empty else f"is that of installation {identity.installation[:8]}"
    message = f"the state folder is that of installation {found.installation[:8]}, and the catalog {mine}"
    hint = FROM_SOURCES if is_empty else "name the `state:` that belongs to this `catalog:`, or other ones of both"
    if is_empty:
        hint = f"name the catalog that belongs to it (`catalog:`), or {FROM_SOURCES}"
    return SetupProblem(message, kind="state-of-another", place=str(root), hint=hint)


def _of_earlier(root: Path, found: Identity, identity: Identity) -> SetupProblem:
    message = f"the state folder is of generation {found.generation}, and the catalog works with another one, of generation {identity.generation}"
    hint = (
        "name the right `state:`, or put that one back; if it is lost, `cumulus anew` goes on from this one if it has the whole event log, and "
        "`cumulus anew --from-sources` reads the landing folder and the sources again"
    )
    return SetupProblem(message, kind="state-lost", place=str(root), hint=hint)


def _state_lost(root: Path) -> SetupProblem:
    return SetupProblem(
        "the catalog names an event log, and this state folder is not the one that has it",
        kind="state-lost",
        place=str(root),
        hint="name the right `state:`, or restore it from a backup; `cumulus fsck` says what it lacks, and `cumulus recover` makes some of it again; if "
        "all is lost, `cumulus anew --from-sources` reads the landing folder and the sources again",
    )
