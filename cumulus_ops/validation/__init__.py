"""Validation: every snapshot is compared with full recomputation on Spark SQL.

The heavy parts (Great Expectations, Spark) are in :mod:`.checkpoint` and :mod:`.recompute` and imported where used.
"""

from cumulus_ops.validation.request import ValidationReport, ValidationRequest, ViewToValidate, ViewVerdict

__all__ = ["ValidationReport", "ValidationRequest", "ViewToValidate", "ViewVerdict"]
