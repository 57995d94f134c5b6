"""What is asked of a validation, and what it answers. Light: no Spark, no Great Expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from m3.program import Relation

__all__ = ["ValidationReport", "ValidationRequest", "ViewToValidate"]


@dataclass(frozen=True)
class ViewToValidate:
    """A view's snapshot and the SQL that says what it should be.

    ``sql`` is the user's text over the relations' names; its outermost ORDER BY and LIMIT are left aside, so
    ``snapshot`` holds *all* rows, in any order, as an Arrow table or as the path of a Parquet file that Spark can read.
    Columns are matched by position; ``key_columns`` name those that identify a group in reports (with none, all rows
    are one group). ``tolerances``: column -> largest accepted difference of a DOUBLE, relative to the larger of 1 and
    the values; ``double_tolerance`` for the others. Everything that is not DOUBLE is compared exactly.
    ``recomputation`` stands in for ``sql`` (then "") when the view comes from an M3 program: see
    :func:`~cumulus_ops.validation.recompute.recompute_m3`.
    """

    name: str
    sql: str
    key_columns: tuple[str, ...]
    snapshot: pa.Table | Path
    tolerances: Mapping[str, float] = field(default_factory=dict)
    double_tolerance: float = 1e-9
    recomputation: pa.Table | Path | None = None


@dataclass(frozen=True)
class ValidationRequest:
    """All that is needed to prove the snapshot of ``epoch`` right.

    ``log_files``: relation -> Parquet files of its log (columns of the relation, ``_version`` int64, ``_sign`` int8,
    ``_offset`` int64); later versions in them are left out. ``sealed_epochs``: coordinator -> its last sealed epoch
    (inclusive). ``reports_folder`` keeps the reports of all epochs. ``groups`` (view string, group string, rows int64) are
    all groups that some map of a view has an entry for, with their row counts: none may lack rows.
    """

    project_name: str
    epoch: int
    views: tuple[ViewToValidate, ...]
    relations: tuple[Relation, ...]
    log_files: Mapping[str, Sequence[Path]]
    reports_folder: Path
    coordinators: int
    sealed_epochs: Mapping[int, int]
    groups: pa.Table | None = None


@dataclass(frozen=True)
class ValidationReport:
    """``failures``: one sentence per failed expectation, naming view, group and values. ``docs_index``: the page to
    open. ``statistics``: numbers of views, groups' rows, expectations, and seconds per part. ``remarks``: what else is to be
    known of the snapshot, such as a batch that is not in it."""

    epoch: int
    success: bool
    statistics: Mapping[str, Any]
    failures: tuple[str, ...]
    docs_index: Path
    seconds: float
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        remarks = "".join(f"\n  {remark}" for remark in self.remarks)
        if self.success:
            return f"epoch {self.epoch} equals its recomputation ({self.seconds:.1f} s): {self.docs_index}{remarks}"
        lines = remarks + "".join(f"\n  {failure}" for failure in self.failures)
        return f"epoch {self.epoch} is wrong, see {self.docs_index}{lines}"
