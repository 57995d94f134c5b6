"""A view in the algebra: what is maintained, and what is left for when it is read."""

from __future__ import annotations

from dataclasses import dataclass

from m3.algebra.terms import Polynomial
from m3.program import Column, OutputColumn, Relation
from m3.scalars import Scalar

__all__ = ["ViewQuery"]


@dataclass(frozen=True)
class ViewQuery:
    """See :class:`m3.program.View`, of which this is the image before there are maps.

    ``keys`` are the columns of all polynomials; ``values`` names each polynomial that the output expressions use;
    ``exists`` counts the rows of a group, or of a row when ``repeated``; where it is a derived relation, the view's rows
    are read off that relation's map; ``checks`` have no columns and must be 0.
    """

    name: str
    keys: tuple[Column, ...]
    values: tuple[tuple[str, Polynomial], ...]
    exists: Polynomial | Relation
    columns: tuple[OutputColumn, ...]
    having: Scalar | None
    order: tuple[tuple[int, bool], ...]
    limit: int | None
    sql: str
    offset: int = 0
    repeated: bool = False
    hidden: int = 0
    checks: tuple[Polynomial, ...] = ()
