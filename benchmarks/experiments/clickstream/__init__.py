"""Producers of clicks at a fixed rate, and the ways to coordinate them (Blazes, section VIII-B)."""

from __future__ import annotations

from benchmarks.experiments.clickstream.clicks import Load
from benchmarks.experiments.clickstream.project import REGIMES
from benchmarks.experiments.clickstream.running import Run, run_load

__all__ = ["REGIMES", "Load", "Run", "run_load"]
