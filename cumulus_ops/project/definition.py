"""A project's **definition**: what its maps and its log follow from. The rest of the project's file are settings.

A running project has the definition of its current revision, which is stored, and the settings that its folder has now. So whoever edits a file changes
nothing of what is maintained, until that is deployed.
"""

from __future__ import annotations

import json
from dataclasses import astuple, replace

from cumulus_ops.project.settings import KeySettings, Project, SealSettings
from m3.clock import CLOCK
from m3.program import Program

__all__ = ["definition_of", "with_definition"]


def definition_of(project: Project) -> str:
    """What a program does not say of its project's definition, as JSON."""
    seals = {relation: [astuple(seal) for seal in of] for relation, of in project.seals.items()}
    data = {
        "dialect": project.dialect,
        "keys": {relation: astuple(key) for relation, key in project.keys.items()},
        "seals": seals,
        "insert_only": sorted(project.insert_only),
        "is_program": project.program_file is not None,
    }
    return json.dumps(data, sort_keys=True)


def _waiting(project: Project, program: Program) -> dict[str, frozenset[str]]:
    """The columns that a folder declares and a program does not have, of relations that it has."""
    known = {r.name: {c.name for c in r.columns} for r in program.relations}
    found = {r.name: frozenset(c.name for c in r.columns) - known[r.name] for r in project.relations if r.name in known}
    return {name: columns for name, columns in found.items() if columns}


def with_definition(project: Project, program: Program, definition: str) -> Project:
    """The project as a stored program, and what is stored beside it, define it; its settings are those that it has.

    Args:
        project: as its folder says.
        program: what is maintained.
        definition: as :func:`definition_of` has made it.
    """
    data = json.loads(definition)
    return replace(
        project,
        relations=tuple(relation for relation in program.relations if relation.name != CLOCK),
        views={} if data["is_program"] else {view.name: view.sql or "" for view in program.views},
        dialect=data["dialect"],
        keys={relation: KeySettings(*key) for relation, key in data["keys"].items()},
        seals={
            relation: tuple(SealSettings(name, tuple(columns), producers) for name, columns, producers in of)
            for relation, of in data["seals"].items()
        },
        insert_only=tuple(data["insert_only"]),
        waiting=_waiting(project, program),
    )
