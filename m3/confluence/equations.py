"""What equalities between terms imply: one representative for all terms that are equal (ground completion).

The rules ``larger -> smaller`` that equations become are applied to each other until none applies to another. Such a set of rules is
the same for all sets of equations that imply each other, whatever order they come in: so it is a normal form of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from m3.confluence.terms import Term, is_constant, rebuilt

__all__ = ["Contradiction", "Rules"]


class Contradiction(Exception):
    """Two constants would be equal: no row meets that."""


class Rules:
    """The rules of some equations.

    >>> from m3.confluence.terms import column
    >>> a, b, c = column(0, 0), column(1, 0), column(2, 0)
    >>> Rules([(c, b), (b, a)]).found() == Rules([(c, a), (a, b)]).found()
    True

    Raises:
        Contradiction: two constants are equal.
    """

    def __init__(self, equations: Iterable[tuple[Term, Term]]) -> None:
        self._by: dict[Term, Term] = {}
        self._deep = False  # some left side is an operation
        waiting = list(equations)
        while waiting:
            left, right = map(self.of, waiting.pop())
            if left == right:
                continue
            if is_constant(left) and is_constant(right):
                raise Contradiction
            if left < right:
                left, right = right, left
            waiting += self._reducible(left, right)

    def _reducible(self, left: Term, right: Term) -> list[tuple[Term, Term]]:
        """Add a rule; the rules that it changes become equations again."""
        self._by[left] = right
        self._deep = self._deep or left[0] > 1
        again = [(a, b) for a, b in self._by.items() if a != left and (_has(a, left) or _has(b, left))]
        for a, _ in again:
            del self._by[a]
        return again

    def of(self, given: Term) -> Term:
        """The representative of a term."""
        if not self._by:
            return given
        if given[0] > 1:
            args = [self.of(a) for a in given[3:]]
            given = rebuilt(given, args)
            if not self._deep:
                return given
        return self._by.get(given, given)

    def found(self) -> tuple[tuple[Term, Term], ...]:
        """The rules, sorted."""
        return tuple(sorted(self._by.items()))


def _has(given: Term, part: Term) -> bool:
    return given == part or (given[0] > part[0] and any(_has(a, part) for a in given[3:]))
