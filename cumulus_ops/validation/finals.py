"""Validating what is final before its epoch: rows of sealed values, as they are read and as they were published, against what is recomputed from the
log's rows of their values alone.

All that waits is validated together: one query on Spark per view, one checkpoint. The reports lie in a folder of their own, ``final`` within that of
the snapshots.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cumulus_ops.catalog.finals import FinalPartition
from cumulus_ops.catalog.values import shown_value
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.small_files import scratch_folder
from cumulus_ops.project.verdicts import DIFFERS, EQUAL, IN_ERROR
from cumulus_ops.project.versions import EPOCHS_MAX
from cumulus_ops.publishing.final_tables import appended_rows, final_table
from cumulus_ops.publishing.telling import watch_step
from cumulus_ops.query.answers import SealedView, find_sealed_view, read_final_rows
from cumulus_ops.query.partitions import Partitions
from cumulus_ops.validation.comparison import compare, describe_comparison
from cumulus_ops.validation.judge import Compared
from cumulus_ops.validation.request import ViewToValidate, ViewVerdict, write_arrow
from cumulus_ops.validation.run import ask_for_view, find_session, verify_log_files
from m3.program import Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FinalVerdict", "validate_finals"]

SUITE, FOLDER = "final partitions", "final"
SHOWN_VALUES = 20
LAST_EPOCH = EPOCHS_MAX - 1


@dataclass(frozen=True)
class FinalVerdict:
    """What was found of one partition (``outcome``, see :mod:`cumulus_ops.project.verdicts`), and the page that says more."""

    partition: FinalPartition
    outcome: str
    observed: str
    report: Path

    @property
    def success(self) -> bool:
        """Whether it was compared, and is right."""
        return self.outcome == EQUAL

    def __str__(self) -> str:
        return f"{self.partition}: {self.observed}, see {self.report}"


@dataclass(frozen=True)
class _Part:
    """Partitions of a view that are validated together: their values, their rows, those of them that were published, and in which partition each is."""

    view: SealedView
    finals: Sequence[FinalPartition]
    wanted: Partitions
    rows: pa.Table
    published: pa.Table | None
    asked: ViewToValidate

    def place(self, rows: pa.Table) -> pa.Array:
        """Which partition each row is in."""
        return pa.array(self.wanted.place(self.view.columns_of(rows)))


@watch_step("validate")
def validate_finals(rt: Runtime) -> list[FinalVerdict]:
    """Compare the final partitions that have not been validated with their recomputation, and record the outcomes.

    Args:
        rt: the open project.

    Returns:
        what was found; a wrong partition is a verdict, not an exception.
    """
    waiting = rt.catalog.finals.finals(unvalidated=True)
    parts = [
        part for name in dict.fromkeys(f.view for f in waiting) if (part := _make_part(rt, name, waiting)) is not None
    ]
    if not parts:
        return []
    from cumulus_ops.validation.checkpoint import DATA_DOCS, verdicts_of
    from cumulus_ops.validation.recompute import own_session

    with scratch_folder() as folder:
        with ThreadPoolExecutor(1) as pool:
            imported = pool.submit(importlib.import_module, DATA_DOCS)
            compared = _recompute_parts(rt, own_session(find_session(rt)), parts, folder)
            imported.result()
        import expectations
        from cumulus_ops.validation.data_docs import page_path, run_checkpoint

        suite = expectations.finals_suite({p.asked.name: _list_values(p.finals) for p in parts})
        reports = rt.project.reports / FOLDER
        name = f"{rt.project.name}, up to commit {max(f.commit for f in waiting)}"
        result = run_checkpoint(reports, name, {SUITE: (suite, [c.row() for c in compared.values()])})
        found = {v.view: v for v in verdicts_of(result)}
        outcomes = {
            (f.view, f.id): outcome
            for part in parts
            for f, outcome in _judge_partitions(part, compared[part.asked.name], found[part.asked.name])
        }
    page = page_path(reports, next(iter(result.run_results)))
    rt.catalog.finals.record_final_verdicts({partition: kind for partition, (kind, _) in outcomes.items()}, str(page))
    return [FinalVerdict(f, *outcomes[f.view, f.id], page) for p in parts for f in p.finals]


def _list_values(finals: Sequence[FinalPartition]) -> str:
    shown = "; ".join(shown_value(f.value) for f in finals[:SHOWN_VALUES])
    left = len(finals) - SHOWN_VALUES
    return f"{finals[0].seal} {shown}" + (f" and {left:,} more" if left > 0 else "")


def _make_part(rt: Runtime, name: str, waiting: Sequence[FinalPartition]) -> _Part | None:
    view = find_sealed_view(rt, rt.program.view(name))
    if view is None:  # the project's plan is another one by now
        return None
    finals = [f for f in waiting if f.view == name]
    values = [f.value for f in finals]
    rows, _ = read_final_rows(rt, view, values, checked=False)
    wanted = view.partitions(values)
    published, shown_as = _read_published(rt, view, finals, wanted, rows)
    # a partition has no order, and its rows are all to be seen: views with a limit have none
    asked = replace(ask_for_view(rt, view.view, rows), ordered=False, shown_as=shown_as)
    return _Part(view, finals, wanted, rows, published, asked)


def _read_published(
    rt: Runtime, view: SealedView, finals: Sequence[FinalPartition], wanted: Partitions, view_rows: pa.Table
) -> tuple[pa.Table | None, str]:
    """The rows of partitions as they were published, read back; and where they are, or why there are none."""
    path, left = final_table(rt.project, view.view.name), sum(f.delta_version is None for f in finals)
    if path is None:
        return None, "nothing is published"
    if left:
        return None, f"{left} of {len(finals)} partitions are not published yet, so no published rows were compared"
    versions = sorted({f.delta_version for f in finals if f.delta_version is not None and f.rows})
    said = (
        f"published in the version{'s' * (len(versions) > 1)} {', '.join(map(str, versions))}"
        if versions
        else "published"
    )
    try:
        rows = appended_rows(path, versions)
    except IntegrityProblem as problem:
        return view_rows.schema.empty_table(), f"{said}, where they cannot be read ({problem.message})"
    if rows is None:
        return None, "published without rows"
    return rows.filter(pa.array(wanted.place(view.columns_of(rows)) >= 0)), said


def _recompute_parts(rt: Runtime, session: SparkSession, parts: Sequence[_Part], folder: Path) -> dict[str, Compared]:
    """view -> what there is to compare. Views with the same seals and values share the tables that they are recomputed from."""
    from cumulus_ops.validation.recompute import kept_tables, recompute_m3, recompute_views

    texts = {view.name: view.sql for view in rt.program.views if view.sql is not None}
    files, relations = verify_log_files(rt, LAST_EPOCH), rt.program.relations
    alike: dict[object, list[_Part]] = {}
    for part in parts:
        alike.setdefault((part.view.seals, tuple(f.value for f in part.finals)), []).append(part)
    found: dict[str, Compared] = {}
    for number, some in enumerate(alike.values()):
        mine = folder / str(number)
        mine.mkdir()
        asked = [part.asked for part in some]
        if not all(view.sql for view in asked):
            m3 = recompute_m3(rt.program, files, LAST_EPOCH, partial(_filter_events, some[0]))
            asked = [view if view.sql else replace(view, recomputation=m3[view.name]) for view in asked]
        for place, part in enumerate(some):
            if part.published is not None:
                shown = write_arrow(part.published, mine / f"{place}-published")
                asked[place] = replace(asked[place], shown=shown)
        chosen = {relation.name: _filter_on_spark(session, some[0], relation) for relation in relations}
        with kept_tables(session, relations, asked, texts, files, LAST_EPOCH, chosen):
            found |= {c.view: c for c in recompute_views(session, asked, relations, texts, mine)}
    return found


def _find_columns(part: _Part, relation: str) -> dict[str, pa.Array] | None:
    """column of a relation -> its values in the partitions; None for a relation that is not sealed."""
    seal = next((s for s in part.view.seals if s.relation == relation), None)
    if seal is None:
        return None
    sealed = part.view.values([f.value for f in part.finals])
    values = dict(zip(part.view.columns, sealed.columns, strict=True))
    return {column: values[output] for column, output in zip(seal.columns, seal.output, strict=True)}


def _filter_events(part: _Part, relation: str, rows: pa.Table) -> pa.Table:
    values = _find_columns(part, relation)
    if values is None:
        return rows
    places = Partitions(tuple(values.values())).place([rows[name] for name in values])
    return rows.filter(pa.array(places >= 0))


def _filter_on_spark(session: SparkSession, part: _Part, relation: Relation) -> Callable[[DataFrame], DataFrame] | None:
    """A relation's events of the partitions. They are told by Spark and not by what the views are read with."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    from cumulus_ops.validation.recompute import spark_column, spark_schema

    values = _find_columns(part, relation.name)
    if values is None:
        return None
    names = {name: f"_value_{i}" for i, name in enumerate(values)}
    types = {field.name: field.dataType for field in spark_schema(relation).fields}
    schema = T.StructType([T.StructField(names[name], types[name]) for name in values])
    wanted = session.createDataFrame(pa.table(list(values.values()), list(names.values())), schema)

    def kept(events: DataFrame) -> DataFrame:
        same = [spark_column(c).eqNullSafe(F.col(v)) for c, v in names.items()]
        return events.join(F.broadcast(wanted), same, "left_semi")

    return kept


def _judge_partitions(
    part: _Part, compared: Compared, verdict: ViewVerdict
) -> Iterator[tuple[FinalPartition, tuple[str, str]]]:
    """The verdict on each partition, and what was observed. If the view's differs, those partitions are wrong that do; all if that cannot be
    told, for there is no recomputation."""
    wrong: dict[int, str] = {}
    if verdict.outcome == DIFFERS:
        wrong = _find_wrong(part, compared) or dict.fromkeys(range(len(part.finals)), verdict.observed)
    for i, final in enumerate(part.finals):
        if verdict.outcome == DIFFERS:
            yield final, (DIFFERS, wrong[i]) if i in wrong else (EQUAL, "equal")
        else:
            yield final, (EQUAL if verdict.outcome == IN_ERROR else verdict.outcome, verdict.observed)


def _find_wrong(part: _Part, compared: Compared) -> dict[int, str]:
    """number of a partition that differs -> what was observed."""
    if compared.recomputed is None:
        return {}
    recomputed = compared.recomputed.read()[0].rename_columns(part.rows.column_names)
    theirs = part.place(recomputed.cast(part.rows.schema))
    found: dict[int, str] = {}
    for rows, said in ((part.rows, ""), (part.published, f"{part.asked.shown_as}: ")):
        if rows is None:
            continue
        mine = part.place(rows)
        for i in range(len(part.finals)):
            sides = (rows.filter(pa.compute.equal(mine, i)), recomputed.filter(pa.compute.equal(theirs, i)))
            outcome = compare(*sides, part.asked.key_columns, part.asked.tolerances, part.asked.double_tolerance)
            if not outcome.equal:
                found.setdefault(i, said + describe_comparison(outcome))
    return found
