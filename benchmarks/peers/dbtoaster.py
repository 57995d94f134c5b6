"""DBToaster's published throughput: constants, nothing runs here.

Events per second of the generated C++ on one thread, from its authors' comparison of systems, on hardware of
about 2014 and with the stream in memory: a landmark, not a measurement beside ours. Several of the low numbers are of
queries whose nested aggregates that version re-evaluated.
"""

from __future__ import annotations

import datetime

from benchmarks.rows import Label, Row

__all__ = ["EVENTS_PER_S", "published"]

EVENTS_PER_S = {
    "q1": 640e3, "q3": 2.3e6, "q4": 3.1e6, "q5": 3.9e3, "q6": 6.1e6, "q7": 66e3, "q8": 225e3, "q9": 72e3, "q12": 2.9e6,
    "q13": 2.4e3, "q14": 4.2e6, "q15": 77.0, "q16": 490.0, "q17": 851e3, "q18": 1.0e6, "q22": 78e3,
}  # fmt: skip
NAME = "dbtoaster-published"


def published(label: Label) -> Row:
    """The row of a query; without a number where none was published."""
    speed = EVENTS_PER_S.get(label.query)
    return Row(
        case=label.case,
        contestant=NAME,
        query=label.query,
        variant=label.variant,
        scale_factor=label.scale_factor,
        batch_events=label.batch_events,
        cores=1,
        state_events=0,
        events=0,
        seconds=None,
        runs=0,
        min=None,
        max=None,
        events_per_s=speed,
        peak_rss_mb=None,
        note="published, other hardware, C++, one thread" if speed else "no published number known here",
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine="as published",
    )
