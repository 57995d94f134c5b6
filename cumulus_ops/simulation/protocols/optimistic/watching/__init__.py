"""What the optimistic switches promise about messages, looked at from outside: each is there exactly as often as it has to be, and in its turn.

:mod:`.updates` counts FETCH, PUT, PUSH and corrections, :mod:`.turns` looks at the order in which nodes handle them, at timers and queries, :mod:`.rounds`
at epochs; :mod:`.book` has what they all need.
"""

from cumulus_ops.simulation.protocols.optimistic.watching.book import Book
from cumulus_ops.simulation.protocols.optimistic.watching.rounds import Rounds
from cumulus_ops.simulation.protocols.optimistic.watching.turns import Turns
from cumulus_ops.simulation.protocols.optimistic.watching.updates import Updates

__all__ = ["Book", "Rounds", "Turns", "Updates"]
