"""What the producers log: campaigns one after the other, in tracks, a track for each producer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["Load", "write_drop"]

ADS = 20  # of a campaign; the first ones are clicked more often
FEW = 100


@dataclass(frozen=True)
class Load:
    """Each producer logs ``rate`` drops a second of ``size`` clicks each, ``drops`` in all, and with each ``round``-th it seals the campaigns that have
    ended. It is up to a round behind the first one: nobody's logs arrive in step. In each track ``campaigns`` follow each other; tracks are staggered.
    ``independent``: a track is one producer's; otherwise each producer has clicks of all tracks."""

    producers: int
    independent: bool
    drops: int = 30
    rate: float = 5.0
    size: int = 500
    campaigns: int = 3
    round: int = 5
    seed: int = 0

    @cached_property
    def cuts(self) -> tuple[tuple[int, ...], ...]:
        """By track, the drops with which campaigns begin, and the end.

        >>> Load(2, False, drops=8, campaigns=2).cuts
        ((0, 4, 8), (0, 2, 6, 8))
        """
        length = self.drops / self.campaigns
        tracks = []
        for track in range(self.producers):
            inner = {round((i + track / self.producers) * length) for i in range(self.campaigns)}
            tracks.append((0, *sorted(inner - {0, self.drops}), self.drops))
        return tuple(tracks)

    @cached_property
    def spans(self) -> Mapping[int, tuple[int, int, int]]:
        """By campaign: its track, its first drop, and the one behind its last."""
        found = [(track, *span) for track, cuts in enumerate(self.cuts) for span in itertools.pairwise(cuts)]
        return dict(enumerate(found))

    @property
    def events(self) -> int:
        """All clicks."""
        return self.producers * self.drops * self.size

    def due_s(self, producer: int, drop: int) -> float:
        """When a drop arrives, after the beginning."""
        return (drop + 1 + self.round * producer / self.producers) / self.rate

    def sealed_with(self, producer: int, drop: int) -> list[int]:
        """The campaigns that a producer seals with a drop."""
        if (drop + 1) % self.round and drop + 1 < self.drops:
            return []
        since = drop // self.round * self.round
        own = [(c, end) for c, (track, _, end) in self.spans.items() if not self.independent or track == producer]
        return [c for c, end in own if since < end <= drop + 1]

    def clicks(self, producer: int, drop: int) -> tuple[np.ndarray, np.ndarray]:
        """The campaigns and the ads of a drop's clicks."""
        draw = np.random.default_rng((self.seed, producer, drop))
        alive = np.array([self._alive(track, drop) for track in range(self.producers)])
        tracks = np.full(self.size, producer) if self.independent else draw.integers(0, self.producers, self.size)
        campaigns = alive[tracks]
        ads = np.minimum(draw.geometric(0.25, self.size), ADS) - 1
        return campaigns, campaigns * ADS + ads

    def _alive(self, track: int, drop: int) -> int:
        return next(c for c, (t, begin, end) in self.spans.items() if t == track and begin <= drop < end)

    @cached_property
    def clicks_of(self) -> Mapping[int, int]:
        """How many clicks each campaign has."""
        each = [self.clicks(p, d)[0] for p in range(self.producers) for d in range(self.drops)]
        found, counts = np.unique(np.concatenate(each), return_counts=True)
        return dict.fromkeys(self.spans, 0) | dict(zip(found.tolist(), counts.tolist(), strict=True))

    def poor(self) -> set[tuple[int, int, int]]:
        """What the view shows at the end."""
        ads = [self.clicks(p, d)[1] for p in range(self.producers) for d in range(self.drops)]
        found, counts = np.unique(np.concatenate(ads), return_counts=True)
        return {(int(ad) // ADS, int(ad), int(n)) for ad, n in zip(found, counts, strict=True) if n < FEW}

    def staged(self, folder: Path, *, sealing: bool) -> Iterator[tuple[float, int, Path]]:
        """Write all drops into a folder, from where they are to be renamed: when, whose, and which."""
        for producer in range(self.producers):
            for drop in range(self.drops):
                place = folder / str(producer) / f"{drop:06}"
                campaigns, ads = self.clicks(producer, drop)
                first = producer * 10**9 + drop * self.size
                write_drop(place, campaigns, ads, first, self.sealed_with(producer, drop) if sealing else ())
                yield self.due_s(producer, drop), producer, place


def write_drop(place: Path, campaigns: np.ndarray, ads: np.ndarray, first: int, sealed: object = ()) -> None:
    """Write a drop of clicks, numbered from ``first`` on, with its seals."""
    place.mkdir(parents=True)
    numbers = np.arange(first, first + len(ads))
    columns = {"id": ads, "campaign": campaigns, "op": pa.repeat(pa.scalar("I"), len(ads)), "event": numbers}
    pq.write_table(pa.table(columns), place / "clicks.parquet")
    values = pa.array(sealed, pa.int64())
    if len(values):
        pq.write_table(pa.table({"campaign": values}), place / "clicks.campaign.seal.parquet")
