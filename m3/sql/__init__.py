"""SQL -> algebra. The only package that knows sqlglot."""

from m3.sql.places import translated
from m3.sql.view import parse_view

__all__ = ["parse_view", "translated"]
