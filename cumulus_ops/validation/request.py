"""What is asked of a validation, and what it answers. Light: no Spark, no Great Expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from m3.datatypes import Type
from m3.program import Relation

__all__ = [
    "DIFFERS", "EQUAL", "IN_ERROR", "UNPROVED", "ValidationReport", "ValidationRequest", "ViewToValidate", "ViewVerdict",
]  # fmt: skip

#: What can be said of a view: its snapshot is its recomputation; it is not; it is in error, and so is its recomputation; Spark
#: cannot run its query, which says nothing about the snapshot.
EQUAL, DIFFERS, IN_ERROR, UNPROVED = "equal", "differs", "in error", "unproved"


@dataclass(frozen=True)
class ViewToValidate:
    """A view's snapshot and the SQL that says what it should be.

    ``sql`` is the user's text over the relations' names, in sqlglot's ``dialect``; its outermost ORDER BY and LIMIT are left aside, so
    ``snapshot`` holds *all* rows, in any order. Columns are matched by position; ``columns`` are their declared types.
    ``key_columns`` name those that identify a group in reports (with none, all rows
    are one group). ``tolerances``: column -> largest accepted difference of a DOUBLE, relative to the larger of the values;
    ``double_tolerance`` for the others. Everything that is not DOUBLE is compared exactly.
    ``error`` is what the view reads as where it is in error; it has no snapshot then.
    ``recomputation`` stands in for ``sql`` (then "") when the view comes from an M3 program: see
    :func:`~cumulus_ops.validation.recompute.recompute_m3`.
    """

    name: str
    sql: str
    key_columns: tuple[str, ...]
    snapshot: pa.Table | None
    tolerances: Mapping[str, float] = field(default_factory=dict)
    double_tolerance: float = 1e-9
    recomputation: pa.Table | None = None
    columns: tuple[tuple[str, Type], ...] = ()
    dialect: str | None = None
    error: str = ""


@dataclass(frozen=True)
class ValidationRequest:
    """All that is needed to prove the snapshot of ``epoch`` right.

    ``log_files``: relation -> Parquet files of its log (columns of the relation, ``_version`` int64, ``_sign`` int8,
    ``_offset`` int64); later versions in them are left out. ``members``: the coordinators that take part in the epoch; ``sealed_epochs``: coordinator -> its last sealed epoch
    (inclusive). ``reports_folder`` keeps the reports of all epochs. ``groups`` (view string, group string, rows int64) are
    all groups that some map of a view has an entry for, with their row counts: none may lack rows. ``texts`` is the SQL of all views of the project, which views may read.
    """

    project_name: str
    epoch: int
    views: tuple[ViewToValidate, ...]
    relations: tuple[Relation, ...]
    log_files: Mapping[str, Sequence[Path]]
    reports_folder: Path
    members: Sequence[int]
    sealed_epochs: Mapping[int, int]
    groups: pa.Table | None = None
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ViewVerdict:
    """What was found of one view: ``outcome`` (see :data:`EQUAL`), ``observed`` in a few words, and the differing values as
    rows of (what, group, column, snapshot, recomputed)."""

    view: str
    outcome: str
    observed: str
    differences: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class ValidationReport:
    """``failures``: one sentence per failed expectation, naming view, group and values; ``verdicts`` one per view.
    ``docs_index``: the page to open, with the verdicts on the views. ``statistics``: numbers of views and expectations, and seconds per part. ``remarks``: what
    else is to be known of the snapshot: views that are in error or could not be proved, a batch that is not in it."""

    epoch: int
    success: bool
    statistics: Mapping[str, Any]
    failures: tuple[str, ...]
    docs_index: Path
    seconds: float
    verdicts: tuple[ViewVerdict, ...] = ()
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = "".join(f"\n  {line}" for line in (*self.remarks, *self.failures))
        if self.success:
            return f"epoch {self.epoch} equals its recomputation ({self.seconds:.1f} s): {self.docs_index}{said}"
        return f"epoch {self.epoch} is wrong, see {self.docs_index}{said}"
