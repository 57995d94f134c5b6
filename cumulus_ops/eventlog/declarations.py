"""What ``cumulus.yaml`` says of relations, beside what their log and their values say already."""

from __future__ import annotations

import hashlib

import pyarrow.compute as pc
import pyarrow.parquet as pq

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project
from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.types import SIGN

__all__ = ["check_declarations", "declaration", "declare"]

#: States of batches whose events may still take rows away that are shown now.
UNDER_WAY = ("appended", "applied", "aside")


def declaration(project: Project) -> str:
    """Identifies what appends have to keep to: the seals, and the relations that have only inserts."""
    seals = sorted((relation, sorted(map(repr, of))) for relation, of in project.seals.items())
    return hashlib.sha256(repr((seals, sorted(project.insert_only))).encode()).hexdigest()


def declare(project: Project, catalog: Catalog) -> None:
    """Let all appends keep to what is declared, from now on. What was appended before is looked at twice: once with nobody disturbed, and
    once when no append can come any more that knows nothing of it.

    Raises:
        InputProblem: see :func:`check_declarations`.
    """
    before = catalog.declared()
    if before == declaration(project):
        return
    check_declarations(project, catalog)
    catalog.declare(declaration(project))
    try:
        check_declarations(project, catalog)
    except InputProblem:
        catalog.declare(before)
        raise


def check_declarations(project: Project, catalog: Catalog) -> None:
    """See that what is declared of a project that has begun is so.

    Raises:
        InputProblem: a relation that is to have only inserts has deletes under way; or a seal was one of other columns, or is missing, and
            values of it are closed.
    """
    place = str(project.folder / "cumulus.yaml")
    for relation in project.insert_only:
        batch = _delete_under_way(project, catalog, relation)
        if batch is not None:
            hint = "take `insert_only` out, let its epoch be committed, decide about batches that are set aside (`cumulus batch list`), and then write it again"
            message = f"{relation} is to have only inserts, and batch {batch} has deletes that no snapshot has yet"
            raise InputProblem(message, kind="has-deletes", place=place, hint=hint)
    for relation, name in catalog.closed_seals():
        if project.seal(relation, name) is None:
            message = f"{relation} had the seal {name}, of which values are closed: what is final by them would change"
            hint = "write the seal again; without it, begin anew with another `state:` and `catalog:`"
            raise InputProblem(message, kind="seal-gone", place=place, hint=hint)
    for relation, seals in project.seals.items():
        for seal in seals:
            other = catalog.other_columns(relation, seal.name, seal.columns)
            if other is not None:
                message = f"seal {seal.name} of {relation} has values of [{other.replace(',', ', ')}]"
                hint = f"give the seal on [{', '.join(seal.columns)}] another name"
                raise InputProblem(message, kind="other-seal", place=place, hint=hint)


def _delete_under_way(project: Project, catalog: Catalog, relation: str) -> int | None:
    """A batch with deletes of a relation that are not in a snapshot."""
    batches = [b.id for state in UNDER_WAY for b in catalog.batches(state=state) if b.deletes]
    for batch, files in catalog.log_files_of(batches).items():
        for file in files:
            if file.relation == relation:
                with pq.ParquetFile(project.state / file.path) as log:
                    if pc.min(log.read(columns=[SIGN])[SIGN]).as_py() == -1:
                        return batch
    return None
