"""Many random cases over many protocols, and what they covered.

>>> from cumulus_ops.simulation import PROTOCOLS
>>> report = sweep([PROTOCOLS["target"]], range(3))
>>> report.runs, report.failures
(3, ())
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field

from cumulus_ops.simulation.draw import draw_case
from cumulus_ops.simulation.run import Outcome, Spec, run_case

__all__ = ["Failure", "SweepReport", "Tally", "sweep"]

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
        wanted += [found for name, values in spec.options.items() for found in _switched(name, values, tally)]
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


def _switched(name: str, values: Sequence[object], total: Tally) -> Iterator[tuple[str, int]]:
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
