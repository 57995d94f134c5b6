"""Values that a person seals, in the name of a coordinator that does not do so itself."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import Catalog, SealChange
from cumulus_ops.config import Project, SealSettings
from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.checks import Checks
from cumulus_ops.eventlog.raw import RawFile
from cumulus_ops.eventlog.seal_texts import VALUE_CHARACTERS, seal_texts

__all__ = ["seal_by_hand"]


def seal_by_hand(
    project: Project,
    catalog: Catalog,
    relation: str,
    seal: str,
    values: Sequence[str],
    coordinator: int | None,
    by: str,
) -> tuple[int, int]:
    """Seal values; what is sealed already stays as it is.

    Args:
        project: has the seal.
        catalog: its catalog.
        relation, seal: which.
        values: as a line of a CSV file of the seal would have them.
        coordinator: in whose name; None for the one that all of them wait for.
        by: who does so.

    Returns:
        the coordinator, and how many of the values it had not sealed.

    Raises:
        InputProblem: there is no such seal, a value is none, or it is not clear in whose name.
    """
    settings = _find(project, relation, seal)
    texts = _texts(project, relation, settings, values)
    who = _awaited(catalog, relation, seal, texts) if coordinator is None else coordinator
    return who, catalog.seal_by_hand(
        who, SealChange(relation, seal, settings.producers, (), texts, settings.columns), by
    )


def _find(project: Project, relation: str, seal: str) -> SealSettings:
    found = project.seal(relation, seal)
    if found is None:
        known = [f"{name} {s.name}" for name, seals in project.seals.items() for s in seals]
        near = difflib.get_close_matches(f"{relation} {seal}", known, 1)
        hint = f"did you mean {near[0]}?" if near else f"seals in cumulus.yaml: {', '.join(known) or 'none'}"
        raise InputProblem(f"{relation} has no seal {seal}", kind="unknown-seal", hint=hint)
    return found


def _texts(project: Project, relation: str, seal: SealSettings, values: Sequence[str]) -> tuple[str, ...]:
    fields = [next(csv.reader([value]), []) or [""] for value in values]
    wrong = next((v for v, f in zip(values, fields, strict=True) if len(f) != len(seal.columns)), None)
    if wrong is not None:
        hint = f"write {','.join(seal.columns)}, as in a line of a CSV file; nothing is NULL"
        raise InputProblem(f"{wrong!r} is no value of {relation}.{seal.name}", kind="bad-value", hint=hint)
    columns = [pa.array([text or None for text in column], pa.string()) for column in zip(*fields, strict=True)]
    raw = RawFile(pa.table(columns, names=list(seal.columns)), np.arange(len(values)), ops="insert")
    checked = Checks(project.seal_rows(relation, seal), "the command").check(raw)
    if len(checked.rejected):
        reason = checked.rejected["reason"][0].as_py()
        raise InputProblem(reason, kind="bad-value", hint="write values as in a CSV file (docs/files.md)")
    texts = tuple(dict.fromkeys(seal_texts(checked.rows, seal.columns).to_pylist()))
    if any(len(text) > VALUE_CHARACTERS for text in texts):
        hint = f"a value has at most {VALUE_CHARACTERS} characters"
        raise InputProblem("no such value can have been seen", kind="bad-value", hint=hint)
    return texts


def _awaited(catalog: Catalog, relation: str, seal: str, texts: Sequence[str]) -> int:
    """The coordinator that values wait for, if it is one."""
    waiting = catalog.open_values(relation, seal, texts)
    missing = sorted({c for value in waiting for c in value.missing})
    if len(missing) == 1:
        return missing[0]
    if missing:
        who = f"they wait for coordinators {', '.join(map(str, missing))}"
        hint = "seal them in the name of each: --coordinator N"
    else:
        who, hint = "none of them waits for a seal", "`cumulus seals` shows which do; --coordinator N seals others"
    raise InputProblem(who, kind="no-producer", hint=hint)
