"""Clicks on advertisements, as three ad servers would log them: ``python make_drops.py LANDING [--independent]``; the same ones each time.

A drop is an hour of one server. A tenth of an hour's clicks come late, with the drop of the next hour; with those the server seals the hour, and
each campaign that has ended with it: it will log nothing more of them. All servers serve all campaigns; with ``--independent`` each campaign
is one server's alone, so that nobody else has to seal it. Either way the clicks are the same.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

SERVERS = 3
HOURS = 5
CLICKS_AN_HOUR = 2400
CAMPAIGNS = 5
LASTS = 3  # hours, for each campaign
ADS = (30, 15, 6, 2, 1)  # of a campaign, by how often they are clicked
BEGINNING = datetime.datetime(2026, 5, 4, 8)
SEED = 5

Rows = tuple[Sequence[str], Iterable[Sequence[object]]]


@dataclass(frozen=True)
class Click:
    """A click; ``number`` identifies it, ``late``: it comes with the next hour's drop."""

    number: int
    ad: int
    campaign: int
    hour: int
    server: int
    late: bool

    @property
    def fields(self) -> tuple[object, ...]:
        """As it stands in a file."""
        return (self.ad, self.campaign, moment(self.hour), self.server, "I", self.number)


def main(landing: Path, independent: bool = False) -> None:
    """Write all drops."""
    clicks = list(make_clicks(random.Random(SEED), independent))
    for server in range(SERVERS):
        own = [click for click in clicks if click.server == server]
        for hour in range(HOURS + 1):
            rows = [c.fields for c in own if c.hour + c.late == hour]
            files: dict[str, Rows] = {}
            if rows:
                files["clicks"] = (("id", "campaign", "hour", "server", "op", "event"), rows)
            if hour:
                files["clicks.window.seal"] = (("hour",), [(moment(hour - 1),)])
                ended = [c for c in range(CAMPAIGNS) if c in campaigns_of(server, independent) and last(c) == hour - 1]
                if ended:
                    files["clicks.campaign.seal"] = (("campaign",), [(c,) for c in ended])
            write_drop(landing / str(server) / f"hour-{hour:02}", files)


def first(campaign: int) -> int:
    """The hour in which a campaign begins."""
    return max(0, campaign - 2)


def last(campaign: int) -> int:
    """The hour with which it ends."""
    return first(campaign) + LASTS - 1


def campaigns_of(server: int, independent: bool) -> range:
    """The campaigns that a server serves."""
    return range(server, CAMPAIGNS, SERVERS) if independent else range(CAMPAIGNS)


def moment(hour: int) -> str:
    """An hour's beginning, as text."""
    return str(BEGINNING + datetime.timedelta(hours=hour))


def make_clicks(draw: random.Random, independent: bool) -> Iterator[Click]:
    """All clicks, in the order of their hours."""
    for hour in range(HOURS):
        alive = [c for c in range(CAMPAIGNS) if first(c) <= hour <= last(c)]
        for i in range(CLICKS_AN_HOUR):
            campaign = draw.choice(alive)
            (place,) = draw.choices(range(len(ADS)), ADS)
            ad, late = campaign * len(ADS) + place, draw.random() < 0.1
            click = Click(hour * CLICKS_AN_HOUR + i, ad, campaign, hour, draw.randrange(SERVERS), late)
            yield replace(click, server=campaign % SERVERS) if independent else click


def write_drop(drop: Path, files: dict[str, Rows]) -> None:
    """Write a drop's files; it appears as a whole, by a rename."""
    hidden = drop.with_name(f".{drop.name}")
    hidden.mkdir(parents=True)
    for name, (header, rows) in files.items():
        with (hidden / f"{name}.csv").open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
    hidden.rename(drop)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("landing", type=Path)
    parser.add_argument("--independent", action="store_true", help="each campaign is one server's")
    options = parser.parse_args()
    main(options.landing, options.independent)
