"""One recovery as a picture: who sends what to whom from a node's death until it has replayed."""

from __future__ import annotations

import random
from dataclasses import replace

from cumulus_papers.kernel import Sent
from cumulus_papers.recovery.histories import draw_history
from cumulus_papers.recovery.system import CONTROLLER, Carried, Failure, run_history
from cumulus_papers.sequence import Traced
from m3.errors import M3Error
from m3.recovery.graph import neighbourhood
from m3.recovery.messages import Mark, Recovered, Stable

__all__ = ["trace_recovery"]


def trace_recovery(seed: int, number: int) -> Traced:
    """Simulate a random dataflow of which three nodes fail one after the other, and follow the recovery of one of them: what its neighbourhood
    and the controller send. Signs of life, and what is said now and then, are left out.

    Args:
        seed: which dataflow.
        number: which failure, from 1.

    Raises:
        M3Error: there are not so many.
    """
    drawn = draw_history(seed)
    choose = random.Random(seed)
    names = [name for name in drawn.flow.order if drawn.flow.parents[name]]
    failures = [Failure(0.15 * (i + 1), (choose.choice(names),)) for i in range(3)]
    history = replace(
        drawn, failures=failures, disorder=replace(drawn.disorder, delay_s=0.001, slow=0.0, pauses=0.0), timeout_s=0.03
    )
    outcome = run_history(history, record=True)
    if number > len(outcome.failed_s):
        message = f"{len(outcome.failed_s)} nodes fail, and no failure {number}"
        raise M3Error(message, kind="no-such-event", hint="choose an earlier one, or another seed")
    died_s, name = outcome.failed_s[number - 1]
    near = neighbourhood(history.flow, [name])
    about = {*near.parents, *near.failed, *near.children, CONTROLLER}
    sent: list[Sent] = []
    for one in sorted(outcome.trace, key=lambda s: (s.sent_s, s.number)):
        if one.sent_s < died_s or not isinstance(one.message, Carried):
            continue
        part = one.message.part
        touches = name in (one.sender, one.receiver) or CONTROLLER in (one.sender, one.receiver)
        tells = isinstance(part, Stable) or (isinstance(part, Mark) and part.clock is None)
        if touches and not tells and {one.sender, one.receiver} <= about:
            sent.append(one)
        if isinstance(part, Recovered) and part.node == name:
            break
    what = f"{name} ({history.kinds[name]}) dies at {died_s * 1e3:.1f} ms, and is replayed"
    return Traced(what, f"seed {seed}, parents | failed | children: {near}", tuple(sent))
