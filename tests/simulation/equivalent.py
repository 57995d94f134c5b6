"""Mutants that are no bugs (:mod:`tests.simulation.mutants`), each with the reason."""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

#: Name of the mutant -> why nothing can notice it.
EQUIVALENT: dict[str, str] = {}
