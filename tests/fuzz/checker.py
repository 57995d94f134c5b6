"""One query and one stream: the interpreter against DuckDB after every batch."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace

import duckdb

from m3 import CompileError, compile_views
from m3.clock import find_clock
from m3.errors import ValueProblem
from m3.interpreter import Interpreter
from m3.program import Program
from tests.fuzz.compare import Row, same_rows
from tests.fuzz.database import Database
from tests.fuzz.failing import variants
from tests.fuzz.queries import Made
from tests.fuzz.schema import RELATIONS, Batch, left_over
from tests.fuzz.timed import day_of

OK, UNSUPPORTED, WRONG, CRASH, INVALID = "ok", "unsupported", "WRONG", "crash", "invalid"
IN_ERROR = "in error"
#: Of processor time: how busy the machine is says nothing of a query.
LIMIT_S = 30.0


@dataclass(frozen=True)
class Verdict:
    """What came out. ``kind``: of the CompileError, or the exception's name and kind; ``batch``: after which it was wrong
    (0: before any); ``statements``: the size of the program; ``in_error``: after how many batches the view was."""

    outcome: str
    kind: str = ""
    detail: str = ""
    batch: int = -1
    maps: int = 0
    statements: int = 0
    compile_s: float = 0.0
    total_s: float = 0.0
    in_error: int = 0

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
        database.rows(variants(made.sql)[0])
    except duckdb.Error as error:
        return Verdict(INVALID, type(error).__name__, str(error))
    try:
        program = compile_views("fuzz", RELATIONS, {"v": made.sql})
    except CompileError as error:
        return Verdict(UNSUPPORTED, error.kind, str(error))
    except Exception as error:
        return Verdict(CRASH, f"compile: {_name(error)}", traceback.format_exc())
    compiled = time.perf_counter()
    verdict = _stream(made, program, batches, database)
    statements = sum(len(t.statements) for t in program.triggers)
    times = {"compile_s": compiled - started, "total_s": time.perf_counter() - started}
    return replace(verdict, maps=len(program.maps), statements=statements, **times)


def _stream(made: Made, program: Program, batches: Sequence[Batch], database: Database) -> Verdict:
    number, in_error, started = 0, 0, time.process_time()
    try:
        interpreter = Interpreter(program)
        before = {name: dict(entries) for name, entries in interpreter.maps.items()}
        for number, batch in enumerate([[], *batches]):
            for event in batch:
                interpreter.apply(*event)
            interpreter.advance(day_of(number))
            database.today = day_of(number).date()
            database.apply(batch)
            kind, detail = compare(made, interpreter, database)
            if kind not in ("", IN_ERROR):
                return Verdict(WRONG, kind, detail, number)
            in_error += kind == IN_ERROR
            if time.process_time() - started > LIMIT_S:
                return Verdict(CRASH, "slow", f"more than {LIMIT_S} s of a processor", number)
        for event in left_over(batches):
            interpreter.apply(*event)
    except duckdb.Error as error:
        return Verdict(INVALID, type(error).__name__, str(error), number)
    except Exception as error:
        return Verdict(CRASH, f"run: {_name(error)}", traceback.format_exc(), number)
    ticks = {given.map for d in program.derivations if (given := find_clock(d)) is not None}
    left = {name: e for name, e in interpreter.maps.items() if e != before[name] and name not in ticks}
    if left:
        return Verdict(WRONG, "residue", f"left in the maps: {left}", len(batches) + 1)
    return Verdict(OK, in_error=in_error)


def compare(made: Made, interpreter: Interpreter, database: Database) -> tuple[str, str]:
    """What is wrong with the view as it is now, and how it differs; nothing while it is right, or in error for a reason (see
    :mod:`tests.fuzz.failing`)."""
    texts = variants(made.sql)
    try:
        ours = interpreter.view_rows("v", ordered=made.ordered)
    except ValueProblem as problem:
        return (IN_ERROR if len(texts) > 1 else "blamed"), str(problem)
    for number, text in enumerate(texts):
        theirs = database.rows(text)
        if not same_rows(ours, theirs, ordered=made.ordered):
            return ("missed" if number else "rows"), difference(ours, theirs)
    return "", ""


def _name(error: Exception) -> str:
    kind = getattr(error, "kind", "")
    return f"{type(error).__name__} {kind}".strip()


def difference(ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    """Both results, for people."""
    lines = [f"  ours   {row}" for row in sorted(ours, key=repr)] or ["  ours   nothing"]
    lines += [f"  duckdb {row}" for row in sorted(theirs, key=repr)] or ["  duckdb nothing"]
    return "\n".join(lines)
