"""The map store: versioned, sorted, immutable runs, one copy of a map per access path."""

from cumulus_ops.mapstore.columns import canonical, logical_type, physical_type, to_logical, to_numpy, to_physical
from cumulus_ops.mapstore.deltas import (
    VALUE,
    VERSION,
    delta_schema,
    distinct_rows,
    empty_delta,
    fits,
    multiply,
    sum_deltas,
    sum_values,
    versions,
)
from cumulus_ops.mapstore.lookup import Probe, Slices, probe, read_since, read_slices, sum_points
from cumulus_ops.mapstore.merge import merge_runs, pick_tier
from cumulus_ops.mapstore.ordered import first_live
from cumulus_ops.mapstore.runs import AccessPath, RunData, build_run, open_run, read_table, sync_folder, write_runs

__all__ = [
    "VALUE",
    "VERSION",
    "AccessPath",
    "Probe",
    "RunData",
    "Slices",
    "build_run",
    "canonical",
    "delta_schema",
    "distinct_rows",
    "empty_delta",
    "first_live",
    "fits",
    "logical_type",
    "merge_runs",
    "multiply",
    "open_run",
    "physical_type",
    "pick_tier",
    "probe",
    "read_since",
    "read_slices",
    "read_table",
    "sum_deltas",
    "sum_points",
    "sum_values",
    "sync_folder",
    "to_logical",
    "to_numpy",
    "to_physical",
    "versions",
    "write_runs",
]
