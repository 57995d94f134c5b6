"""One query and one stream: the interpreter against DuckDB after every batch."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from m3 import CompileError, compile_views
from m3.interpreter import Interpreter
from m3.program import Program
from tests.fuzz.compare import Row, same_rows
from tests.fuzz.database import Database
from tests.fuzz.queries import Made
from tests.fuzz.schema import RELATIONS, Batch, left_over

OK, UNSUPPORTED, WRONG, CRASH, INVALID = "ok", "unsupported", "WRONG", "crash", "invalid"
LIMIT_S = 30.0


@dataclass(frozen=True)
class Verdict:
    """What came out. ``kind``: of the CompileError, or the exception's name and kind; ``batch``: after which it was wrong
    (0: before any); ``statements``: the size of the program."""

    outcome: str
    kind: str = ""
    detail: str = ""
    batch: int = -1
    maps: int = 0
    statements: int = 0
    compile_s: float = 0.0
    total_s: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the compiler or the interpreter is at fault."""
        return self.outcome in (WRONG, CRASH)


def check(made: Made, batches: Sequence[Batch], database: Database) -> Verdict:
    """Runs a query over a stream.

    Args:
        made: the query.
        batches: the events.
        database: of :data:`~tests.fuzz.schema.RELATIONS`; it is emptied first.
    """
    started = time.perf_counter()
    database.clear()
    try:
        database.rows(made.sql)
    except duckdb.Error as error:
        return Verdict(INVALID, type(error).__name__, str(error))
    try:
        program = compile_views("fuzz", RELATIONS, {"v": made.sql})
    except CompileError as error:
        return Verdict(UNSUPPORTED, error.kind, str(error))
    except Exception as error:
        return Verdict(CRASH, f"compile: {_name(error)}", traceback.format_exc())
    compiled = time.perf_counter()
    outcome, kind, detail, batch = _stream(made, program, batches, database)
    size = len(program.maps), sum(len(t.statements) for t in program.triggers)
    return Verdict(outcome, kind, detail, batch, *size, compiled - started, time.perf_counter() - started)


def _stream(made: Made, program: Program, batches: Sequence[Batch], database: Database) -> tuple[str, str, str, int]:
    number, started = 0, time.perf_counter()
    try:
        interpreter = Interpreter(program)
        before = {name: dict(entries) for name, entries in interpreter.maps.items()}
        for number, batch in enumerate([[], *batches]):
            for event in batch:
                interpreter.apply(*event)
            database.apply(batch)
            theirs = database.rows(made.sql)
            ours = interpreter.view_rows("v", ordered=made.ordered)
            if not same_rows(ours, theirs, ordered=made.ordered):
                return WRONG, "rows", difference(ours, theirs), number
            if time.perf_counter() - started > LIMIT_S:
                return CRASH, "slow", f"more than {LIMIT_S} s", number
        for event in left_over(batches):
            interpreter.apply(*event)
    except duckdb.Error as error:
        return INVALID, type(error).__name__, str(error), number
    except Exception as error:
        return CRASH, f"run: {_name(error)}", traceback.format_exc(), number
    left = {name: entries for name, entries in interpreter.maps.items() if entries != before[name]}
    return (WRONG, "residue", f"left in the maps: {left}", len(batches) + 1) if left else (OK, "", "", -1)


def _name(error: Exception) -> str:
    kind = getattr(error, "kind", "")
    return f"{type(error).__name__} {kind}".strip()


def difference(ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    """Both results, for people."""
    lines = [f"  ours   {row}" for row in sorted(ours, key=repr)] or ["  ours   nothing"]
    lines += [f"  duckdb {row}" for row in sorted(theirs, key=repr)] or ["  duckdb nothing"]
    return "\n".join(lines)
