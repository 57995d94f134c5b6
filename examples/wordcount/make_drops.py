"""Words of tweets in numbered batches, as three splitters hand them on: ``python make_drops.py LANDING``; the same ones each time.

Each tweet goes to a splitter at random, which divides it into words. A splitter hands on a batch in two drops; with the second it seals the
batch: no word of it will come from there any more.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

SPLITTERS = 3
BATCHES = 4
DROPS_A_BATCH = 2
TWEETS = 40  # in a batch
WORDS = [
    "the",
    "a",
    "of",
    "rain",
    "sun",
    "cloud",
    "wind",
    "snow",
    "storm",
    "today",
    "tomorrow",
    "never",
    "again",
    "maybe",
]
SEED = 3

Word = tuple[str, int, str, int]


def main(landing: Path) -> None:
    """Write all drops."""
    draw = random.Random(SEED)
    for batch in range(BATCHES):
        words: list[list[Word]] = [[] for _ in range(SPLITTERS)]
        number = batch * TWEETS * 100
        for _ in range(TWEETS):
            own = words[draw.randrange(SPLITTERS)]
            for word in split(make_tweet(draw)):
                own.append((word, batch, "I", number))
                number += 1
        for splitter, own in enumerate(words):
            half = len(own) // 2
            for part, rows in enumerate((own[:half], own[half:])):
                drop = landing / str(splitter) / f"batch-{batch:02}-{part}"
                write_drop(drop, rows, [batch] if part == DROPS_A_BATCH - 1 else [])


def make_tweet(draw: random.Random) -> str:
    """Some words, the first ones of the list more often."""
    return " ".join(draw.choices(WORDS, range(len(WORDS), 0, -1), k=draw.randint(4, 12)))


def split(tweet: str) -> list[str]:
    """A tweet's words."""
    return tweet.split()


def write_drop(drop: Path, words: Sequence[Word], sealed: Sequence[int]) -> None:
    """Write a drop's files; it appears as a whole, by a rename."""
    hidden = drop.with_name(f".{drop.name}")
    hidden.mkdir(parents=True)
    _write(hidden / "words.csv", ("word", "batch", "op", "event"), words)
    if sealed:
        _write(hidden / "words.batch.seal.csv", ("batch",), [(batch,) for batch in sealed])
    hidden.rename(drop)


def _write(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
