"""What ``cumulus.yaml`` says of relations, beside what their log and their values say already."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

import pyarrow.compute as pc

from cumulus_ops.append.seals import VALUE_CHARACTERS, distinct_texts
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import Batch, LogFile
from cumulus_ops.catalog.values import SealChange
from cumulus_ops.files.columns import SIGN
from cumulus_ops.files.log_files import read_log, read_rows
from cumulus_ops.project.errors import InputProblem, IntegrityProblem
from cumulus_ops.project.settings import Project, SealSettings

__all__ = ["check_declarations", "declaration", "declare"]


#: States of batches whose events may still take rows away that are shown now.
UNDER_WAY = ("appended", "applied", "aside")


def declaration(project: Project) -> str:
    """Identifies what appends have to keep to: the seals, and the relations that have only inserts."""
    seals = sorted((relation, sorted(map(repr, of))) for relation, of in project.seals.items())
    return hashlib.sha256(repr((seals, sorted(project.insert_only))).encode()).hexdigest()


def declare(project: Project, catalog: Catalog) -> None:
    """Let all appends keep to what is declared, from now on: who has rows of a value already is registered for it. What was appended before is
    looked at twice: once with nobody disturbed, and what came meanwhile when no append can come any more that knows nothing of it.

    Raises:
        InputProblem: see :func:`check_declarations`; or coordinators have rows of a value that one alone is to produce (``several-producers``).
    """
    if catalog.seals.declared() == declaration(project):
        return
    check_declarations(project, catalog)
    batches = _find_counting(catalog)
    known = _find_producers(project, catalog, batches)
    _require_one(project, known)
    newest = max((batch.id for batch in batches), default=0)

    def look_again() -> list[tuple[int, SealChange]]:
        check_declarations(project, catalog)
        for place, values in _find_producers(
            project, catalog, [b for b in _find_counting(catalog) if b.id > newest]
        ).items():
            known[place] |= values
        _require_one(project, known)
        changes = []
        for (coordinator, relation, name), values in sorted(known.items()):
            seal = project.seal(relation, name)
            assert seal is not None  # its values were looked for
            change = SealChange(relation, name, seal.producers, tuple(sorted(values)), (), seal.columns)
            changes.append((coordinator, change))
        return changes

    catalog.seals.declare(declaration(project), look_again)


def _find_counting(catalog: Catalog) -> list[Batch]:
    """The batches with events that count, or may."""
    return [b for b in catalog.log.batches() if b.state not in ("retried", "dropped")]


#: (coordinator, relation, seal) -> the texts of values.
Producers = dict[tuple[int, str, str], set[str]]


def _find_producers(project: Project, catalog: Catalog, batches: Sequence[Batch]) -> Producers:
    """Who has which values of seals in some batches; values that are too long for a seal are left out."""
    found: Producers = defaultdict(set)
    if not project.seals:
        return found
    by_id = {batch.id: batch for batch in batches}
    for number, files in catalog.log.files_of([*by_id]).items():
        for file in files:
            for seal in project.seals.get(file.relation, ()):
                found[by_id[number].coordinator, file.relation, seal.name] |= _read_values(
                    project, by_id[number], file, seal
                )
    return found


def _read_values(project: Project, batch: Batch, file: LogFile, seal: SealSettings) -> set[str]:
    try:
        rows = read_rows(project.state, file, project.relation(file.relation), seal.columns)
    except IntegrityProblem:
        if batch.state != "aside":
            raise
        return set()  # it cannot be retried either
    return {text for text in distinct_texts(rows, seal.columns) if len(text) <= VALUE_CHARACTERS}


def _require_one(project: Project, known: Producers) -> None:
    """See that values with a single producer have no other one."""
    alone = [(relation, s) for relation, seals in project.seals.items() for s in seals if s.producers == "one"]
    for relation, seal in alone:
        owner: dict[str, int] = {}
        for (coordinator, of, name), values in sorted(known.items()):
            for value in sorted(values) if (of, name) == (relation, seal.name) else ():
                other = owner.setdefault(value, coordinator)
                if other != coordinator:
                    told = f"coordinators {other} and {coordinator} have rows of {value} already"
                    message = f"seal {seal.name} of {relation}: one alone is to produce into each value, and {told}"
                    place = str(project.folder / "cumulus.yaml")
                    hint = "write `producers: registered`: both have to seal it"
                    raise InputProblem(message, kind="several-producers", place=place, hint=hint)


def check_declarations(project: Project, catalog: Catalog) -> None:
    """See that what is declared of a project that has begun is so.

    Raises:
        InputProblem: a relation that is to have only inserts has deletes under way; or a seal was one of other columns, or is missing, and
            values of it are closed.
    """
    place = str(project.folder / "cumulus.yaml")
    for relation in project.insert_only:
        batch = _find_delete(project, catalog, relation)
        if batch is not None:
            hint = "take `insert_only` out, let its epoch be committed, decide about batches that are set aside (`cumulus batch list`), and then write it again"
            message = f"{relation} is to have only inserts, and batch {batch} has deletes that no snapshot has yet"
            raise InputProblem(message, kind="has-deletes", place=place, hint=hint)
    for relation, name in catalog.seals.closed_seals():
        if project.seal(relation, name) is None:
            message = f"{relation} had the seal {name}, of which values are closed: what is final by them would change"
            hint = "write the seal again; to go on without it, `cumulus anew --from-sources` puts the log aside and reads the sources again"
            raise InputProblem(message, kind="seal-gone", place=place, hint=hint)
    for relation, seals in project.seals.items():
        for seal in seals:
            other = catalog.seals.other_columns(relation, seal.name, seal.columns)
            if other is not None:
                message = f"seal {seal.name} of {relation} has values of [{other.replace(',', ', ')}]"
                hint = f"give the seal on [{', '.join(seal.columns)}] another name"
                raise InputProblem(message, kind="other-seal", place=place, hint=hint)


def _find_delete(project: Project, catalog: Catalog, relation: str) -> int | None:
    """A batch with deletes of a relation that are not in a snapshot."""
    batches = [b.id for state in UNDER_WAY for b in catalog.log.batches(state=state) if b.deletes]
    for batch, files in catalog.log.files_of(batches).items():
        for file in files:
            if file.relation == relation and pc.min(read_log(project.state, file, [SIGN])[SIGN]).as_py() == -1:
                return batch
    return None
