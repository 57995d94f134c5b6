"""Reading ``cumulus.yaml`` into a checked :class:`~cumulus_ops.project.settings.Project`.

The shape, with defaults (``docs/project.md`` has a commented example)::

    name: shop
    relations: {orders: {columns: {o_id: bigint, o_price: "decimal(15,2)", o_note: string null}, key: [o_id], rows: 1000000}}
    # of a relation also  mode: strict      # or upsert, trusted: what its key means (docs/keys.md); writers: one, or any
    #                     insert_only: true, seals: {day: [day], shop: {key: [shop], producers: registered}}   # (docs/landing.md)
    sources: {landing: landing}              # or landing: {path: landing, settle: 5s}, and others: NAME: {kind: postgres, coordinator: 0, ...}
    coordinators: 1                          # or {count: 3, token: 5m, patience: 1h}; patience: never
    epochs: {length: 15m, start: 2026-01-01T00:00:00Z, count: , retain: 16, pin: 96, events: }
    batches: {rows: }                        # a larger drop is applied in several batches (docs/adr/0095)
    views: {revenue: views/revenue.sql}      # or  program: shop.m3
    dialect: postgres                        # how the views are written; without it sqlglot's generic SQL, much like Spark's
    state: ${CUMULUS_HOME:-var}/state
    catalog: sqlite:///<state>/catalog.db
    publish: {path: }
    backup: {to: , keep: 3}                  # a copy of the catalog after each snapshot (docs/backups.md)
    corrections: {after: 2s}                 # how soon tentative answers are corrected
    validation: {policy: fail, unproved: warn, every: 1 epoch, views: all, reports: <state>/reports}   # policy: fail, warn or off; unproved: warn or fail; views: all or a number
    dataflow:                                # a file that says what becomes of the views' answers (docs/coordination.md)
    executor: {kind: spark, master: "local[2]", remote: , rows_per_task: 350000}
    layout: {maps: {m_orders_1: [o_custkey], m_customer_1: replicated}, events: {lineitem: [l_orderkey], part: anywhere}}
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cumulus_ops.project.effective import Effective, read_effective
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.relation_settings import read_relation, relation_settings
from cumulus_ops.project.running_settings import running_settings
from cumulus_ops.project.settings import Project
from cumulus_ops.project.yaml_nodes import Item, Problems, Section, existing_file, identifier, read_text, read_yaml
from m3.program import Relation

__all__ = ["FILE_NAME", "Described", "ProjectProblem", "describe_project", "load_project"]


FILE_NAME = "cumulus.yaml"
KEYS = (
    *("name", "relations", "sources", "coordinators", "epochs", "batches", "corrections", "views", "program", "dialect"),
    *("state", "catalog", "publish", "backup", "validation", "executor", "layout", "memory", "deploy", "fsck", "dataflow"),
)  # fmt: skip
DIALECTS = ("spark", "postgres", "duckdb", "mysql", "tsql", "snowflake", "bigquery", "trino")
QUERY = re.compile(r"\s*\(*\s*(SELECT|WITH|VALUES|FROM)\s", re.IGNORECASE)


def load_project(path: Path, environment: Mapping[str, str] | None = None) -> Project:
    """The project in ``path``, a folder or its ``cumulus.yaml``.

    Args:
        path: the folder; relative paths in the file start there.
        environment: where ``${NAME}`` is taken from; None means the process's environment.

    Raises:
        InputProblem: with file, line and hint.
    """
    item = _read(path, environment)
    file = item.file
    root, problems, folder = item.section(), Problems(), file.parent
    problems.read(lambda: item.section(KEYS), root)
    described = _describe(root, folder, problems)
    settings = {"name": problems.read(lambda: _name(root), ""), **running_settings(root, folder, problems)}
    relations = root.get("relations")
    if relations is not None and described is not None and not described.broken:
        settings |= relation_settings(relations, described.relations, problems)
    problem = problems.combine()
    if problem is not None or described is None:
        assert problem is not None
        raise ProjectProblem(
            problem.message,
            kind=problem.kind,
            place=problem.place,
            hint=problem.hint,
            others=problem.others,
            described=described,
        )
    return Project(
        folder=folder,
        relations=described.relations,
        views=dict(described.views),
        view_files=described.view_files,
        effective=described.effective,
        program_file=described.program_file,
        dialect=described.dialect,
        **settings,  # None stands for what has an error, and then there is no project
    )


def _read(path: Path, environment: Mapping[str, str] | None) -> Item:
    file = (path / FILE_NAME if path.is_dir() else path).resolve()
    if not file.exists():
        raise InputProblem(
            "no such project", kind="no-project", place=str(file), hint="`cumulus init FOLDER` makes one"
        )
    return read_yaml(file, os.environ if environment is None else environment)


def describe_project(path: Path) -> tuple[Described | None, InputProblem | None]:
    """What a project's file says of tables and views, as far as it can be read, and what is wrong with it.

    Args:
        path: the folder.

    Raises:
        InputProblem: there is no such file, or it is no YAML.
    """
    try:
        project = load_project(path)
    except ProjectProblem as problem:
        return problem.described, problem
    known = (project.relations, project.views, project.view_files, project.program_file, project.dialect)
    return Described(*known), None


@dataclass(frozen=True)
class Described:
    """What a project's file says of tables and views; ``broken`` are the names of those of which it does not say it rightly;
    ``effective``: the views that say something else from a value on."""

    relations: tuple[Relation, ...]
    views: Mapping[str, str]
    view_files: Mapping[str, Path]
    program_file: Path | None
    dialect: str | None
    broken: frozenset[str] = frozenset()
    effective: Mapping[str, Effective] = field(default_factory=dict)


class ProjectProblem(InputProblem):
    """A project's file is wrong; ``described`` is what could be read of its tables and views, whose errors can be reported, too."""

    def __init__(self, message: str, *, described: Described | None = None, **rest: Any) -> None:
        super().__init__(message, **rest)
        self.described = described


def _describe(root: Section, folder: Path, problems: Problems) -> Described | None:
    """Tables and views, without those that have errors; None if nothing can be said of any view."""
    broken: set[str] = set()
    relations: list[Relation] = []
    item = problems.read(lambda: root.need("relations", "list the tables whose changes are the events"), None)
    tables = None if item is None else problems.read(item.section, None)
    if item is not None and tables is not None and not tables.entries:
        problems.note(item.problem("there is no relation", hint="list the tables whose changes are the events"))
    for name, entry in tables.items() if tables is not None else ():
        relation = problems.read(partial(read_relation, name, entry), None)
        if relation is None:
            broken.add(name)
        else:
            relations.append(relation)
    known = len(problems.found)
    dialect = problems.read(lambda: _dialect(root.get("dialect")), None)
    what = problems.read(lambda: _what(root, folder), None)
    if what is None or tables is None or len(problems.found) > known:
        return None
    views, program = what
    texts: dict[str, str] = {}
    files: dict[str, Path] = {}
    effective: dict[str, Effective] = {}
    for name, entry in views.items():
        if entry.is_mapping:
            both = problems.read(partial(_effective_view, name, entry, folder), None)
            if both is None:
                broken.add(name)
            else:
                files[name], effective[name] = both
                texts[name] = effective[name].text(name)
            continue
        file = problems.read(partial(_view_file, name, entry, folder), None)
        text = problems.read(partial(read_text, file), None) if file is not None else None
        if file is None or text is None:
            broken.add(name)
        else:
            texts[name], files[name] = text, file
    return Described(tuple(relations), texts, files, program, dialect, frozenset(broken), effective)


def _name(root: Section) -> str:
    item = root.need("name", "the first line is `name: my_project`")
    return identifier(item.text(), item)


def _what(root: Section, folder: Path) -> tuple[dict[str, Item], Path | None]:
    """The entries of the views, or the M3 program's file; exactly one of the two."""
    views, program = root.get("views"), root.get("program")
    if (views is None) == (program is None):
        raise root.item.problem(
            "give either `views` or `program`", kind="views-or-program", hint="views: {name: file.sql}"
        )
    if program is not None:
        return {}, existing_file(program, folder)
    assert views is not None
    return dict(views.section().items()), None


def _view_file(name: str, item: Item, folder: Path) -> Path:
    """The file of a view."""
    identifier(name, item)
    if not item.is_mapping and not item.is_list and QUERY.match(item.text()):
        hint = f"write it to views/{name}.sql, and `{name}: views/{name}.sql` here"
        raise item.problem("a query in the place of its file's name", kind="no-file", hint=hint)
    return existing_file(item, folder)


def _effective_view(name: str, item: Item, folder: Path) -> tuple[Path, Effective]:
    """A view that says something else from a value on."""
    identifier(name, item)
    return read_effective(item, lambda entry: existing_file(entry, folder))


def _dialect(item: Item | None) -> str | None:
    """The SQL dialect of the views, None for the generic one."""
    if item is None or not item.text():
        return None
    if item.text().lower() not in DIALECTS:
        raise item.problem(f"unknown dialect {item.text()!r}", kind="dialect", hint=f"one of {', '.join(DIALECTS)}")
    return item.text().lower()
