"""Validating what is final before its epoch: rows of sealed values, each recomputed from the log's rows of its value alone.

All that waits is validated together: one query on Spark per view, one checkpoint. The reports lie in a folder of their own, ``final`` within that of
the snapshots.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cumulus_ops.catalog.finals import FinalPartition
from cumulus_ops.catalog.values import shown_value
from cumulus_ops.engine import Runtime
from cumulus_ops.query.partitions import Partitions
from cumulus_ops.query.sealed import SealedView, sealed_view
from cumulus_ops.snapshot.finals import final_rows
from cumulus_ops.validation.request import DIFFERS, ViewToValidate, ViewVerdict
from cumulus_ops.validation.run import session_of, view_to_validate
from cumulus_ops.versions import EPOCHS_MAX
from m3.program import Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FinalVerdict", "validate_finals"]

SUITE, FOLDER = "final partitions", "final"
SHOWN_VALUES = 20
LAST_EPOCH = EPOCHS_MAX - 1


@dataclass(frozen=True)
class FinalVerdict:
    """What was found of one partition, and the page that says more."""

    partition: FinalPartition
    success: bool
    observed: str
    report: Path

    def __str__(self) -> str:
        return f"{self.partition}: {self.observed}, see {self.report}"


@dataclass(frozen=True)
class _Part:
    """Partitions of a view that are validated together: their values, their rows, and in which partition each is."""

    view: SealedView
    finals: Sequence[FinalPartition]
    wanted: Partitions
    rows: pa.Table
    asked: ViewToValidate

    def place(self, rows: pa.Table) -> pa.Array:
        """Which partition each row is in."""
        return pa.array(self.wanted.place(self.view.columns_of(rows)))


def validate_finals(rt: Runtime) -> list[FinalVerdict]:
    """Compare the final partitions that have not been validated with their recomputation, and record the outcomes.

    Args:
        rt: the open project.

    Returns:
        what was found; a wrong partition is a verdict, not an exception.
    """
    waiting = rt.catalog.finals(unvalidated=True)
    parts = [part for name in dict.fromkeys(f.view for f in waiting) if (part := _part(rt, name, waiting)) is not None]
    if not parts:
        return []
    from cumulus_ops.validation.checkpoint import EXPECTATIONS, quiet, run_checkpoint
    from cumulus_ops.validation.recompute import own_session

    with ThreadPoolExecutor(1) as pool:
        imported = pool.submit(importlib.import_module, EXPECTATIONS)
        verdicts, wrong = _judged(rt, own_session(session_of(rt)), parts)
        imported.result()
    import expectations
    from cumulus_ops.validation.data_docs import page_path

    suite = expectations.finals_suite({p.asked.name: _values(p.finals) for p in parts})
    folder = rt.project.reports / FOLDER
    with quiet():
        name = f"{rt.project.name}, up to commit {max(f.commit for f in waiting)}"
        result = run_checkpoint(folder, name, {SUITE: (suite, [vars(v) for v in verdicts])})
    page = page_path(folder, next(iter(result.run_results)))
    found = {v.view: v.observed for v in verdicts}
    outcomes = {(f.view, f.id): (f.view, f.id) not in wrong for p in parts for f in p.finals}
    rt.catalog.record_final_verdicts(outcomes, str(page))
    return [
        FinalVerdict(
            f, outcomes[f.view, f.id], wrong.get((f.view, f.id), found[f.view] if not wrong else "equal"), page
        )
        for p in parts
        for f in p.finals
    ]


def _values(finals: Sequence[FinalPartition]) -> str:
    shown = "; ".join(shown_value(f.value) for f in finals[:SHOWN_VALUES])
    left = len(finals) - SHOWN_VALUES
    return f"{finals[0].seal} {shown}" + (f" and {left:,} more" if left > 0 else "")


def _part(rt: Runtime, name: str, waiting: Sequence[FinalPartition]) -> _Part | None:
    view = sealed_view(rt, rt.program.view(name))
    if view is None:  # the project's plan is another one by now
        return None
    finals = [f for f in waiting if f.view == name]
    values = [f.value for f in finals]
    rows, _ = final_rows(rt, view, values, checked=False)
    wanted = view.partitions(values)
    return _Part(view, finals, wanted, rows, view_to_validate(rt, view.view, rows))


def _judged(
    rt: Runtime, session: SparkSession, parts: Sequence[_Part]
) -> tuple[list[ViewVerdict], dict[tuple[str, int], str]]:
    """A verdict for each view, and (view, number of the value) of partitions that are wrong -> why."""
    verdicts: list[ViewVerdict] = []
    wrong: dict[tuple[str, int], str] = {}
    alike: dict[object, list[_Part]] = {}
    for part in parts:
        alike.setdefault((part.view.seals, tuple(f.value for f in part.finals)), []).append(part)
    for some in alike.values():
        found, details = _judged_alike(rt, session, some)
        verdicts += found
        wrong |= details
    return verdicts, wrong


def _judged_alike(
    rt: Runtime, session: SparkSession, parts: Sequence[_Part]
) -> tuple[list[ViewVerdict], dict[tuple[str, int], str]]:
    """The same for views with the same seals and values: they share the tables that they are recomputed from."""
    from cumulus_ops.validation.checkpoint import used_columns
    from cumulus_ops.validation.judge import judge
    from cumulus_ops.validation.recompute import MULTIPLICITY, base_table, net_table

    texts = {view.name: view.sql for view in rt.program.views if view.sql is not None}
    files = _log_files(rt)
    asked = _with_recomputations(rt, parts, files)
    bases = {}
    for relation, columns in used_columns(rt.program.relations, asked, texts):
        kept = _kept_on_spark(session, parts[0], relation)
        base = base_table(session, relation, files.get(relation.name, ()), LAST_EPOCH, kept)
        bases[relation.name] = base.select(*columns, MULTIPLICITY).persist()
    try:
        for name, base in bases.items():
            net_table(base, name)
        verdicts = judge(session, asked, rt.program.relations, texts)
        wrong: dict[tuple[str, int], str] = {}
        for part, view, verdict in zip(parts, asked, verdicts, strict=True):
            if verdict.outcome == DIFFERS:
                wrong |= _wrong(rt, session, part, view, texts, verdict)
        return verdicts, wrong
    finally:
        for base in bases.values():
            base.unpersist()


def _log_files(rt: Runtime) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    for file in rt.catalog.log_files(epoch=LAST_EPOCH):
        files.setdefault(file.relation, []).append(rt.project.state / file.path)
    return files


def _with_recomputations(
    rt: Runtime, parts: Sequence[_Part], files: Mapping[str, Sequence[Path]]
) -> list[ViewToValidate]:
    """What is asked; views without SQL are recomputed by the serial interpreter."""
    from dataclasses import replace

    asked = [part.asked for part in parts]
    if all(view.sql for view in asked):
        return asked
    from cumulus_ops.validation.recompute import recompute_m3

    found = recompute_m3(rt.program, files, LAST_EPOCH, lambda name, rows: _kept(parts[0], name, rows))
    return [view if view.sql else replace(view, recomputation=found[view.name]) for view in asked]


def _columns(part: _Part, relation: str) -> dict[str, pa.Array] | None:
    """column of a relation -> its values in the partitions; None for a relation that is not sealed."""
    seal = next((s for s in part.view.seals if s.relation == relation), None)
    if seal is None:
        return None
    values = dict(zip(part.view.columns, part.wanted.columns, strict=True))
    return {column: values[output] for column, output in zip(seal.columns, seal.output, strict=True)}


def _kept(part: _Part, relation: str, rows: pa.Table) -> pa.Table:
    values = _columns(part, relation)
    if values is None:
        return rows
    places = Partitions(tuple(values.values())).place([rows[name] for name in values])
    return rows.filter(pa.array(places >= 0))


def _kept_on_spark(session: SparkSession, part: _Part, relation: Relation) -> Callable[[DataFrame], DataFrame] | None:
    """A relation's events of the partitions. They are told by Spark and not by what the views are read with."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    from cumulus_ops.validation.recompute import spark_schema

    values = _columns(part, relation.name)
    if values is None:
        return None
    names = {name: f"_value_{i}" for i, name in enumerate(values)}
    types = {field.name: field.dataType for field in spark_schema(relation).fields}
    schema = T.StructType([T.StructField(names[name], types[name]) for name in values])
    wanted = session.createDataFrame(pa.table(list(values.values()), list(names.values())), schema)

    def kept(events: DataFrame) -> DataFrame:
        same = [F.col("`" + c.replace("`", "``") + "`").eqNullSafe(F.col(v)) for c, v in names.items()]
        return events.join(F.broadcast(wanted), same, "left_semi")

    return kept


def _wrong(
    rt: Runtime,
    session: SparkSession,
    part: _Part,
    view: ViewToValidate,
    texts: Mapping[str, str],
    verdict: ViewVerdict,
) -> dict[tuple[str, int], str]:
    """Which partitions of a view differ; all of them if the recomputation fails."""
    from cumulus_ops.validation.comparison import compare, observed
    from cumulus_ops.validation.judge import recompute_view

    try:
        recomputed = recompute_view(session, view, rt.program.relations, texts)
    except Exception:
        return {(f.view, f.id): verdict.observed for f in part.finals}
    recomputed = recomputed.rename_columns(part.rows.column_names)
    mine, theirs = part.place(part.rows), part.place(recomputed.cast(part.rows.schema))
    found: dict[tuple[str, int], str] = {}
    for i, final in enumerate(part.finals):
        sides = [rows.filter(pa.compute.equal(places, i)) for rows, places in ((part.rows, mine), (recomputed, theirs))]
        outcome = compare(sides[0], sides[1], view.key_columns, view.tolerances, view.double_tolerance)
        if not outcome.equal:
            found[final.view, final.id] = observed(outcome)
    return found or {(f.view, f.id): verdict.observed for f in part.finals}
