"""What is asked of a validation, and what it answers. Light: no Spark, no Great Expectations."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from cumulus_ops.project.verdicts import DIFFERS, FAILED, IN_ERROR, PASSED, UNPROVED, summary
from cumulus_ops.publishing.delta_tables import read_version
from m3.datatypes import Type
from m3.program import Relation

__all__ = [
    "ArrowFile",
    "Handle",
    "NetToProve",
    "PublishedVersion",
    "ValidationReport",
    "ValidationRequest",
    "ViewToValidate",
    "ViewVerdict",
    "write_arrow",
]


# Tables that are read where they are compared, and not before.
#
# A validation compares view after view. What it is given are handles: small, hashable, and equal if they name the same table, so that a batch of
# Great Expectations, which hashes its cells (and pickles those that it cannot hash), can have two whole tables in a row. The rows of all views at
# once would not fit in memory.


class Handle(Protocol):
    """Something that is hashable, and reads a table."""

    def __hash__(self) -> int: ...

    def read(self) -> tuple[pa.Table, bool]:
        """All rows, and whether they come in the order in which they were written."""


@dataclass(frozen=True)
class ArrowFile:
    """A file in Arrow's format."""

    path: Path

    def read(self) -> tuple[pa.Table, bool]:
        """All rows, in order; mapped, so that they take no memory of their own."""
        with pa.memory_map(str(self.path)) as source:
            return pa.ipc.open_file(source).read_all(), True


@dataclass(frozen=True)
class PublishedVersion:
    """A version of a Delta table: its files are read, and nothing that their writer has said of them."""

    path: Path
    version: int

    def read(self) -> tuple[pa.Table, bool]:
        """All rows of the version; if they are in several files, these have no order among them.

        Raises:
            IntegrityProblem: it cannot be read.
        """
        parts = read_version(self.path, self.version)
        return pa.concat_tables(parts), len(parts) == 1


def write_arrow(table: pa.Table, path: Path) -> ArrowFile:
    """Keep a table in a file, which must not exist."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return ArrowFile(path)


@dataclass(frozen=True)
class ViewToValidate:
    """A view's snapshot, what of it is on show, and the SQL that says what both should be.

    ``sql`` is the user's text over the relations' names, in sqlglot's ``dialect``. ``snapshot`` holds *all* rows, in any order, a table or a
    handle of one; ``shown`` those that readers get: after ORDER BY, OFFSET and LIMIT (``ordered`` says that the view has any of them, ``offset``
    and ``limit`` which rows). ``shown_as`` says in a few words where they were read, or why there are none. Columns are matched by position;
    ``columns`` are their declared types.
    ``key_columns`` name those that identify a group in reports (with none, all rows
    are one group). ``tolerances``: column -> largest accepted difference of a DOUBLE, relative to the larger of the values;
    ``double_tolerance`` for the others. Everything that is not DOUBLE is compared exactly.
    ``now`` is what now() is in the snapshot, None if it is NULL there. ``error`` is what the view reads as where it is in error; it has no snapshot then.
    ``recomputation`` stands in for ``sql`` (then "") when the view comes from an M3 program, in the view's order: see
    :func:`~cumulus_ops.validation.recompute.recompute_m3`.
    """

    name: str
    sql: str
    key_columns: tuple[str, ...]
    snapshot: pa.Table | Handle | None
    tolerances: Mapping[str, float] = field(default_factory=dict)
    double_tolerance: float = 1e-9
    recomputation: pa.Table | None = None
    columns: tuple[tuple[str, Type], ...] = ()
    dialect: str | None = None
    error: str = ""
    shown: Handle | None = None
    shown_as: str = ""
    ordered: bool = False
    offset: int = 0
    limit: int | None = None
    now: datetime.datetime | None = None


@dataclass(frozen=True)
class NetToProve:
    """A net table's file, and the ``sources`` whose sums have to be the same: an earlier net table and the log between the two, or the log from its beginning,
    both up to ``epoch`` (inclusive)."""

    relation: str
    epoch: int
    file: Path
    sources: Sequence[Path]


@dataclass(frozen=True)
class ValidationRequest:
    """All that is needed to prove the snapshot of ``epoch`` right.

    ``log_files``: relation -> Parquet files of its log (columns of the relation, ``_version`` int64, ``_sign`` int8,
    ``_offset`` int64); later versions in them are left out. ``members``: the coordinators that take part in the epoch; ``voted_epochs``: coordinator -> its last epoch that it has voted to end
    (inclusive). ``reports_folder`` keeps the reports of all epochs. ``groups`` (view string, group string, rows int64) are
    all groups that some map of a view has an entry for, with their row counts: none may lack rows. ``texts`` is the SQL of all views of the project, which views may read.
    ``all_views``: how many views the project has; 0: those that are asked for. ``nets``: the net tables that are among the log's files, as far as they are
    to be proved, and what they were made from; ``whole_log``: relation -> its log files without any, for the case that one is wrong. ``rows``: how many are read for the base tables; ``remark``: from what.
    """

    project_name: str
    epoch: int
    views: tuple[ViewToValidate, ...]
    relations: tuple[Relation, ...]
    log_files: Mapping[str, Sequence[Path]]
    reports_folder: Path
    members: Sequence[int]
    voted_epochs: Mapping[int, int]
    groups: pa.Table | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    all_views: int = 0
    nets: tuple[NetToProve, ...] = ()
    whole_log: Callable[[str], Sequence[Path]] = lambda _: ()
    rows: int = 0
    remark: str = ""


@dataclass(frozen=True)
class ViewVerdict:
    """What was found of one view: ``outcome`` (see :mod:`cumulus_ops.project.verdicts`), ``observed`` in a few words, and the differing values as
    rows of (what, group, column, snapshot, recomputed)."""

    view: str
    outcome: str
    observed: str
    differences: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class ValidationReport:
    """The ``outcome`` for all that was asked for: passed, failed, or unproved (:mod:`cumulus_ops.project.verdicts`). ``failures``: one sentence per
    expectation that does not hold, naming view, group and values; ``unproved``: one per view that could not be compared; ``verdicts`` one per view.
    ``docs_index``: the page to open, with the verdicts on the views. ``statistics``: numbers of views and expectations, and seconds per part. ``remarks``: what
    else is to be known of the snapshot: views that are in error, a batch that is not in it. ``views``: how many views the project has. ``wrong_nets``: the net tables that are not what the log says."""

    epoch: int
    outcome: str
    statistics: Mapping[str, Any]
    failures: tuple[str, ...]
    docs_index: Path
    seconds: float
    verdicts: tuple[ViewVerdict, ...] = ()
    remarks: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    views: int = 0
    wrong_nets: tuple[NetToProve, ...] = ()

    @property
    def success(self) -> bool:
        """Whether everything that was asked for was compared, and is right."""
        return self.outcome == PASSED

    @property
    def summary(self) -> str:
        """How many of the project's views are what."""
        return summary([v.outcome for v in self.verdicts], self.views or len(self.verdicts))

    @property
    def view_findings(self) -> dict[str, tuple[str, str]]:
        """view -> its verdict, and a sentence where there is more to say than that it is equal."""
        lines = {
            v.view: f"view {v.view}: {v.observed}" for v in self.verdicts if v.outcome in (DIFFERS, IN_ERROR, UNPROVED)
        }
        lines |= {v.view: line for v in self.verdicts for line in self.failures if line.startswith(f"view {v.view}: ")}
        return {v.view: (v.outcome, lines.get(v.view, "")) for v in self.verdicts}

    def __str__(self) -> str:
        said = "".join(f"\n  {line}" for line in (*self.unproved, *self.remarks, *self.failures))
        outcome = {PASSED: self.summary, FAILED: "is wrong", UNPROVED: "is not proved: " + self.summary}[self.outcome]
        between = ": " if self.outcome == PASSED else " "
        return f"epoch {self.epoch}{between}{outcome} ({self.seconds:.1f} s), see {self.docs_index}{said}"
