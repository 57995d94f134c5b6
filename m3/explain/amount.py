"""Amounts that are numbers as far as they are known, and symbols where they are not: ``3 + 2·s1 + s1·s2``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["ONE", "ZERO", "Amount", "number", "short_number", "symbol"]


@dataclass(frozen=True)
class Amount:
    """A polynomial with non-negative coefficients: ``terms`` are (sorted symbols, coefficient), sorted, none zero."""

    terms: tuple[tuple[tuple[str, ...], float], ...] = ()

    def __add__(self, other: Amount) -> Amount:
        return _collected([*self.terms, *other.terms])

    def __mul__(self, other: Amount) -> Amount:
        return _collected([(tuple(sorted(a + b)), x * y) for a, x in self.terms for b, y in other.terms])

    @property
    def known(self) -> float | None:
        """The number, or None when it has symbols."""
        if not self.terms:
            return 0.0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def symbols(self) -> list[str]:
        """Its symbols, in order of appearance."""
        return list(dict.fromkeys(s for symbols, _ in self.terms for s in symbols))

    def text(self, name: Callable[[str], str] = str, limit: int = 6) -> str:
        """The sum, simple terms first, with at most ``limit`` terms written out; ``name`` prints a symbol."""
        shown = [_term(symbols, factor, name) for symbols, factor in self.terms[:limit]]
        left = len(self.terms) - limit
        shown += [f"{left} more term{'s' if left > 1 else ''}"] if left > 0 else []
        return " + ".join(shown) or "0"


def number(value: float) -> Amount:
    """A known amount."""
    return _collected([((), float(value))])


def symbol(name: str) -> Amount:
    """An amount that only a name is known of."""
    return Amount((((name,), 1.0),))


def _collected(terms: list[tuple[tuple[str, ...], float]]) -> Amount:
    totals: dict[tuple[str, ...], float] = {}
    for symbols, factor in terms:
        totals[symbols] = totals.get(symbols, 0.0) + factor
    return Amount(tuple(sorted(((s, f) for s, f in totals.items() if f), key=lambda t: (len(t[0]), t[0]))))


def _term(symbols: tuple[str, ...], factor: float, name: Callable[[str], str]) -> str:
    parts = [] if factor == 1 and symbols else [short_number(factor)]
    for each in dict.fromkeys(symbols):
        power = symbols.count(each)
        parts.append(name(each) + (f"^{power}" if power > 1 else ""))
    return "·".join(parts)


def short_number(value: float) -> str:
    """Three digits and a unit: ``7``, ``1.5``, ``240 k``, ``6 M``."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value < 1000 * size else f"{value:.3g}"
    return f"{value:.3g}"


ZERO, ONE = Amount(), number(1)
