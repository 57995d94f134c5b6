"""Servers on this machine: Airflow, Spark and what watches them, for the demo and for ``cumulus up``."""

from __future__ import annotations

__all__: list[str] = []
