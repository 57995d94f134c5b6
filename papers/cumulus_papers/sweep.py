"""Many random cases over many protocols, and what they covered.

>>> from cumulus_papers.protocols import PROTOCOLS
>>> report = sweep([PROTOCOLS["target"]], range(3))
>>> report.runs, report.failures
(3, ())
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from cumulus_papers.case import PAPERS, QUERIES, Arrival, Case, Stamp, Version, compiled, paper, random_program
from cumulus_papers.kernel import Costs, Disorder, Message, Sent, Simulation
from cumulus_papers.layout import Layout, Segment, random_layout
from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.run import Outcome, Spec, run_case
from m3.formatting import format_program
from m3.program import Program

__all__ = [
    "Failure",
    "SweepReport",
    "Tally",
    "check_protocols",
    "dealt",
    "describe_failure",
    "describe_trace",
    "draw_case",
    "failure_of",
    "minimal_failure",
    "shrink",
    "sweep",
]


# Random cases: one seed decides program, layout, history, disorder and options.


CYCLIC = ("semester-3.2",)
#: How many epochs a pause lasts; slow messages take up to about thirty.
LULL = 40


def draw_case(seed: int, spec: Spec) -> Case:
    """A case for a protocol. The same seed gives the same case."""
    choose = random.Random(f"{spec.name} {seed}")
    program = _program(choose, spec)
    nodes = choose.choice((2, 3, 4, 5, 6, 8))
    coordinators = choose.choice((1, 2, 2, 3, 3, 4)) if spec.many_coordinators else 1
    epoch_s = choose.choice((0.02, 0.05, 0.2))
    epochs = choose.choice((2, 2, 3, 4))
    # Twenty to eighty events over small domains, so that they concern each other; some come in bursts.
    length_s = epoch_s * epochs * choose.choice((0.8, 1.0, 1.2))
    count = choose.randint(25, 70)
    domain = choose.choice((1, 2, 3))
    weights = [choose.random() + 0.05 for _ in range(coordinators)]
    times = sorted(choose.uniform(0, length_s) for _ in range(count))
    if choose.random() < 0.4:
        times = sorted(choose.choice(times[: max(1, count // 6)]) + choose.uniform(0, 1e-3) for _ in range(count))
    signs = {
        t.relation: [s for s in (1, 1, 1, -1) if program.trigger(t.relation, s)] for t in program.triggers if t.relation
    }
    arrivals = tuple(
        _arrival(choose, program, at_s, choose.choices(range(coordinators), weights)[0], domain, signs)
        for at_s in times
    )
    if seed % 3 == 0:
        # The same events in three parts, with pauses in which whatever is under way arrives.
        third = len(arrivals) // 3 + 1
        arrivals = tuple(replace(a, at_s=a.at_s + LULL * epoch_s * (i // third)) for i, a in enumerate(arrivals))
    options = {name: choose.choice(values) for name, values in spec.options.items()}
    layout = random_layout(program, nodes, choose)
    disorder = _disorder(choose, epoch_s)
    return Case(seed, spec.name, program, layout, arrivals, coordinators, epoch_s, epochs, Costs(), disorder, options)


def _program(choose: random.Random, spec: Spec) -> Program:
    kind = choose.choice(("paper", "query", "random", "random"))
    if kind == "paper":
        name = choose.choice([n for n in PAPERS if not spec.acyclic or n not in CYCLIC])
        return paper(name, choose.choice(("SNAPSHOT", "SEQUENTIAL")))
    if kind == "query":
        return compiled(choose.randrange(len(QUERIES)))
    return random_program(choose, acyclic=spec.acyclic or choose.random() < 0.3)


def _arrival(
    choose: random.Random, program: Program, at_s: float, coordinator: int, domain: int, signs: dict[str, list[int]]
) -> Arrival:
    relation = program.relation_by_name[choose.choice(list(signs))]
    row: tuple[Any, ...] = tuple(choose.randint(1, domain) for _ in relation.columns)
    return Arrival(at_s, coordinator, choose.choice(signs[relation.name]), relation.name, row)


def _disorder(choose: random.Random, epoch_s: float) -> Disorder:
    if choose.random() < 0.1:
        return Disorder()
    outages = choose.choice((0.0, 0.0, 1.0, 3.0)) / epoch_s
    return Disorder(
        delay_s=epoch_s * choose.choice((0.01, 0.1, 0.5)),
        slow=choose.choice((0.0, 0.1, 0.3)),
        pauses=outages * choose.random(),
        restarts=outages * choose.random() / 2,
        outage_s=epoch_s * choose.choice((0.1, 1.0)),
    )


# From a failing case to one that a person can follow: fewer events, fewer coordinators and nodes, less disorder; and its trace.
#
# A change is kept if the case still fails, in the same way: with the same type of error.


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
        # Without one half, or quarter, and so on down to a single event, as long as that works.
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
        for simpler in (*_PASSES, _plainer(spec)):
            # The first simpler case that fails, and then again from there.
            found: Case | None = case
            while found is not None:
                case = found
                found = next((c for c in simpler(case) if c != case and fails(c)), None)
    return case


Fails = Callable[[Case], bool]


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
        *(
            f"{a.at_s:.6f} coordinator {a.coordinator} gets {'+' if a.sign > 0 else '-'}{a.relation}{a.row}"
            for a in case.arrivals
        ),
        *describe_trace(simulation.trace),
        f"{type(error).__name__}: {error}" if error else "it does not fail",
    ]
    return "\n".join(lines)


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


# The whole check: so many random cases, dealt out to the protocols so that the rarer messages of each are met often enough.


#: How many cases a protocol gets, relative to the others: more for those with more kinds of messages and options.
WEIGHTS = {"eventual": 12, "optimistic": 12, "source": 6, "target": 4}
WEIGHT = 5


def dealt(protocols: Sequence[str], seeds: int) -> dict[str, int]:
    """Protocol -> how many of the cases it gets.

    >>> dealt(["target", "eventual"], 8)
    {'target': 2, 'eventual': 6}
    """
    weights = {name: WEIGHTS.get(name, WEIGHT) for name in protocols}
    total = sum(weights.values())
    counts = {name: seeds * weight // total for name, weight in weights.items()}
    counts[protocols[-1]] += seeds - sum(counts.values())
    return counts


def check_protocols(
    protocols: Sequence[str],
    seeds: int,
    first: int,
    processes: int,
    on_progress: Callable[[int], None] = lambda _: None,
) -> SweepReport:
    """Run ``seeds`` cases in all, from the seed ``first`` on; ``on_progress`` is called with the number of cases that have been done since."""
    tallies: dict[str, Tally] = {}
    failures: list[Failure] = []
    specs = tuple(PROTOCOLS[name] for name in protocols)
    for spec in specs:
        reached = 0

        def progress(done: int, _: int) -> None:
            nonlocal reached
            on_progress(done - reached)
            reached = done

        count = dealt(protocols, seeds)[spec.name]
        report = sweep([spec], range(first, first + count), processes=processes, on_progress=progress)
        tallies |= report.by_protocol
        failures += report.failures
    return SweepReport(specs, tallies, tuple(failures))


def minimal_failure(report: SweepReport) -> str:
    """The first failure of a report, as small as it can be made, message by message."""
    failure = report.failures[0]
    spec = PROTOCOLS[failure.protocol]
    return describe_failure(shrink(draw_case(failure.seed, spec), spec), spec)


#: Seeds that a worker takes at once.
BLOCK = 20
#: What a sweep has to cover: the least share of runs with each kind of message and each option, and averages per run.
SHARE_MIN = 0.05
EVENTS_MIN, NODES_MIN, EPOCHS_MIN = 40, 4, 2


@dataclass(frozen=True)
class Failure:
    """A seed that failed, and how."""

    protocol: str
    seed: int
    error: str


@dataclass
class Tally:
    """Sums over runs of one protocol. ``commits``: snapshots compared. ``kinds``, ``options``, ``counts``: runs with at least one message
    of a kind, with an option's value, and with at least one of what the protocol counts. ``messages``: of each kind, those that stayed local left out."""

    runs: int = 0
    events: int = 0
    nodes: int = 0
    epochs: int = 0
    commits: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    options: Counter[tuple[str, object]] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)

    def add_run(self, outcome: Outcome) -> None:
        """Count a run."""
        case = outcome.case
        self.add(
            Tally(
                1,
                outcome.events,
                len(case.layout.nodes),
                case.epochs,
                outcome.commits,
                Counter({kind: 1 for kind, n in (outcome.messages + outcome.local).items() if n}),
                Counter(dict.fromkeys(case.options.items(), 1)),
                Counter({name: 1 for name, n in outcome.counts.items() if n}),
                outcome.messages,
            )
        )

    def add(self, other: Tally) -> None:
        """Count what another has counted."""
        self.runs += other.runs
        self.events += other.events
        self.nodes += other.nodes
        self.epochs += other.epochs
        self.commits += other.commits
        self.kinds += other.kinds
        self.options += other.options
        self.counts += other.counts
        self.messages += other.messages

    def average(self, total: int) -> float:
        """Per run."""
        return total / self.runs if self.runs else 0.0


@dataclass(frozen=True)
class SweepReport:
    """What a sweep found."""

    specs: tuple[Spec, ...]
    by_protocol: dict[str, Tally]
    failures: tuple[Failure, ...]

    @property
    def runs(self) -> int:
        """Runs that ended as they should."""
        return self.total.runs

    @property
    def total(self) -> Tally:
        """Over all protocols."""
        total = Tally()
        for tally in self.by_protocol.values():
            total.add(tally)
        return total

    def missing(self) -> tuple[str, ...]:
        """What was not covered as it should be, a sentence each; nothing is missing if there is none."""
        total = self.total
        rare = (line for spec in self.specs for line in self._rare(spec, self.by_protocol[spec.name], total.runs))
        return (*rare, *self._small(total))

    def _rare(self, spec: Spec, tally: Tally, runs: int) -> Iterator[str]:
        """What a protocol has in too few of all runs: what others have under the same name does not count."""
        wanted = [(kind, tally.kinds[kind]) for kind in spec.kinds]
        wanted += [found for name, values in spec.options.items() for found in _count_options(name, values, tally)]
        wanted += [("messages of one pair that overtake those of another", tally.counts["overtaken"])]
        for what, count in wanted:
            if count < SHARE_MIN * runs:
                yield f"{spec.name}: {what} in {count} of {runs} runs, fewer than {SHARE_MIN:.0%}"

    def _small(self, total: Tally) -> Iterator[str]:
        for what, sum_, least in (
            ("events", total.events, EVENTS_MIN),
            ("nodes", total.nodes, NODES_MIN),
            ("epochs", total.epochs, EPOCHS_MIN),
        ):
            if total.average(sum_) < least:
                yield f"{total.average(sum_):.1f} {what} a run, fewer than {least}"

    def describe(self) -> str:
        """The whole report, as text."""
        lines = [line for name, tally in self.by_protocol.items() for line in _describe(name, tally)]
        lines += [f"missing: {what}" for what in self.missing()]
        lines += [f"FAILED: {f.protocol}, seed {f.seed}: {f.error}" for f in self.failures]
        return "\n".join(lines)


def _count_options(name: str, values: Sequence[object], total: Tally) -> Iterator[tuple[str, int]]:
    """An option's values, with the runs that had them; of sizes, only how many runs had another one than the default."""
    if any(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        yield f"{name} other than {values[0]}", sum(total.options[name, v] for v in dict.fromkeys(values[1:]))
        return
    yield from ((f"{name}={value}", total.options[name, value]) for value in values)


def _describe(name: str, tally: Tally) -> Iterator[str]:
    averages = (tally.events, "events"), (tally.nodes, "nodes"), (tally.epochs, "epochs"), (tally.commits, "snapshots")
    sizes = ", ".join(f"{tally.average(total):.1f} {what}" for total, what in averages)
    yield f"{name}: {tally.runs} runs, on average {sizes}"
    options = {f"{option}={value}": n for (option, value), n in tally.options.items()}
    for what, found in (("messages", tally.kinds), ("options", options), ("counts", tally.counts)):
        shares = ", ".join(f"{key} {tally.average(n):.0%}" for key, n in sorted(found.items()))
        yield f"  runs with {what}: {shares}"


def sweep(
    specs: Iterable[Spec],
    seeds: Sequence[int],
    *,
    processes: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> SweepReport:
    """Run a random case for each seed and protocol.

    Args:
        specs: the protocols.
        seeds: which cases.
        processes: how many work at the same time; one: this one.
        on_progress: called with the cases done and the cases wanted, now and then.
    """
    protocols = tuple(specs)
    blocks = [(spec, seeds[i : i + BLOCK]) for i in range(0, len(seeds), BLOCK) for spec in protocols]
    by_protocol = {spec.name: Tally() for spec in protocols}
    failures: list[Failure] = []
    done = 0
    for spec, block, tally, failed in _results(blocks, processes):
        by_protocol[spec].add(tally)
        failures += failed
        done += block
        if on_progress:
            on_progress(done, len(seeds) * len(protocols))
    return SweepReport(protocols, by_protocol, tuple(sorted(failures, key=lambda f: (f.protocol, f.seed))))


_Result = tuple[str, int, Tally, list[Failure]]


def _results(blocks: Sequence[tuple[Spec, Sequence[int]]], processes: int) -> Iterator[_Result]:
    if processes == 1:
        yield from (_block(spec, seeds) for spec, seeds in blocks)
        return
    with ProcessPoolExecutor(processes) as pool:
        for finished in as_completed([pool.submit(_block, spec, seeds) for spec, seeds in blocks]):
            yield finished.result()


def _block(spec: Spec, seeds: Sequence[int]) -> _Result:
    tally, failures = Tally(), []
    for seed in seeds:
        try:
            tally.add_run(run_case(draw_case(seed, spec), spec))
        except Exception as error:  # whatever goes wrong in a protocol is what is looked for
            failures.append(Failure(spec.name, seed, f"{type(error).__name__}: {error}"))
    return spec.name, len(seeds), tally, failures
