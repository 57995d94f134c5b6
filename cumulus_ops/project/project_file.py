"""Reading ``cumulus.yaml`` into a checked :class:`~cumulus_ops.project.settings.Project`.

The shape, with defaults (``docs/project.md`` has a commented example)::

    name: shop
    relations: {orders: {columns: {o_id: bigint, o_price: "decimal(15,2)", o_note: string null}, key: [o_id], rows: 1000000}}
    # of a relation also  mode: strict      # or upsert, trusted: what its key means (docs/keys.md); writers: one, or any
    #                     insert_only: true, seals: {day: [day], shop: {key: [shop], producers: registered}}   # (docs/landing.md)
    sources: {landing: landing}              # or landing: {path: landing, settle: 5s}, and others: NAME: {kind: postgres, coordinator: 0, ...}
    coordinators: 1                          # or {count: 3, token: 5m, patience: 1h}; patience: never
    epochs: {length: 15m, start: 2026-01-01T00:00:00Z, count: , retain: 16, pin: 96, events: }
    batches: {rows: 1000000}                 # a larger drop is applied in several batches
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

import datetime
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from cumulus_ops.project.effective import Effective, read_effective
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.relation_settings import (
    COLUMN_KEYS,
    FILE_KEYS,
    check_column_name,
    column_defaults,
    file_settings,
    insert_only_relations,
    relation_seals,
)
from cumulus_ops.project.settings import (
    LEAST_MEMORY,
    PIN,
    SETTLE,
    BackupSettings,
    CorrectionSettings,
    EpochSettings,
    ExecutorSettings,
    KeySettings,
    LandingSettings,
    LayoutChoice,
    LayoutSettings,
    Patience,
    Project,
    SourceSettings,
    ValidationSettings,
)
from cumulus_ops.project.versions import COORDINATORS_MAX, EPOCHS_MAX, SEQUENCES_MAX
from cumulus_ops.project.yaml_nodes import Item, Problems, Section, read_text, read_yaml
from m3.datatypes import BOOL, DATE, DOUBLE, INT, MAX_PRECISION, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation

__all__ = ["FILE_NAME", "Described", "ProjectProblem", "column_type", "describe_project", "load_project"]


FILE_NAME = "cumulus.yaml"
KEYS = (
    *(
        "name",
        "relations",
        "sources",
        "coordinators",
        "epochs",
        "batches",
        "corrections",
        "views",
        "program",
        "dialect",
    ),
    *("state", "catalog", "publish", "validation", "executor", "layout", "memory", "deploy", "fsck", "dataflow"),
    "backup",
)
RELATION_KEYS = ("columns", "key", "rows", "file", "mode", "writers", "insert_only", "seals")
DIALECTS = ("spark", "postgres", "duckdb", "mysql", "tsql", "snowflake", "bigquery", "trino")
ROWS_MAX = 10**15
CORES_MAX = 4096
KEPT_MAX = 10_000
#: Where Spark is, for projects that do not say so: `cumulus up` tells it those that it runs.
REMOTE = "CUMULUS_SPARK_REMOTE"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DECIMAL = re.compile(r"decimal\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*(MB|MiB|GB|GiB)", re.IGNORECASE)
QUERY = re.compile(r"\s*\(*\s*(SELECT|WITH|VALUES|FROM)\s", re.IGNORECASE)
ZERO = re.compile(r"0+(\.0*)?\s*(ms|s|m|h|d)?")
EVERY = re.compile(r"(\d{1,9})(?:\s*epochs?)?")
MEMORY_UNITS = {"mb": 10**6, "mib": 1 << 20, "gb": 10**9, "gib": 1 << 30}
TYPES: Mapping[str, Type] = {
    "int": INT, "integer": INT, "bigint": INT, "string": STRING, "text": STRING, "varchar": STRING, "date": DATE,
    "timestamp": TIMESTAMP, "boolean": BOOL, "double": DOUBLE,
}  # fmt: skip
TYPE_HINT = (
    'one of bigint, int, "decimal(15,2)", string, date, timestamp, boolean, double; add ` null` if it may be NULL'
)


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
    read = problems.read
    state = read(lambda: _path(root.get("state"), folder), None) or folder / "var" / "state"
    files = read(lambda: _files(root), LandingSettings())
    validation = read(lambda: _sub(root, "validation", ("policy", "unproved", "every", "views", "reports")), None)
    relations = root.get("relations")
    settings = {
        "name": read(lambda: _name(root), ""),
        "coordinators": read(lambda: _coordinators(root.get("coordinators")), 1),
        "epoch": read(lambda: _epochs(root), None),
        "landing": read(lambda: _landing(root, folder), folder),
        "settle": read(lambda: _settle(root), SETTLE),
        "sources": read(lambda: _sources(root), ()),
        "catalog_url": read(lambda: _catalog(root, folder, state), ""),
        "published": read(lambda: _path(_get(_sub(root, "publish", ("path",)), "path"), folder), None),
        "reports": read(lambda: _path(_get(validation, "reports"), folder), None) or state / "reports",
        "executor": read(lambda: _executor(root), None),
        "validation": read(lambda: _validation(validation), None),
        "layout": read(lambda: _layout(root), None),
        "batch_rows": read(lambda: _batch_rows(root), 0),
        "memory": read(lambda: _memory(root.get("memory")), None),
        "deploy_cores": read(lambda: _deploy_cores(root), None),
        "fsck_percent": read(lambda: _fsck_percent(root), Project.fsck_percent),
        "corrections": read(lambda: _corrections(root), None),
        "backup": read(lambda: _backup(root, folder), None),
        "patience": read(lambda: _patience(root.get("coordinators")), None),
        "dataflow": read(lambda: _dataflow(root, folder), None),
        "files_of": read(lambda: _files_of(root, files), {}),
    }
    if relations is not None and described is not None and not described.broken:
        settings["keys"] = read(lambda: _keys(relations), {})
        settings["seals"] = read(lambda: relation_seals(relations, described.relations), {})
        settings["renamed"] = read(lambda: _renamed(relations), {})
        settings["insert_only"] = read(lambda: insert_only_relations(relations), ())
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
        state=state,
        files=files,
        relations=described.relations,
        views=dict(described.views),
        view_files=described.view_files,
        effective=described.effective,
        program_file=described.program_file,
        dialect=described.dialect,
        **settings,  # type: ignore[arg-type]  # None stands for what has an error, and then there is no project
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
        relation = problems.read(partial(_relation, name, entry), None)
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
    return _identifier(item.text(), item)


def _files(root: Section) -> LandingSettings:
    """How landed files are read."""
    landing = root.need("sources", LANDING_HINT).section().get("landing")
    known = LandingSettings()
    return file_settings(landing.section(LANDING_KEYS), known) if landing and landing.is_mapping else known


def _sources(root: Section) -> tuple[SourceSettings, ...]:
    """The sources beside the landing folder."""
    sources = root.need("sources", LANDING_HINT).section()
    return tuple(_source(source, entry) for source, entry in sources.items() if source != "landing")


def _batch_rows(root: Section) -> int:
    batches = _sub(root, "batches", ("rows",))
    return _integer(batches, "rows", Project.batch_rows, 1, SEQUENCES_MAX) if batches else Project.batch_rows


def _deploy_cores(root: Section) -> int | None:
    item = _get(_sub(root, "deploy", ("cores",)), "cores")
    return item.integer(1, CORES_MAX) if item else None


def _fsck_percent(root: Section) -> int:
    item = _get(_sub(root, "fsck", ("sample",)), "sample")
    return item.integer(0, 100) if item else Project.fsck_percent


def _corrections(root: Section) -> CorrectionSettings:
    after = _get(_sub(root, "corrections", ("after",)), "after")
    return CorrectionSettings(after.duration()) if after else CorrectionSettings()


def _backup(root: Section, folder: Path) -> BackupSettings | None:
    section = _sub(root, "backup", ("to", "keep"))
    if section is None:
        return None
    to = section.need("to", "write `backup: {to: FOLDER}`, best on another disk")
    return BackupSettings(_resolve(to.text(), folder), _integer(section, "keep", 3, 1, KEPT_MAX))


def _dataflow(root: Section, folder: Path) -> Path | None:
    item = root.get("dataflow")
    return _existing(item, folder) if item else None


def _keys(relations: Item) -> dict[str, KeySettings]:
    """The relations that are not trusted."""
    every = ((name, _key_settings(entry)) for name, entry in relations.section().items())
    return {name: known for name, known in every if known is not None}


def column_type(item: Item) -> Type:
    """The type a column is declared with, e.g. ``decimal(15,2) null``."""
    if item.is_mapping:
        item = item.section(COLUMN_KEYS).need("type", "write `{type: bigint, was: its_older_name}`")
    text = item.text().lower()
    bare = text.removesuffix(" null").strip()
    nullable = bare != text
    if match := DECIMAL.fullmatch(bare):
        precision, scale = int(match[1]), int(match[2])
        if not 0 < precision <= MAX_PRECISION or scale > precision:
            raise item.problem(
                f"{bare} is out of range", kind="bad-type", hint=f"0 <= scale <= precision <= {MAX_PRECISION}"
            )
        return decimal(precision, scale).with_null(nullable)
    if bare not in TYPES:
        raise item.problem(f"unknown type {text!r}", kind="bad-type", hint=TYPE_HINT)
    return TYPES[bare].with_null(nullable)


def _relation(name: str, item: Item) -> Relation:
    _identifier(name, item)
    section = item.section(RELATION_KEYS)
    columns = section.need("columns", "write `columns: {id: bigint}`").section()
    problems = Problems()
    read = [problems.read(partial(_column, column, entry), None) for column, entry in columns.items()]
    problems.stop()
    known = tuple(c for c in read if c is not None)
    key_item = section.get("key")
    key = key_item.words() if key_item else ()
    for part in key:
        if key_item and part not in columns.entries:
            raise key_item.problem(
                f"{part!r} is not a column", kind="unknown-column", hint=f"columns: {', '.join(columns.entries)}"
            )
    rows = section.get("rows")
    defaults = problems.read(lambda: tuple(column_defaults(columns, known)), ())
    problems.stop()
    return Relation(name, known, key, rows.integer(1, ROWS_MAX) if rows else None, defaults=defaults)


def _column(name: str, item: Item) -> Column:
    check_column_name(name, item)
    return Column(_identifier(name, item), column_type(item))


def _renamed(relations: Item) -> dict[str, dict[str, tuple[str, ...]]]:
    """relation -> column -> the names that it had before."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, entry in relations.section().items():
        columns = entry.section(RELATION_KEYS).need("columns", "write `columns: {id: bigint}`").section()
        for column, item in columns.items():
            was = item.section(COLUMN_KEYS).get("was") if item.is_mapping else None
            if was is not None:
                names = was.words() if was.is_list else (was.text(),)
                if column in names:
                    raise was.problem(f"{column} was {column}", kind="bad-name", hint="`was` says an older name")
                found.setdefault(name, {})[column] = names
    return found


def _key_settings(item: Item) -> KeySettings | None:
    section = item.section(RELATION_KEYS)
    mode, writers, key = section.get("mode"), section.get("writers"), section.get("key")
    chosen = mode.choice(("trusted", "strict", "upsert")) if mode else "trusted"
    settings = KeySettings(chosen, writers.choice(("one", "any")) if writers else "one")
    names = key.words() if key else ()
    if writers and (chosen == "trusted" or not names):
        raise writers.problem(
            "`writers` says who may write a key", kind="bad-key", hint="give `key`, and `mode: strict`"
        )
    if mode is None or chosen == "trusted":
        return None
    if chosen == "upsert" and not names:
        raise mode.problem("an upsert needs a key", kind="bad-key", hint="write `key: [id]`, or `mode: strict`")
    columns = section.need("columns", "").section()
    for name in names:
        entry = columns.get(name)
        if entry is not None and column_type(entry).nullable:
            hint = f"write `{name}: {str(column_type(entry)).removesuffix(' null').lower()}`, without null"
            raise entry.problem(f"the key's column {name} may be NULL", kind="bad-key", hint=hint)
    return settings


def _what(root: Section, folder: Path) -> tuple[dict[str, Item], Path | None]:
    """The entries of the views, or the M3 program's file; exactly one of the two."""
    views, program = root.get("views"), root.get("program")
    if (views is None) == (program is None):
        raise root.item.problem(
            "give either `views` or `program`", kind="views-or-program", hint="views: {name: file.sql}"
        )
    if program is not None:
        return {}, _existing(program, folder)
    assert views is not None
    return dict(views.section().items()), None


def _view_file(name: str, item: Item, folder: Path) -> Path:
    """The file of a view."""
    _identifier(name, item)
    if not item.is_mapping and not item.is_list and QUERY.match(item.text()):
        hint = f"write it to views/{name}.sql, and `{name}: views/{name}.sql` here"
        raise item.problem("a query in the place of its file's name", kind="no-file", hint=hint)
    return _existing(item, folder)


def _effective_view(name: str, item: Item, folder: Path) -> tuple[Path, Effective]:
    """A view that says something else from a value on."""
    _identifier(name, item)
    return read_effective(item, lambda entry: _existing(entry, folder))


def _dialect(item: Item | None) -> str | None:
    """The SQL dialect of the views, None for the generic one."""
    if item is None or not item.text():
        return None
    if item.text().lower() not in DIALECTS:
        raise item.problem(f"unknown dialect {item.text()!r}", kind="dialect", hint=f"one of {', '.join(DIALECTS)}")
    return item.text().lower()


def _epochs(root: Section) -> EpochSettings:
    hint = "write `epochs: {length: 15m, start: 2026-01-01T00:00:00Z}`"
    section = root.need("epochs", hint).section(("length", "start", "count", "retain", "pin", "events", "transitions"))
    count, events, transitions = section.get("count"), section.get("events"), section.get("transitions")
    retain = _integer(section, "retain", 16, 1, EPOCHS_MAX)
    return EpochSettings(
        length=section.need("length", hint).duration(),
        start=section.need("start", hint).time(),
        count=count.integer(1, EPOCHS_MAX) if count else None,
        retain=retain,
        pin=_pin(section, retain),
        events=events.integer(1, ROWS_MAX) if events else None,
        staggered=transitions is None or transitions.choice(("staggered", "aligned")) == "staggered",
    )


def _coordinators(item: Item | None) -> int:
    """How many there are at first: the number, or `count` of a mapping."""
    if item is None:
        return 1
    if item.is_mapping:
        return _integer(item.section(("count", "token", "patience")), "count", 1, 1, COORDINATORS_MAX)
    return item.integer(1, COORDINATORS_MAX)


def _patience(item: Item | None) -> Patience:
    """What a mapping of `coordinators` says of it."""
    settings = Patience()
    if item is None or not item.is_mapping:
        return settings
    section = item.section(("count", "token", "patience"))
    token, gone = section.get("token"), section.get("patience")
    settings = replace(settings, token=token.duration()) if token else settings
    if gone is not None:
        settings = replace(settings, gone=None if gone.text() == "never" else gone.duration())
    if settings.gone is not None and token is None:
        settings = replace(settings, token=min(settings.token, settings.gone))
    if settings.gone is not None and settings.gone < settings.token:
        hint = "who is late loses the token first, and is fenced when others have waited for longer"
        raise item.problem("patience is less than that for the token", kind="bad-patience", hint=hint)
    return settings


def _pin(section: Section, retain: int) -> int:
    item = section.get("pin")
    pin = item.integer(1, EPOCHS_MAX) if item else max(PIN, retain)
    if item and pin < retain:
        hint = f"every snapshot stays for {retain} epochs; one that is not published or validated for as many as `pin`"
        raise item.problem(f"pin: {pin} is less than retain: {retain}", kind="bad-pin", hint=hint)
    return pin


def _memory(item: Item | None) -> int | None:
    """``4 GiB`` in bytes."""
    if item is None:
        return None
    match = MEMORY.fullmatch(item.text())
    size = float(match[1]) * MEMORY_UNITS[match[2].lower()] if match else 0.0
    if not LEAST_MEMORY <= size < 1 << 62:
        what = "is no amount of memory" if not match or size >= 1 << 62 else "is not enough memory"
        hint = "write `memory: 4 GiB`, at least 256 MiB"
        raise item.problem(f"{item.text()!r} {what}", kind="bad-memory", hint=hint)
    return int(size)


def _executor(root: Section) -> ExecutorSettings:
    section = _sub(root, "executor", ("kind", "master", "remote", "rows_per_task"))
    settings = ExecutorSettings(remote=root.item.environment.get(REMOTE) or None)
    if section is None:
        return settings
    master, remote = section.get("master"), section.get("remote")
    return replace(
        settings,
        kind=_choice(section, "kind", ("spark", "inprocess")),
        master=master.text() if master else settings.master,
        remote=remote.text() if remote else settings.remote,
        rows_per_task=_integer(section, "rows_per_task", settings.rows_per_task, 1, 2**31),
    )


def _validation(section: Section | None) -> ValidationSettings:
    every, views = _get(section, "every"), _get(section, "views")
    return ValidationSettings(
        _choice(section, "policy", ("fail", "warn", "off")),
        _every(every) if every else 1,
        _sample(views) if views else None,
        _choice(section, "unproved", ("warn", "fail")),
    )


def _every(item: Item) -> int:
    """``3 epochs``, or a number."""
    match = EVERY.fullmatch(item.text())
    if match is None or not 1 <= int(match[1]) <= EPOCHS_MAX:
        raise item.problem(f"{item.text()!r} is no number of epochs", hint="write `every: 3 epochs`")
    return int(match[1])


def _sample(item: Item) -> int | None:
    """How many views at a time; None for ``all``."""
    if item.text() == "all":
        return None
    if not re.fullmatch(r"0*[1-9]\d{0,8}", item.text()):
        raise item.problem(
            f"{item.text()!r} is neither all nor a number", hint="write `views: all`, or how many at a time"
        )
    return int(item.text())


def _layout(root: Section) -> LayoutSettings:
    section = _sub(root, "layout", ("maps", "events"))
    maps, events = _get(section, "maps"), _get(section, "events")
    return LayoutSettings(_layout_choices(maps, "replicated"), _layout_choices(events, "anywhere"))


def _layout_choices(item: Item | None, word: str) -> dict[str, LayoutChoice]:
    """Columns to partition by, or ``word``, by name; whether there are such columns, the program tells."""
    entries = item.section().items() if item else ()
    return {name: LayoutChoice(_layout_columns(entry, word), entry.place) for name, entry in entries}


def _layout_columns(item: Item, word: str) -> tuple[str, ...]:
    hint = f"write a list of columns, such as [o_orderkey], or {word}"
    if item.is_list:
        columns = item.words()
        if not columns or len(set(columns)) < len(columns):
            raise item.problem("an empty list, or a column twice", kind="bad-layout", hint=hint)
        return columns
    if item.text() != word:
        raise item.problem(f"{item.text()!r} is neither columns nor {word}", kind="bad-layout", hint=hint)
    return ()


#: What `sources: {landing: ...}` may say beside the path.
LANDING_KEYS = ("path", "settle", *FILE_KEYS)
LANDING_HINT = "write `sources: {landing: FOLDER}`"


def _landing(root: Section, folder: Path) -> Path:
    """Where drops land; a project with other sources only need not say."""
    section = root.need("sources", LANDING_HINT).section()
    item = section.get("landing")
    if item is None:
        if not section.entries:
            raise section.item.problem("there is no source", kind="missing-key", hint=LANDING_HINT)
        return folder / "landing"
    path = item.section(LANDING_KEYS).need("path", LANDING_HINT) if item.is_mapping else item
    return _resolve(path.text(), folder)


def _settle(root: Section) -> datetime.timedelta:
    """How long a drop has to be left alone; 0s for those who promise that drops appear by one rename."""
    item = root.need("sources", LANDING_HINT).section().get("landing")
    settle = item.section(LANDING_KEYS).get("settle") if item is not None and item.is_mapping else None
    if settle is None:
        return SETTLE
    return datetime.timedelta(0) if ZERO.fullmatch(settle.text()) else settle.duration()


def _files_of(root: Section, base: LandingSettings) -> dict[str, LandingSettings]:
    """The same, for relations that say so themselves."""
    relations = root.need("relations", "list the tables whose changes are the events").section().items()
    own = {name: item.section().get("file") for name, item in relations}
    return {name: file_settings(item.section(FILE_KEYS), base) for name, item in own.items() if item is not None}


def _source(name: str, item: Item) -> SourceSettings:
    hint = f"write `{name}: {{kind: postgres, coordinator: 0, ...}}`"
    if not item.is_mapping:
        raise item.problem("unknown key", kind="unknown-key", hint=f"the folder of drops is `landing:`; {hint}")
    section = item.section()
    return SourceSettings(
        _identifier(name, item),
        section.need("kind", hint).text(),
        _integer(section, "coordinator", 0, 0, COORDINATORS_MAX - 1),
        item,
    )


def _catalog(root: Section, folder: Path, state: Path) -> str:
    item = root.get("catalog")
    url = item.text() if item else f"sqlite:///{state / 'catalog.db'}"
    if item and "://" not in url:
        raise item.problem(
            "not a database URL", hint="sqlite:///FILE, or postgresql+psycopg2://USER:PASSWORD@HOST/NAME"
        )
    return f"sqlite:///{_resolve(url.removeprefix('sqlite:///'), folder)}" if url.startswith("sqlite:///") else url


def _sub(root: Section, key: str, known: tuple[str, ...]) -> Section | None:
    item = root.get(key)
    return item.section(known) if item else None


def _get(section: Section | None, key: str) -> Item | None:
    return section.get(key) if section else None


def _choice(section: Section | None, key: str, options: tuple[str, ...]) -> str:
    """The chosen option; the first one is the default."""
    item = _get(section, key)
    return item.choice(options) if item else options[0]


def _integer(section: Section, key: str, default: int, minimum: int, maximum: int) -> int:
    item = section.get(key)
    return item.integer(minimum, maximum) if item else default


def _identifier(name: str, item: Item) -> str:
    if not NAME.fullmatch(name):
        raise item.problem(f"{name!r} is not a name", kind="bad-name", hint="letters, digits and _, not a digit first")
    return name


def _path(item: Item | None, folder: Path) -> Path | None:
    return _resolve(item.text(), folder) if item else None


def _resolve(text: str, folder: Path) -> Path:
    """An absolute path; a relative one starts at the project's folder."""
    return (folder / Path(text).expanduser()).resolve()


def _existing(item: Item, folder: Path) -> Path:
    path = _resolve(item.text(), folder)
    if not path.is_file():
        raise item.problem(f"no file {path}", kind="no-file", hint="paths are relative to the project's folder")
    return path
