"""From a failing case to one that a person can follow: fewer events, fewer coordinators and nodes, less disorder; and its trace.

A change is kept if the case still fails, in the same way: with the same type of error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

from cumulus_ops.simulation.case import Arrival, Case, Stamp, Version
from cumulus_ops.simulation.kernel import Disorder, Message, Sent, Simulation
from cumulus_ops.simulation.layout import Layout, Segment
from cumulus_ops.simulation.run import Spec, run_case
from m3.formatting import format_program

__all__ = ["describe_failure", "describe_trace", "failure_of", "shrink"]

#: Runs that shrinking may take.
RUNS_MAX = 1000
#: A case of some dozens of events that has handled so many messages does not end.
HANDLED_MAX = 50_000


def failure_of(case: Case, spec: Spec, simulation: Simulation | None = None) -> Exception | None:
    """How a case fails; None if it does not."""
    try:
        run_case(case, spec, simulation=simulation or _simulation(case, record=False))
    except Exception as error:  # whatever goes wrong in a protocol is what is looked for
        return error
    return None


def _simulation(case: Case, *, record: bool) -> Simulation:
    return Simulation(case.seed, case.costs, case.disorder, record=record, handled_max=HANDLED_MAX)


def shrink(case: Case, spec: Spec, *, runs_max: int = RUNS_MAX) -> Case:
    """The smallest case that is found to fail as this one does.

    Args:
        case: one that fails.
        spec: its protocol.
        runs_max: how often to try.

    Raises:
        ValueError: the case does not fail.
    """
    error = failure_of(case, spec)
    if error is None:
        raise ValueError(f"{case.protocol}, seed {case.seed} does not fail")
    runs = 0

    def fails(smaller: Case) -> bool:
        nonlocal runs
        runs += 1
        return runs <= runs_max and type(failure_of(smaller, spec)) is type(error)

    before = None
    while case != before and runs <= runs_max:
        before = case
        case = _fewer_arrivals(case, fails)
        for simpler in (*_PASSES, _plainer(spec)):
            case = _simplify(case, simpler, fails)
    return case


Fails = Callable[[Case], bool]


def _fewer_arrivals(case: Case, fails: Fails) -> Case:
    """Without one half, or quarter, and so on down to a single event, as long as that works."""
    size = max(1, len(case.arrivals) // 2)
    while size:
        start = 0
        while start < len(case.arrivals):
            without = replace(case, arrivals=case.arrivals[:start] + case.arrivals[start + size :])
            if fails(without):
                case = without
            else:
                start += size
        size //= 2
    return case


def _simplify(case: Case, simpler: Callable[[Case], Iterator[Case]], fails: Fails) -> Case:
    """The first simpler case that fails, and then again from there."""
    found: Case | None = case
    while found is not None:
        case = found
        found = next((c for c in simpler(case) if c != case and fails(c)), None)
    return case


def _calmer(case: Case) -> Iterator[Case]:
    yield replace(case, disorder=Disorder())
    for name in ("restarts", "pauses", "slow"):
        yield replace(case, disorder=replace(case.disorder, **{name: 0.0}))


def _fewer_epochs(case: Case) -> Iterator[Case]:
    for epochs in range(1, case.epochs):
        yield replace(case, epochs=epochs)


def _fewer_coordinators(case: Case) -> Iterator[Case]:
    last = case.coordinators - 1
    for other in range(last):
        moved = (replace(a, coordinator=other) if a.coordinator == last else a for a in case.arrivals)
        yield replace(case, coordinators=last, arrivals=tuple(moved))


def _fewer_nodes(case: Case) -> Iterator[Case]:
    nodes = case.layout.nodes
    for node in nodes[1:]:
        owner = {s: nodes[0] if n == node else n for s, n in case.layout.owner.items()}
        yield replace(case, layout=Layout(case.layout.partitions, owner))


def _fewer_partitions(case: Case) -> Iterator[Case]:
    """One map in one piece, at the node that has its first segment."""
    for name, counts in case.layout.partitions.items():
        if set(counts) - {1}:
            whole_axes = (1,) * len(counts)
            whole = Segment(name, (0,) * len(counts))
            owner = {s: n for s, n in case.layout.owner.items() if s.map != name}
            owner[whole] = case.layout.owner[whole]
            yield replace(case, layout=Layout({**case.layout.partitions, name: whole_axes}, owner))


def _fewer_statements(case: Case) -> Iterator[Case]:
    """Without one trigger, or without one statement."""
    triggers = case.program.triggers
    for i, trigger in enumerate(triggers):
        ways = [trigger.statements[:j] + trigger.statements[j + 1 :] for j in range(len(trigger.statements))]
        for kept in ((), *filter(None, ways)):
            some = (replace(trigger, statements=kept),) if kept else ()
            yield replace(case, program=replace(case.program, triggers=(*triggers[:i], *some, *triggers[i + 1 :])))


def _plainer(spec: Spec) -> Callable[[Case], Iterator[Case]]:
    def plainer(case: Case) -> Iterator[Case]:
        for name, values in spec.options.items():
            yield replace(case, options={**case.options, name: values[0]})

    return plainer


_PASSES = (_calmer, _fewer_epochs, _fewer_coordinators, _fewer_statements, _fewer_partitions, _fewer_nodes)


def describe_failure(case: Case, spec: Spec) -> str:
    """A failing case in words: its program and layout, its events, all messages one line each, and the error."""
    simulation = _simulation(case, record=True)
    error = failure_of(case, spec, simulation)
    owners = ", ".join(f"{segment} at node {n}" for segment, n in case.layout.owner.items())
    lines = [
        f"{case.protocol}, seed {case.seed}: {case.program.name} ({case.program.semantics}), {case.coordinators} coordinators,"
        f" {case.epochs} epochs of {case.epoch_s:g} s, {dict(case.options)}",
        format_program(case.program),
        owners,
        f"{case.disorder}",
        *(_arrival(a) for a in case.arrivals),
        *describe_trace(simulation.trace),
        f"{type(error).__name__}: {error}" if error else "it does not fail",
    ]
    return "\n".join(lines)


def _arrival(a: Arrival) -> str:
    return f"{a.at_s:.6f} coordinator {a.coordinator} gets {'+' if a.sign > 0 else '-'}{a.relation}{a.row}"


def describe_trace(trace: list[Sent] | tuple[Sent, ...]) -> list[str]:
    """Messages in the order of their arrival, one line each: sent when, arrived when, from whom to whom, and what they say."""
    return [
        f"{s.sent_s:.6f} -> {s.arrived_s:.6f} {s.sender or 'outside'} -> {s.receiver}: {_message(s.message)}"
        for s in trace
    ]


def _message(message: Message) -> str:
    return f"{message.kind} {', '.join(f'{f.name}={_value(getattr(message, f.name))}' for f in fields(message))}"


def _value(value: object) -> str:
    if isinstance(value, Version):
        return ".".join(map(str, value))
    if isinstance(value, Stamp):
        return f"{_value(value.version)}/{value.statement}"
    if isinstance(value, Segment):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(k)}: {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(_value, value)) + ")"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}({', '.join(_value(getattr(value, f.name)) for f in fields(value))})"
    return repr(value)
