"""The demo: TPC-H as a stream, maintained by Spark under Airflow on one machine (``make run``)."""

from __future__ import annotations

__all__: list[str] = []
