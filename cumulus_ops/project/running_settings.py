"""What ``cumulus.yaml`` says of how a project runs: where things are, when epochs end, who does the work, and how it is proved."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from cumulus_ops.project.relation_settings import FILE_KEYS, ROWS_MAX, file_settings
from cumulus_ops.project.settings import (
    LEAST_MEMORY,
    PIN,
    SETTLE,
    BackupSettings,
    CorrectionSettings,
    EpochSettings,
    ExecutorSettings,
    LandingSettings,
    LayoutChoice,
    LayoutSettings,
    Patience,
    Project,
    SourceSettings,
    ValidationSettings,
)
from cumulus_ops.project.versions import COORDINATORS_MAX, EPOCHS_MAX, SEQUENCES_MAX
from cumulus_ops.project.yaml_nodes import Item, Problems, Section, existing_file, identifier, resolve

__all__ = ["running_settings"]


CORES_MAX = 4096
KEPT_MAX = 10_000
#: Where Spark is, for projects that do not say so: `cumulus up` tells it those that it runs.
REMOTE = "CUMULUS_SPARK_REMOTE"
MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*(MB|MiB|GB|GiB)", re.IGNORECASE)
ZERO = re.compile(r"0+(\.0*)?\s*(ms|s|m|h|d)?")
EVERY = re.compile(r"(\d{1,9})(?:\s*epochs?)?")
MEMORY_UNITS = {"mb": 10**6, "mib": 1 << 20, "gb": 10**9, "gib": 1 << 30}


def running_settings(root: Section, folder: Path, problems: Problems) -> dict[str, Any]:
    """The fields of a :class:`~cumulus_ops.project.settings.Project` that concern how it runs; None for one that has an error, which is noted.

    Args:
        root: the whole file.
        folder: the project's, where relative paths start.
        problems: where errors are noted.
    """
    read = problems.read
    state = read(lambda: _path(root.get("state"), folder), None) or folder / "var" / "state"
    files = read(lambda: _files(root), LandingSettings())
    validation = read(lambda: _sub(root, "validation", ("policy", "unproved", "every", "views", "reports")), None)
    return {
        "state": state,
        "files": files,
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
        "batch_rows": read(lambda: _batch_rows(root), None),
        "memory": read(lambda: _memory(root.get("memory")), None),
        "deploy_cores": read(lambda: _deploy_cores(root), None),
        "fsck_percent": read(lambda: _fsck_percent(root), Project.fsck_percent),
        "corrections": read(lambda: _corrections(root), None),
        "backup": read(lambda: _backup(root, folder), None),
        "patience": read(lambda: _patience(root.get("coordinators")), None),
        "dataflow": read(lambda: _dataflow(root, folder), None),
        "files_of": read(lambda: _files_of(root, files), {}),
    }


def _files(root: Section) -> LandingSettings:
    """How landed files are read."""
    landing = root.need("sources", LANDING_HINT).section().get("landing")
    known = LandingSettings()
    return file_settings(landing.section(LANDING_KEYS), known) if landing and landing.is_mapping else known


def _sources(root: Section) -> tuple[SourceSettings, ...]:
    """The sources beside the landing folder."""
    sources = root.need("sources", LANDING_HINT).section()
    return tuple(_source(source, entry) for source, entry in sources.items() if source != "landing")


def _batch_rows(root: Section) -> int | None:
    item = _get(_sub(root, "batches", ("rows",)), "rows")
    return item.integer(1, SEQUENCES_MAX) if item else None


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
    return BackupSettings(resolve(to.text(), folder), _integer(section, "keep", 3, 1, KEPT_MAX))


def _dataflow(root: Section, folder: Path) -> Path | None:
    item = root.get("dataflow")
    return existing_file(item, folder) if item else None


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
    return resolve(path.text(), folder)


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
        identifier(name, item),
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
    return f"sqlite:///{resolve(url.removeprefix('sqlite:///'), folder)}" if url.startswith("sqlite:///") else url


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


def _path(item: Item | None, folder: Path) -> Path | None:
    return resolve(item.text(), folder) if item else None
