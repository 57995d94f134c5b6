"""Projects whose relations are sealed, fed row by row: events and seals of values in one append."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from cumulus_ops.catalog.records import LogFile, NewBatch
from cumulus_ops.catalog.values import SealChange, Sealing
from cumulus_ops.files.new_files import write_parquet
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import CorrectionSettings, Project, SealSettings
from m3.datatypes import Type
from m3.program import Column, Relation
from tests.support.projects import Event, log_table, make_project

INT, STRING, MAYBE = Type("int"), Type("string"), Type("int", nullable=True)
CLICKS = Relation("clicks", (Column("id", INT), Column("campaign", MAYBE), Column("price", INT)))
ADS = Relation("ads", (Column("campaign", MAYBE), Column("name", STRING)))
RELATIONS = (CLICKS, ADS)
SEALS = {
    "clicks": (SealSettings("campaign", ("campaign",), "registered"),),
    "ads": (SealSettings("campaign", ("campaign",), "registered"),),
}
#: Counts and sums; a join of two sealed relations; what is derived; a bag; lists; and one that only an epoch makes final.
VIEWS = {
    "counts": "SELECT campaign, COUNT(*) AS n, SUM(price) AS total FROM clicks GROUP BY campaign ORDER BY n DESC, campaign",
    "named": "SELECT c.campaign, a.name, COUNT(*) AS n FROM clicks c JOIN ads a ON c.campaign = a.campaign GROUP BY c.campaign, a.name",
    "dearest": "SELECT campaign, MAX(price) AS price, COUNT(DISTINCT price) AS prices FROM clicks GROUP BY campaign HAVING COUNT(*) > 1",
    "bag": "SELECT campaign, price FROM clicks WHERE price > 1",
    "lists": "SELECT campaign, ARRAY_AGG(price ORDER BY id DESC) AS prices, MIN(id) AS first FROM clicks GROUP BY campaign",
    "total": "SELECT SUM(price) AS total FROM clicks",
}
SEALED = ("counts", "named", "dearest", "bag", "lists")


@contextmanager
def sealed_project(folder: Path, coordinators: int = 2, **what: object) -> Iterator[Runtime]:
    """An open project over :data:`RELATIONS`; nothing is corrected before somebody asks."""
    project = sealed_settings(folder, coordinators, **what)
    initialise(project)
    with open_runtime(project) as rt:
        yield rt


def sealed_settings(folder: Path, coordinators: int = 2, **what: object) -> Project:
    """Its settings."""
    views: Mapping[str, str] = what.pop("views", VIEWS)  # type: ignore[assignment]
    project = make_project(folder, RELATIONS, views=views, coordinators=coordinators)
    later = CorrectionSettings(timedelta(hours=1))
    return dataclasses.replace(project, **({"seals": SEALS, "corrections": later} | what))  # type: ignore[arg-type]


def append_sealing(
    rt: Runtime, coordinator: int, events: Sequence[Event], drop: str, seals: Mapping[str, Sequence[int]] | None = None
) -> int:
    """Append events as one batch of a coordinator, register it for their campaigns, and then seal some (relation -> campaigns)."""
    epoch, sequence = rt.catalog.members.position(coordinator)
    sealed = dict(seals or {})
    files, changes = [], []
    for relation in rt.program.relations:
        rows = [(sequence + i, s, row) for i, (name, s, row) in enumerate(events) if name == relation.name]
        if rows:
            table = log_table(relation, epoch, coordinator, rows)
            path = write_parquet(rt.project.state, f"log/{relation.name}", table)
            files.append(LogFile(0, relation.name, path, len(rows), f"{coordinator}/{relation.name}", 0, 0))
        place = [c.name for c in relation.columns].index("campaign")
        registers = {row[place] for _, _, row in rows} | set(sealed.get(relation.name, ()))
        if registers:
            texts = tuple(sorted(_text(v) for v in registers)), tuple(_text(v) for v in sealed.get(relation.name, ()))
            changes.append(SealChange(relation.name, "campaign", "registered", *texts, columns=("campaign",)))
    number, _ = rt.catalog.seals.known_open(coordinator)
    inserts = sum(s > 0 for _, s, _ in events)
    counts = (inserts, len(events) - inserts, 0, 0)
    new = NewBatch(coordinator, drop, epoch, sequence, sequence + len(events), *counts, tuple(files), ())
    return rt.catalog.log.append([new], sealing=Sealing(number, tuple(changes)))[0]


def _text(value: object) -> str:
    return "[null]" if value is None else f'["{value}"]'
