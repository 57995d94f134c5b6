"""Whatever becomes of relations and views between whichever steps: snapshots and maps are what the views say of all events, each with the columns that the
relation has now. The model keeps every event with the columns that it came with."""

from __future__ import annotations

import dataclasses
import os
import re
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from cumulus_ops.epochs import compacting
from cumulus_ops.opening.runtime import Runtime
from m3.datatypes import INT, STRING, Type, decimal
from m3.program import Column, Program, Relation
from tests.support.projects import Event, append_events
from tests.support.random_programs import RELATIONS
from tests.support.worlds import World, play

#: `DEPLOYMENTS=200` plays more of them.
SEEDS = int(os.environ.get("DEPLOYMENTS", "2"))
WIDER = {
    INT: decimal(19, 0),
    decimal(19, 0): decimal(22, 2),
    decimal(9, 2): decimal(11, 2),
    decimal(11, 2): decimal(20, 4),
}
ADDED = {"p": INT.with_null(), "q": STRING.with_null(), "z": decimal(8, 1).with_null()}
#: What rows have that came without the column, where it is added with a default.
DEFAULTS = {"p": "2", "q": "yes", "z": "1.5"}
U = Relation("u", (Column("p", INT.with_null()), Column("a", INT)))


class ChangingWorld(World):
    """A project whose relations change, too. ``happened`` has rows as the log names their columns, and so has ``alive``."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.stream = [None] * 400
        self.relations, self.gone = list(RELATIONS), U
        self.names: dict[str, str] = {}
        self.renamed: dict[str, dict[str, tuple[str, ...]]] = {}
        self.alive: list[tuple[str, dict[str, object]]] = []
        self.logged: dict[int, list[tuple[str, int, dict[str, object]]]] = {}
        self.happened = self.logged
        self.begin(folder)

    def some_views(self) -> dict[str, str]:
        """Views as the columns are called now, one of them of a column that was added."""
        found = {name: self.rename(text) for name, text in super().some_views().items()}
        more = [(r.name, c.name) for r in self.relations for c in r.columns if c.name in ADDED]
        for relation, column in self.random.sample(more, min(len(more), 2)):
            found[f"w_{relation}_{column}"] = f"SELECT {column}, COUNT(*) AS cnt FROM {relation} GROUP BY {column}"
        return found

    def rename(self, text: str) -> str:
        for first, now in self.names.items():
            text = re.sub(rf"\b{first}\b", now, text)
        return text

    def change_relations(self) -> None:
        self.renamed = {}
        self.before = {r.name: {c.name for c in r.columns} for r in self.relations}
        for _ in range(self.random.randint(1, 3)):
            self.random.choice((self.add, self.remove, self.widen, self.reorder, self.rename_column, self.relation))()

    def put(self, place: int, columns: list[Column]) -> None:
        names = {c.name for c in columns}
        kept = tuple(pair for pair in self.relations[place].defaults if pair[0] in names)
        self.relations[place] = dataclasses.replace(
            self.relations[place], columns=tuple(columns), stored=(), defaults=kept
        )

    def add(self) -> None:
        place = self.random.randrange(len(self.relations))
        columns = list(self.relations[place].columns)
        name, has_default = self.random.choice(sorted(ADDED)), self.random.random() < 0.5
        if name not in {c.name for c in columns} | self.before.get(self.relations[place].name, set()):
            type_ = ADDED[name].with_null(not has_default or self.random.random() < 0.3)
            columns.insert(self.random.randint(0, len(columns)), Column(name, type_))
            self.put(place, columns)
            if has_default:
                known = (*self.relations[place].defaults, (name, DEFAULTS[name]))
                self.relations[place] = dataclasses.replace(self.relations[place], defaults=known)

    def remove(self) -> None:
        place = self.random.randrange(3)
        self.put(place, [c for c in self.relations[place].columns if c.name not in ADDED or self.random.random() < 0.5])

    def widen(self) -> None:
        place = self.random.randrange(len(self.relations))
        self.put(place, [self.wider(c) for c in self.relations[place].columns])

    def wider(self, column: Column) -> Column:
        type_ = column.type
        if self.random.random() < 0.4:
            type_ = WIDER.get(type_.with_null(False), type_).with_null(type_.nullable)
        return Column(column.name, type_.with_null(type_.nullable or self.random.random() < 0.2))

    def reorder(self) -> None:
        place = self.random.randrange(len(self.relations))
        self.put(place, self.random.sample(self.relations[place].columns, len(self.relations[place].columns)))

    def rename_column(self) -> None:
        """Some column by a new name, or by its first one again; in all relations, and once in a deployment."""
        if self.renamed:
            return
        first = self.random.choice("abcxn")
        now = self.names.pop(first, first)
        new = f"{first}_{self.random.randrange(3)}" if now == first or self.random.random() < 0.5 else first
        if new != first:
            self.names[first] = new
        for place, relation in enumerate(self.relations):
            if new != now and any(c.name == now for c in relation.columns):
                self.renamed[relation.name] = {new: (now,)}
                self.put(place, [Column(new if c.name == now else c.name, c.type) for c in relation.columns])

    def relation(self) -> None:
        if len(self.relations) == 3:
            self.relations.append(self.gone)  # it has the events that it had
        else:
            self.gone = self.relations.pop()

    def append(self, rt: Runtime, coordinator: int) -> int:
        relations = [r for r in rt.program.relations if not r.name.startswith("_")]
        events: list[Event] = []
        logged = []
        for _ in range(min(len(self.stream), self.random.randint(1, 6))):
            self.stream.pop()
            there = [i for i, (name, _) in enumerate(self.alive) if name in {r.name for r in relations}]
            sign = -1 if there and self.random.random() < 0.3 else 1
            if sign > 0:
                relation = self.random.choice(relations)
                row = {relation.in_log(c.name): self.value(c.type) for c in relation.columns}
                self.alive.append((relation.name, row))
            else:
                name, row = self.alive.pop(self.random.choice(there))
                relation = rt.program.relation_by_name[name]
            values = project_row(relation, row)
            events.append((relation.name, sign, values))
            logged.append(
                (
                    relation.name,
                    sign,
                    {relation.in_log(c.name): v for c, v in zip(relation.columns, values, strict=True)},
                )
            )
        self.count += 1
        batch = append_events(rt, coordinator, events, f"d{self.count}")
        self.logged[batch] = logged
        return batch

    def value(self, type_: Type) -> object:
        if type_.nullable and self.random.random() < 0.3:
            return None
        number = self.random.randrange(4)
        if type_.kind == "string":
            return ("", "x", "y", "yes")[number]
        return number if type_.kind == "int" else Decimal(self.random.randrange(400)).scaleb(-type_.scale)

    def projected(self, program: Program, events: list[tuple[str, int, dict[str, object]]]) -> list[Event]:
        known = program.relation_by_name
        return [(name, sign, project_row(known[name], row)) for name, sign, row in events if name in known]


def project_row(relation: Relation, row: dict[str, object]) -> tuple[object, ...]:
    return tuple(_cast(row.get(relation.in_log(c.name), _default(relation, c)), c.type) for c in relation.columns)


def _default(relation: Relation, column: Column) -> object:
    text = relation.default_of(column.name)
    return text if text is None or column.type.kind != "int" else int(text)


def _cast(value: object, type_: Type) -> object:
    if value is None or type_.kind != "decimal":
        return value
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-type_.scale))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_changes_of_relations_between_random_steps(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second one reads net tables wherever it can."""
    if seed % 2:
        monkeypatch.setattr(compacting, "is_due", lambda *_: True)
    assert play(ChangingWorld(tmp_path, seed)) > 0
