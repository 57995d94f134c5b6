"""From values to HTML: every value is escaped where a template shows it, and told as people say it."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined

__all__ = ["age", "render"]

UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def render(template: str, request: Request, **values: Any) -> str:
    """A page. ``root`` is where the application is mounted."""
    return _environment().get_template(template).render(root=request.scope["root_path"], **values)


@cache
def _environment() -> Environment:
    loader = PackageLoader("cumulus_ops.web", "html")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, lstrip_blocks=True)
    environment.filters |= {"age": age, "number": number, "moment": moment, "seconds": seconds, "text": text}
    return environment


def age(since: datetime.datetime | None, now: datetime.datetime | None = None) -> str:
    """How long ago a moment is, in its two largest units.

    >>> start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    >>> age(start, start + datetime.timedelta(hours=3, minutes=5, seconds=1))
    '3 h 5 min'
    """
    if since is None:
        return "–"
    return seconds(((now or datetime.datetime.now(datetime.UTC)) - since).total_seconds())


def seconds(length: float) -> str:
    """How long something is, in its two largest units.

    >>> seconds(3661.5)
    '1 h 1 min'
    """
    left = max(0, int(length))
    parts: list[str] = []
    for size, unit in UNITS:
        count, left = divmod(left, size)
        if count or parts or unit == "s":
            parts.append(f"{count} {unit}" if count or not parts else "")
        if len(parts) == 2:
            break
    return " ".join(filter(None, parts))


def number(value: float) -> str:
    """A number with its thousands apart.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{value:,}"


def moment(at: datetime.datetime | None) -> str:
    """A moment to the second."""
    return "" if at is None else at.strftime("%Y-%m-%d %H:%M:%S UTC")


def text(value: object) -> str:
    """A value of a view as text; NULL is said to be NULL."""
    return "NULL" if value is None else str(value)
