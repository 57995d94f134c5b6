"""The physical plan: access paths and prepared statements."""

from cumulus_ops.layout.plans import ProgramPlan, ReadPlan, StatementPlan, plan_program

__all__ = ["ProgramPlan", "ReadPlan", "StatementPlan", "plan_program"]
