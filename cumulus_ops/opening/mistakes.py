"""All errors of a project's views or of its program, each in its file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import m3
from cumulus_ops.project.project_file import Described
from cumulus_ops.project.yaml_nodes import read_text
from m3.errors import M3Error
from m3.program import Relation

__all__ = ["find_mistakes", "find_mistakes_in"]


def find_mistakes(described: Described) -> tuple[M3Error, ...]:
    """What is wrong with the views, or the program, of a project. Who reads what has an error itself is not blamed.

    Args:
        described: what the project's file says of them.
    """
    if described.program_file is not None:
        try:
            m3.read_program(read_text(described.program_file), str(described.program_file))
        except M3Error as error:
            return error.all
        return ()
    return find_mistakes_in(
        described.views, described.relations, described.dialect, described.view_files, broken=described.broken
    )


def find_mistakes_in(
    views: Mapping[str, str],
    relations: Sequence[Relation],
    dialect: str | None,
    files: Mapping[str, Path],
    *,
    others: Mapping[str, str] | None = None,
    broken: Collection[str] = (),
) -> tuple[M3Error, ...]:
    """What is wrong with queries.

    Args:
        views: their texts by their names.
        relations: the tables that they read.
        dialect: sqlglot's name of the dialect.
        files: name -> the file in which the text is, for those that have one.
        others: further views that they may read.
        broken: names of tables and views that are there, but have errors that somebody else reports.
    """
    named = {view: str(file) for view, file in files.items()}
    found = m3.check_views(relations, views, dialect, others=others, broken=broken)
    return tuple(error.in_files(named) for error in found)
