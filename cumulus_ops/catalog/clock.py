"""The database's clock: the one that all processes share."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Float, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import FunctionElement

__all__ = ["ClockS", "clock_s"]


class ClockS(FunctionElement[float]):
    """The database's clock, in seconds since 1970, at this moment (not when the transaction began)."""

    type = Float()
    inherit_cache = True


@compiles(ClockS, "sqlite")
def _sqlite_clock(_element: Any, _compiler: Any, **_: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(ClockS, "postgresql")
def _postgresql_clock(_element: Any, _compiler: Any, **_: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def clock_s(connection: Connection) -> float:
    """What it shows now."""
    return float(connection.execute(select(ClockS())).scalar_one())
