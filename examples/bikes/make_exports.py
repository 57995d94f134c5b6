"""Three days of a small bike rental, as its own program would export them: CSV files with what such files have.

    python make_exports.py FOLDER

writes FOLDER/<day>/trips.csv, and on the first day stations.csv. Trips have ``;`` between the fields and the word NULL for what is not
known while a bike is on its way; on later days a column ``op`` says which rows are new (I) and which replace one (U). Among the rows of
the first day are one that was exported twice, one with a comma in its fare and one with an impossible time. All is drawn from a seed,
so that the files are the same every time; nobody's data is in them.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

SEED = 7
DAYS = tuple(datetime.date(2026, 5, day) for day in (4, 5, 6))
TRIPS_A_DAY = 200
BIKES = 40
OPEN_TRIPS = 4
DISTRICTS = {
    "Harbour": ("Ferry Pier", "Fish Market", "Lighthouse"),
    "Old Town": ("Cathedral", "Town Hall", "North Gate", "Bridge"),
    "University": ("Library", "Main Campus", "Sports Centre"),
    "Hills": ("Cable Car", "Observatory"),
}
STATIONS = tuple((district, name) for district, names in DISTRICTS.items() for name in names)
TRIP_COLUMNS = ("trip_id", "bike", "from_station", "to_station", "started_at", "ended_at", "fare")


@dataclass(frozen=True)
class Trip:
    """A trip; the last three are None as long as the bike is on its way."""

    trip_id: int
    bike: int
    from_station: int
    started_at: datetime.datetime
    to_station: int | None = None
    ended_at: datetime.datetime | None = None
    fare: Decimal | None = None

    @property
    def fields(self) -> list[str]:
        """As it stands in a file."""
        values = [getattr(self, name) for name in TRIP_COLUMNS]
        return ["NULL" if value is None else str(value) for value in values]


def make_day(draw: random.Random, day: datetime.date, first: int) -> list[Trip]:
    """The trips that began on a day, in the order of their beginning; the last few are still on their way."""
    midnight = datetime.datetime.combine(day, datetime.time())
    starts = sorted(
        midnight + datetime.timedelta(seconds=draw.randrange(5 * 3600, 24 * 3600)) for _ in range(TRIPS_A_DAY)
    )
    trips = [
        Trip(first + i, draw.randint(1, BIKES), draw.randint(1, len(STATIONS)), start) for i, start in enumerate(starts)
    ]
    return [*(end(draw, trip) for trip in trips[:-OPEN_TRIPS]), *trips[-OPEN_TRIPS:]]


def end(draw: random.Random, trip: Trip) -> Trip:
    """The trip when the bike is back: one unit of money, and 15 hundredths a minute."""
    minutes = draw.randint(3, 55)
    ended_at = trip.started_at + datetime.timedelta(minutes=minutes, seconds=draw.randrange(60))
    fare = Decimal(100 + 15 * minutes) / 100
    return replace(
        trip, to_station=draw.randint(1, len(STATIONS)), ended_at=ended_at, fare=fare.quantize(Decimal("0.01"))
    )


def write_csv(file: Path, header: Sequence[str], rows: Sequence[Sequence[str]], delimiter: str) -> None:
    """One CSV file."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def spoil(rows: list[list[str]]) -> list[list[str]]:
    """The first day's rows with what goes wrong in exports."""
    fare, started = TRIP_COLUMNS.index("fare"), TRIP_COLUMNS.index("started_at")
    rows[50][fare] = rows[50][fare].replace(".", ",")
    rows[120][started] = rows[120][started][:11] + "25:10:00"
    return [*rows[:31], rows[30], *rows[31:]]


def make_exports(folder: Path) -> None:
    """Write all days."""
    draw, waiting, first = random.Random(SEED), list[Trip](), 1
    for day in DAYS:
        target = folder / day.isoformat()
        target.mkdir(parents=True, exist_ok=True)
        returned = [end(draw, trip) for trip in waiting]
        trips = make_day(draw, day, first)
        waiting, first = trips[-OPEN_TRIPS:], first + len(trips)
        if day == DAYS[0]:
            stations = [[str(number), name, district] for number, (district, name) in enumerate(STATIONS, 1)]
            write_csv(target / "stations.csv", ("station_id", "name", "district"), stations, ",")
            write_csv(target / "trips.csv", TRIP_COLUMNS, spoil([trip.fields for trip in trips]), ";")
        else:
            rows = [["U", *trip.fields] for trip in returned] + [["I", *trip.fields] for trip in trips]
            write_csv(target / "trips.csv", ("op", *TRIP_COLUMNS), rows, ";")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="where to write the days")
    make_exports(parser.parse_args().folder)
