"""One recovery as a picture: who sends what to whom from a node's death until it has replayed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cumulus_papers.kernel import Sent
from cumulus_papers.recovery.histories import WORLDS
from cumulus_papers.recovery.system import CONTROLLER, Carried, Failure, History, run_history
from cumulus_papers.sequence import Traced
from m3.errors import M3Error
from m3.recovery.clock import Clock
from m3.recovery.graph import neighbourhood
from m3.recovery.messages import Ask, Data, Hold, Mark, Recovered, Report, Resume, Start, Started
from m3.recovery.table import Table, count_tables, describe, solve

__all__ = ["trace_recovery"]


def trace_recovery(seed: int, number: int, world: str = "mixed") -> Traced:
    """Simulate a random dataflow of which nodes fail, and follow the recovery of one of them: what its neighbourhood
    and the controller send, and the table. Signs of life, what is said now and then, and of each channel's messages all but the first and the last are left out.

    Args:
        seed: which dataflow.
        number: which failure, from 1.
        world: which of :data:`~cumulus_papers.recovery.histories.WORLDS`; in the mixed one three nodes fail one after the other.

    Raises:
        M3Error: there are not so many.
    """
    history = WORLDS[world](seed)
    if world == "mixed":
        history = _fail_three(history, seed)
    outcome = run_history(history, record=True)
    if number > len(outcome.failed_s):
        message = f"{len(outcome.failed_s)} nodes fail, and no failure {number}"
        raise M3Error(message, kind="no-such-event", hint="choose an earlier one, or another seed")
    died_s, name = outcome.failed_s[number - 1]
    near = neighbourhood(history.flow, [name])
    trace = sorted(
        (one for one in outcome.trace if isinstance(one.message, Carried)), key=lambda s: (s.sent_s, s.number)
    )
    end = next(one for one in trace if one.sent_s > died_s and _is_recovered(one, name))
    sent = [one for one in trace if died_s < one.sent_s <= end.sent_s and _is_part(one, name, _part(end).life)]
    drawn = [one for one in sent if not isinstance(_part(one), Data) or one in _first_and_last(sent, one)]
    what = f"{name} ({history.kinds[name]}) dies at {died_s * 1e3:.1f} ms, and is replayed"
    notes = [_describe_table(name, outcome.solved.get((name, _part(end).life)))]
    if len(drawn) < len(sent):
        notes.insert(
            0, f"Data: the first and the last of each channel; {len(sent) - len(drawn)} between them are left out"
        )
    where = f"seed {seed}, parents | failed | children: {near}"
    order = (CONTROLLER, *near.parents, name, *near.children)
    return Traced(what, where, tuple(drawn), "\n\n".join(notes), order)


def _part(one: Sent) -> Any:
    assert isinstance(one.message, Carried)
    return one.message.part


def _is_recovered(one: Sent, name: str) -> bool:
    return isinstance(_part(one), Recovered) and _part(one).node == name


def _is_part(one: Sent, name: str, life: int) -> bool:
    """Whether something is told for the recovery of a node, or said to or by its next life; what is said now and then apart."""
    match _part(one):
        case Hold(child=about) | Resume(child=about) | Ask(about=about) | Report(about=about):
            return bool(about == name)
        case Start(node=node) | Started(node=node) | Recovered(node=node):
            return bool(node == name)
        case Data(lives=lives) | Mark(lives=lives, clock=Clock()):
            return (one.sender, lives[0]) == (name, life) or (one.receiver, lives[1]) == (name, life)
    return False


def _first_and_last(sent: Sequence[Sent], one: Sent) -> tuple[Sent, Sent]:
    channel = [o for o in sent if (o.sender, o.receiver) == (one.sender, one.receiver) and isinstance(_part(o), Data)]
    return channel[0], channel[-1]


def _fail_three(drawn: History, seed: int) -> History:
    choose = random.Random(seed)
    names = [name for name in drawn.flow.order if drawn.flow.parents[name]]
    failures = [Failure(0.15 * (i + 1), (choose.choice(names),)) for i in range(3)]
    disorder = replace(drawn.disorder, delay_s=0.001, slow=0.0, pauses=0.0)
    return replace(drawn, failures=failures, disorder=disorder, timeout_s=0.03)


def _describe_table(name: str, table: Table | None) -> str:
    if table is None:
        return "no execution-replay table was needed"
    columns = solve(table)
    placed = ", ".join(f"{parent}:{time}" for c, (parent, time) in sorted(columns.items()) if c not in table.targets)
    head = f"the execution-replay table, one of {count_tables(table):,} that are valid; placed by it: {placed or 'nothing'}; all else is where a child has seen it"
    return f"{head}\n{describe(table, columns, name)}"
