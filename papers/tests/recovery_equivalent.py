"""Mutants of recovery by tree clocks that nothing can notice (:mod:`recovery_mutants`), each with the reason."""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

#: Name of the mutant -> why nothing can notice it.
EQUIVALENT: dict[str, str] = {}
