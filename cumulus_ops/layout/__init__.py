"""The physical plan: access paths and prepared statements and derivations."""

from cumulus_ops.layout.derived import DerivedPlan, InputPlan
from cumulus_ops.layout.plans import ProgramPlan, ReadPlan, StatementPlan, plan_program, plan_text

__all__ = ["DerivedPlan", "InputPlan", "ProgramPlan", "ReadPlan", "StatementPlan", "plan_program", "plan_text"]
