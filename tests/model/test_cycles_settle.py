"""Programs with cycles: a finite history settles in one pass of corrections, and buffering bounds what a cascade sends.

Every read is violated: in each round all coordinators read before any of them writes. As long as newer events arrive
ahead of it, a cascade goes on (Cumulus paper, section 4.2); what it sends depends on how many rounds lie between two passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.opening.runtime import initialise, open_runtime
from m3 import check, parse
from tests.support.executions import History
from tests.support.papers import ATOMICITY
from tests.support.projects import interpret, make_project, oracle_maps

COORDINATORS, ROUNDS = 3, 6


@dataclass(frozen=True)
class Played:
    """What corrections have added in each pass, with how many events of the history it was about."""

    passes: list[tuple[int, int]]

    @property
    def sent(self) -> int:
        return sum(added for added, _ in self.passes)


def _play(folder: Path, buffer: int) -> Played:
    """So many rounds of events of one key, corrected after each ``buffer`` of them, and at the end."""
    text = ATOMICITY.format(semantics="SNAPSHOT")
    project = make_project(folder, check(parse(text)).relations, program=text, coordinators=COORDINATORS)
    initialise(project)
    passes = []
    with open_runtime(project) as rt:
        history = History(rt)
        history.apply(*history.stamp(("d", 1, (1,))))
        stamped: dict[int, list[int]] = {c: [] for c in range(COORDINATORS)}
        for number in range(ROUNDS):
            relation = "st"[number % 2]
            fresh = [history.stamp((relation, 1, (1,)), coordinator=c)[0] for c in range(COORDINATORS)]
            for coordinator, place in enumerate(fresh):
                history.read(place)
                stamped[coordinator].append(place)
            for place in reversed(fresh):
                history.write(place)
            if (number + 1) % buffer == 0:
                passes.append((len(history.corrections()), len(history.events)))
        passes.append((len(history.corrections()), len(history.events)))
        assert history.corrections() == []  # it has settled
        serial = [history.events[i] for i in [0, *(place for own in stamped.values() for place in own)]]
        assert history.maps() == oracle_maps(interpret(rt.program, serial))
    return Played(passes)


def test_a_longer_buffer_sends_less_and_no_pass_sends_more_than_one_delta_per_event(tmp_path: Path) -> None:
    played = {buffer: _play(tmp_path / str(buffer), buffer) for buffer in (1, 3, 6)}
    for found in played.values():
        assert all(
            added <= events for added, events in found.passes
        )  # an event here has one statement, which adds one entry
        assert found.passes[-1][0] == 0  # nothing arrived after the pass before it
    sent = [found.sent for found in played.values()]
    assert sent == sorted(sent, reverse=True)
    assert sent[0] > 2 * sent[-1] > 0
