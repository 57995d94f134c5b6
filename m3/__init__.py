"""M3: the trigger language of maps, its compiler from SQL, and its reference semantics. Pure Python, no I/O.

The names below are all there is to know from outside; what needs a parser (lark, sqlglot) or a graph library (networkx)
is imported on first use. The dataflow functions live in :mod:`m3.dataflow`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from m3.check import Violation, check, restricted_violations
from m3.errors import CompileError, M3Error, ProgramError, Span, SyntaxProblem, ValueProblem
from m3.formatting import format_program
from m3.interpreter import Interpreter
from m3.program import Program, Relation

if TYPE_CHECKING:
    from m3.compiler.pipeline import check_views, compile_views, emit
    from m3.sql.tables import complete_texts, mentions
    from m3.syntax import parse, read_program

__all__ = [
    "CompileError",
    "Interpreter",
    "M3Error",
    "Program",
    "ProgramError",
    "Relation",
    "Span",
    "SyntaxProblem",
    "ValueProblem",
    "Violation",
    "check",
    "check_views",
    "compile_views",
    "complete_texts",
    "emit",
    "format_program",
    "mentions",
    "parse",
    "read_program",
    "restricted_violations",
]

_LAZY = {
    "check_views": "m3.compiler.pipeline",
    "compile_views": "m3.compiler.pipeline",
    "complete_texts": "m3.sql.tables",
    "emit": "m3.compiler.pipeline",
    "mentions": "m3.sql.tables",
    "parse": "m3.syntax",
    "read_program": "m3.syntax",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'm3' has no attribute {name!r}")
