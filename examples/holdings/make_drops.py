"""Some days of trades, dividends and splits as drops: ``python make_drops.py LANDING [DAYS] [TRADES]``; the same ones each time.

A drop is half a day of one coordinator: those of coordinator 0 have a dividend, or a dividend and splits, as well. Each is
written under another name and then renamed, so that nobody reads half of one.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path

SYMBOLS = ("ABC", "DEF", "GHI", "JKL", "MNO")
ACCOUNTS = 20
COORDINATORS = 2
DROPS_A_DAY = 2

Row = dict[str, object]


def main(landing: Path, days: int = 3, trades: int = 200) -> None:
    """Write the drops of ``days`` days with so many trades each; a last one begins the day after."""
    draw = random.Random(7)
    number = 0
    for half in range(days * DROPS_A_DAY + 1):
        for coordinator in range(COORDINATORS):
            size = trades // (DROPS_A_DAY * COORDINATORS)
            rows = {"trade": [_trade(draw, number + i) for i in range(size)]}
            number += size
            if coordinator == 0:
                rows |= _action(draw, half)
            write_drop(landing / str(coordinator) / f"drop-{half:04}", half * trades, rows)


def _trade(draw: random.Random, number: int) -> Row:
    return {
        "id": number,
        "account": draw.randrange(ACCOUNTS),
        "symbol": draw.choice(SYMBOLS),
        "quantity": draw.choice([10, 20, 50, -10, -20]),
        "price": f"{draw.randrange(10_000, 2_000_000) / 10_000:.4f}",
    }


def _action(draw: random.Random, half: int) -> dict[str, list[Row]]:
    """A dividend in the mornings, and in the afternoons another one and two splits, often of one symbol."""
    dividend: list[Row] = [{"symbol": draw.choice(SYMBOLS), "per_share": "0.1250"}]
    if half % DROPS_A_DAY == 0:
        return {"dividend": dividend}
    splits: list[Row] = [{"symbol": draw.choice(SYMBOLS[:2]), "ratio": draw.choice([2, 3])} for _ in range(2)]
    return {"dividend": dividend, "split": splits}


def write_drop(drop: Path, first_event: int, relations: dict[str, Iterable[Row]]) -> None:
    """Write a drop's files, with events numbered from ``first_event`` on in each of them."""
    hidden = drop.with_name(f".{drop.name}")
    hidden.mkdir(parents=True)
    for name, rows in relations.items():
        lines = [json.dumps({**row, "op": "I", "event": first_event + i}) for i, row in enumerate(rows)]
        (hidden / f"{name}.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")
    hidden.rename(drop)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
