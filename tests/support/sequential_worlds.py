"""Sequential programs in M3 under way: each is put together from pieces, of which some read what they have just written."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import m3
from cumulus_ops.opening.runtime import Runtime, initialise
from cumulus_ops.project.settings import Project
from tests.support.projects import interpret, make_project
from tests.support.random_programs import RELATIONS
from tests.support.worlds import COORDINATORS, World

__all__ = ["PIECES", "SequentialWorld", "program_of"]

#: Declarations, and what is done on inserts and on deletes of relations. Two pieces of one letter declare the same names.
PIECES: dict[str, tuple[str, dict[str, str]]] = {
    "squares": (
        "MAP n[a INT] : INT; MAP q[a INT] : INT; VIEW squares[a INT] VALUES q = q COLUMNS a = a, q = q;",
        {"+r(a, b)": "q[a] += n[a]; n[a] += 1; q[a] += n[a];", "-r(a, b)": "q[a] += -1 * n[a]; n[a] += -1; q[a] += -1 * n[a];"},
    ),
    "squares, and numbers": (
        "MAP n[a INT] : INT; MAP q[a INT] : INT; VIEW squares[a INT] VALUES q = q, n = n COLUMNS a = a, q = q + n;",
        {"+r(a, b)": "q[a] += n[a]; n[a] += 1; q[a] += n[a];", "-r(a, b)": "q[a] += -1 * n[a]; n[a] += -1; q[a] += -1 * n[a];"},
    ),
    "totals": (
        "MAP total[] : INT; MAP twice[] : INT; VIEW totals[] VALUES p = twice COLUMNS p = p;",
        {
            "+r(a, b)": "twice[] += total[]; total[] += 1; twice[] += total[]; twice[] += 1;",
            "-r(a, b)": "twice[] += -1 * total[]; total[] += -1; twice[] += -1 * total[]; twice[] += -1;",
        },
    ),
    "totals of sums": (
        "MAP total[] : INT; MAP twice[] : INT; VIEW totals[] VALUES p = twice, n = total COLUMNS p = p - n;",
        {
            "+r(a, b)": "twice[] += b * total[]; total[] += b; twice[] += b * total[];",
            "-r(a, b)": "twice[] += -1 * b * total[]; total[] += -1 * b; twice[] += -1 * b * total[];",
        },
    ),
    "joined": (
        "MAP of_r[b INT] : INT; MAP of_s[b INT] : INT; MAP both[b INT] : INT; VIEW joined[b INT] VALUES n = both COLUMNS b = b, n = n;",
        {
            "+r(a, b)": "of_r[b] += 1; both[b] += of_s[b];", "-r(a, b)": "of_r[b] += -1; both[b] += -1 * of_s[b];",
            "+s(b, c, x)": "both[b] += of_r[b]; of_s[b] += 1;", "-s(b, c, x)": "both[b] += -1 * of_r[b]; of_s[b] += -1;",
        },
    ),
    "counted": (
        "MAP of_s[b INT] : INT; VIEW counted[b INT] VALUES n = of_s COLUMNS b = b, n = n HAVING n > 1;",
        {"+s(b, c, x)": "of_s[b] += 1;", "-s(b, c, x)": "of_s[b] += -1;"},
    ),
}  # fmt: skip


def program_of(names: list[str]) -> str:
    """A sequential program of some pieces, in this order; what several declare is there once, as the first of them maintains it."""
    lines = ["PROGRAM test SEMANTICS SEQUENTIAL;", *m3.format_program(EMPTY).splitlines()[1:]]
    maps, views, body, written = dict[str, str](), dict[str, str](), dict[str, list[str]](), set[str]()
    for name in names:
        declared, triggers = PIECES[name]
        before = set(written)
        for one in filter(None, (d.strip() for d in declared.split(";"))):
            (maps if one.startswith("MAP") else views).setdefault(one.split("[")[0], one)
        for event, statements in triggers.items():
            mine = [s.strip() for s in statements.split(";") if s.strip()]
            body.setdefault(event, []).extend(s for s in mine if s.split("[")[0] not in before)
            written |= {s.split("[")[0] for s in mine}
    lines += [f"{one};" for one in (*maps.values(), *views.values())]
    return "\n".join([*lines, *(f"ON {event} DO {{ {'; '.join(made)}; }}" for event, made in body.items())])


EMPTY = m3.Program("test", "sequential", tuple(RELATIONS), (), ())


class SequentialWorld(World):
    """A project that maintains a sequential program, and is changed to others."""

    def begin(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.project = make_project(folder, RELATIONS, program=self.draw(), coordinators=COORDINATORS)
        initialise(self.project)

    def draw(self) -> str:
        """Pieces in any order, at most one of those that declare one view."""
        chosen = self.random.sample(sorted(PIECES), self.random.randint(1, len(PIECES)))
        self.text = program_of(
            [
                n
                for i, n in enumerate(chosen)
                if n.split()[0].strip(",") not in {c.split()[0].strip(",") for c in chosen[:i]}
            ]
        )
        return self.text

    def change(self) -> Project:
        file = self.folder / f"changed{len(list(self.folder.glob('changed*')))}.m3"
        file.write_text(self.draw(), encoding="utf-8")
        return dataclasses.replace(self.project, program_file=file)

    def check_deployed(self, rt: Runtime) -> None:
        assert {v.name for v in rt.program.views} == {v.name for v in m3.parse(self.text).views}

    def finish(self, rt: Runtime) -> None:
        super().finish(rt)
        events = self.events_of(rt.program, rt, 10**6)
        kept, written = interpret(rt.program, events), interpret(m3.parse(self.text), events)
        for view in rt.program.views:
            assert sorted(kept.view_rows(view.name)) == sorted(written.view_rows(view.name)), view.name
