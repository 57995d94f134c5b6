"""Which project Airflow works for."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["project_folder"]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tpch"


def project_folder() -> Path:
    """The folder that CUMULUS_PROJECT names; without it, that of the TPC-H example."""
    return Path(os.environ.get("CUMULUS_PROJECT") or EXAMPLE)
