"""The physical plan: access paths, prepared statements and derivations; and how a large batch is spread over tasks."""

from cumulus_ops.layout.costs import ANYWHERE, REPLICATED, Label, Labels, Problem
from cumulus_ops.layout.derived import DerivedPlan, GroupLookup, InputPlan
from cumulus_ops.layout.estimates import events_per
from cumulus_ops.layout.groups import Group, reordered
from cumulus_ops.layout.needs import Ref, find_needs, used_columns
from cumulus_ops.layout.overrides import check_layout, fixed_labels
from cumulus_ops.layout.partitioning import Layout, choose_layout
from cumulus_ops.layout.plans import ProgramPlan, plan_json, plan_program
from cumulus_ops.layout.sizes import CopySizes
from cumulus_ops.layout.stages import Schedule, Shipment, Stage, levels, schedule
from cumulus_ops.layout.statements import Product, ReadPlan, StatementPlan

__all__ = [
    "ANYWHERE",
    "REPLICATED",
    "CopySizes",
    "DerivedPlan",
    "Group",
    "GroupLookup",
    "InputPlan",
    "Label",
    "Labels",
    "Layout",
    "Problem",
    "Product",
    "ProgramPlan",
    "ReadPlan",
    "Ref",
    "Schedule",
    "Shipment",
    "Stage",
    "StatementPlan",
    "check_layout",
    "choose_layout",
    "events_per",
    "find_needs",
    "fixed_labels",
    "levels",
    "plan_json",
    "plan_program",
    "reordered",
    "schedule",
    "used_columns",
]
