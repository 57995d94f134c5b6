"""What is said in other SQL before anything is read: an ordered tuple of passes over the syntax tree."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from m3.sql.asof import nearest_joined
from m3.sql.clauses import REWRITTEN, refuse_unread
from m3.sql.event_time import spans_joined
from m3.sql.places import Source
from m3.sql.series import written_out
from m3.sql.spelling import respelled
from m3.sql.window_spelling import respelled_windows

__all__ = ["REWRITES", "rewritten"]

#: Each is given the tree, which it may change, and its text.
REWRITES: tuple[Callable[[exp.Expr, Source], exp.Expr], ...] = (
    lambda tree, source: refuse_unread(tree, source, REWRITTEN),
    lambda tree, source: respelled(tree, source.dialect),
    respelled_windows,
    written_out,
    spans_joined,
    nearest_joined,
    refuse_unread,
)


def rewritten(tree: exp.Expr, source: Source) -> exp.Expr:
    """The query after all passes.

    Raises:
        CompileError: a form that has no such meaning.
    """
    for step in REWRITES:
        tree = step(tree, source)
    return tree
