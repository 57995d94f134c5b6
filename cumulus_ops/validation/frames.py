"""How small tables reach Great Expectations: as pandas DataFrames, each to its own suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import great_expectations as gx
import pandas as pd
import pyarrow as pa
from great_expectations.checkpoint import Checkpoint

__all__ = ["SnapshotCheckpoint", "frame"]


class SnapshotCheckpoint(Checkpoint):
    """A checkpoint whose validation definitions each get their own DataFrame: ``batch_parameters`` is keyed by their
    names, where Great Expectations would hand one DataFrame to all of them."""

    validation_definitions: list[gx.ValidationDefinition]

    def _run_validation_definitions(self, batch_parameters: dict[str, Any], **options: Any) -> Any:
        results: dict[Any, Any] = {}
        everything: list[gx.ValidationDefinition] = self.validation_definitions
        for definition in everything:
            self.validation_definitions = [definition]
            one = {"dataframe": batch_parameters[definition.name]}
            results.update(super()._run_validation_definitions(batch_parameters=one, **options))
        self.validation_definitions = everything
        return results


def frame(rows: pa.Table | Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A table, or rows, as a DataFrame; Arrow's columns stay Arrow's."""
    return rows.to_pandas(types_mapper=pd.ArrowDtype) if isinstance(rows, pa.Table) else pd.DataFrame(list(rows))
