"""Which drops there are: coordinators move from epoch to epoch one after the other (Cumulus paper, section 4.2).

Time is counted in periods, one per drop; with N coordinators an epoch has N periods. Coordinator c spends the periods
``e*N + c`` to ``e*N + c + N - 1`` (inclusive) in epoch e, and the periods before its first transition in epoch 0.
"""

from __future__ import annotations

import numpy as np

__all__ = ["drop_name", "epoch_of_period", "last_period", "periods"]


def periods(epochs: int, coordinators: int) -> int:
    """How many periods it takes until every coordinator has finished the last epoch."""
    return epochs * coordinators + coordinators - 1


def last_period(coordinator: int | np.ndarray, epochs: int, coordinators: int) -> int | np.ndarray:
    """The last period (inclusive) in which a coordinator gets a drop."""
    return epochs * coordinators + coordinator - 1


def epoch_of_period(period: int, coordinator: int, coordinators: int) -> int:
    """The epoch in which a coordinator's drop of that period counts."""
    return max(0, (period - coordinator) // coordinators)


def drop_name(period: int) -> str:
    """The folder name of a period's drops."""
    return f"p{period:04d}"
