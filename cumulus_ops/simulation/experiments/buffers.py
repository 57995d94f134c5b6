"""Buffer size against latency and throughput; uniform against intelligent buffering (Cumulus paper, section 6); and waiting before one computes
(semester paper, section 6)."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.simulation.experiments.measures import measured
from cumulus_ops.simulation.experiments.table import Experiment, Plot, Row
from cumulus_ops.simulation.load import Load
from cumulus_ops.simulation.protocols import PROTOCOLS
from m3 import check, parse

__all__ = ["BUFFER", "INTELLIGENT", "ROUNDS"]

PERIODS_MS = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
RATES = (500.0, 2000.0, 8000.0)


def _buffer(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for rate in RATES:
        for buffer_ms in PERIODS_MS:
            load = Load(rate=rate, domain=10, events=400)
            runs = measured(spec, load, {"buffer_s": buffer_ms / 1e3, "coalesce": "all"}, scale=scale)
            yield {
                "rate": f"{rate:g} events/s",
                "buffer_ms": buffer_ms,
                "messages_per_event": runs.messages(),
                "corrections_per_event": runs.count("corrections"),
                "settled_ms": runs.settled_ms(),
                "settled_95_ms": runs.settled_ms(0.95),
                "events_per_s": runs.capacity(),
            }


BUFFER = Experiment(
    "buffer",
    "How long should deltas be buffered? Latency, corrections and the load that is borne, by buffer period.",
    _buffer,
    (
        Plot("buffer_ms", "settled_ms", "rate", "Until an event has settled (median)"),
        Plot("buffer_ms", "corrections_per_event", "rate", "Corrections per event"),
        Plot("buffer_ms", "messages_per_event", "rate", "Messages per event"),
        Plot("buffer_ms", "events_per_s", "rate", "Events a second that the busiest actor bears"),
    ),
)


#: Maps one behind the other, and maps that read each other; keys differ, so that what is read is mostly on another node.
PROGRAMS = {
    "chain of four": """PROGRAM chain SEMANTICS SNAPSHOT; RELATION r(a INT, b INT); RELATION s(b INT);
        MAP m1[a INT] : INT; MAP m2[a INT] : INT; MAP m3[a INT] : INT; MAP m4[a INT] : INT;
        ON +r(a, b) { m1[a] += m2[b]; m2[a] += m3[b]; m3[a] += m4[b] } ON +s(b) { m4[b] += 1 }""",
    "cycle of two": """PROGRAM cycle SEMANTICS SNAPSHOT; RELATION r(a INT, b INT); RELATION s(b INT);
        MAP m1[a INT] : INT; MAP m2[a INT] : INT;
        ON +r(a, b) { m1[a] += m2[b]; m2[b] += m1[a] } ON +s(b) { m1[b] += 1; m2[b] += 1 }""",
}  # fmt: skip


def _intelligent(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for name, text in PROGRAMS.items():
        program = check(parse(text))
        for buffer_ms in PERIODS_MS[1:]:
            for intelligent in (False, True):
                options = {"buffer_s": buffer_ms / 1e3, "coalesce": "all", "intelligent": intelligent}
                runs = measured(spec, Load(program, rate=2000.0, domain=10, events=400), options, scale=scale)
                yield {
                    "program": name,
                    "buffering": "longer further down" if intelligent else "uniform",
                    "buffer_ms": buffer_ms,
                    "settled_ms": runs.settled_ms(),
                    "messages_per_event": runs.messages(),
                    "corrections_per_event": runs.count("corrections"),
                }


INTELLIGENT = Experiment(
    "intelligent-buffering",
    "Does it pay to buffer longer further down the dataflow, for the same mean period?",
    _intelligent,
    (
        Plot("buffer_ms", "corrections_per_event", ("program", "buffering"), "Corrections per event"),
        Plot("buffer_ms", "messages_per_event", ("program", "buffering"), "Messages per event"),
        Plot("buffer_ms", "settled_ms", ("program", "buffering"), "Until an event has settled (median)"),
    ),
)


def _rounds(scale: float) -> Iterator[Row]:
    spec = PROTOCOLS["eventual"]
    for name, option in (("wait for lower timestamps", "wait_s"), ("a round per level", "round_s")):
        for hold_ms in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
            for rate in (500.0, 4000.0):
                runs = measured(spec, Load(rate=rate, domain=10, events=400), {option: hold_ms / 1e3}, scale=scale)
                yield {
                    "heuristic": name,
                    "rate": f"{rate:g} events/s",
                    "hold_ms": hold_ms,
                    "corrections_per_event": runs.count("corrections"),
                    "messages_per_event": runs.messages(),
                    "settled_ms": runs.settled_ms(),
                    "settled_95_ms": runs.settled_ms(0.95),
                }


ROUNDS = Experiment(
    "rounds",
    "Does it pay to wait before one computes: for events with lower timestamps, or by a round for each level of the dataflow?",
    _rounds,
    (
        Plot("hold_ms", "corrections_per_event", ("heuristic", "rate"), "Corrections per event"),
        Plot("hold_ms", "messages_per_event", ("heuristic", "rate"), "Messages per event"),
        Plot("hold_ms", "settled_ms", ("heuristic", "rate"), "Until an event has settled (median)"),
    ),
)
