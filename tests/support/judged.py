"""Views recomputed and compared as a validation does it, without a report."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from cumulus_ops.validation.judge import judge
from cumulus_ops.validation.recompute import recompute_views
from cumulus_ops.validation.request import ViewToValidate, ViewVerdict
from m3.program import Relation

__all__ = ["judged"]


def judged(
    session: SparkSession,
    views: Sequence[ViewToValidate],
    relations: Sequence[Relation],
    texts: Mapping[str, str] | None = None,
) -> list[ViewVerdict]:
    """A verdict for each view; the session has the relations as temporary views."""
    with tempfile.TemporaryDirectory() as folder:
        return [judge(c.row()) for c in recompute_views(session, views, relations, texts or {}, Path(folder))]
