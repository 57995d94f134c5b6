"""The case studies under faults: what append-only stores keep without coordination, and with it.

    python examples/replay.py [ads|wordcount] [--runs 2] [--seed 0]

A **run** plays the same input, drops and requests, in an order that is drawn from its seed; processes die in it and are started anew. It has
two **replicas**, where there are several stores, each a project of its own. A **store** (a cache of ``ads``, what ``wordcount`` commits to) keeps the first answer
to each request for good, and tells no other store. Each replica has a store per way to coordinate, so that all of them see the same interleaving:

    uncoordinated  takes what a view shows when it looks
    ordered        takes the view as of the epoch that the request belongs to: an order that is the same in every run
    sealed         takes what is final by a seal, or at once; of a view for which no seal helps, what it shows
    by arrival     one sequencer decides the order of drops and requests, in which all replicas process them one by one

The table says whether replicas, and runs, have ended with different stores, beside the label that analysis predicts. ``independent`` is ``sealed``
with each campaign at one server alone.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from cumulus_ops.append.append import append_delivery
from cumulus_ops.coordination.labelling.analysis import analyse
from cumulus_ops.coordination.labelling.annotations import read_dataflow
from cumulus_ops.coordination.labelling.strategies import coordinate
from cumulus_ops.coordination.plan import COMMITTED
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.finals import finalise
from cumulus_ops.epochs.minibatch import compute_batch, current_epoch, run_minibatch
from cumulus_ops.epochs.voting import is_complete, vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import NotYet
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.query.answers import read_answer
from cumulus_ops.query.read import read_view

HERE = Path(__file__).parent
DEATHS = 3  # of each replica's processes in a run
LOOKS = 4  # how often a replica looks for answers, about
ARRIVAL = "by arrival"
SEALED, INDEPENDENT = "sealed", "independent"
POLICIES = ("uncoordinated", "ordered", SEALED)

Row = Mapping[str, object]
#: request -> the rows that were answered first; entries are never changed
Store = dict["Request", frozenset[tuple[object, ...]]]


@dataclasses.dataclass(frozen=True)
class Study:
    """A project in a folder beside this file. ``asked``: by view, the columns that a request names. An epoch has ``drops`` drops of each
    coordinator. There are so many ``replicas``."""

    name: str
    relation: str
    asked: Mapping[str, tuple[str, ...]]
    drops: int
    replicas: int

    def label(self, view: str, policy: str) -> str:
        """What analysis predicts of the stores' contents."""
        view = "wordcount" if self.name == "wordcount" else view
        suffix = "_sealed" if policy in (SEALED, INDEPENDENT) else ""
        dataflow = read_dataflow(HERE / self.name / "greybox" / f"{view}{suffix}.yaml")
        found = analyse(dataflow)
        if policy in ("ordered", ARRIVAL):
            found = coordinate(dataflow, found, "logged" if policy == "ordered" else "arrival").analysis
        return str(found.label)


STUDIES = {
    "ads": Study(
        "ads",
        "clicks",
        {"thresh": ("id",), "poor": ("id",), "window": ("hour", "id"), "campaign": ("campaign", "id")},
        drops=3,
        replicas=2,
    ),
    "wordcount": Study("wordcount", "words", {"counts": ("batch",)}, drops=4, replicas=1),
}


@dataclasses.dataclass(frozen=True)
class Request:
    """Asks for the rows of ``view`` with these ``values``; it belongs to an epoch, as the drops do."""

    view: str
    values: tuple[str, ...]
    epoch: int


@dataclasses.dataclass(frozen=True)
class Input:
    """What all runs have in common: each coordinator's drops, in their order, and the requests."""

    study: Study
    folder: Path
    drops: tuple[tuple[Path, ...], ...]
    requests: tuple[Request, ...]
    independent: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Whether the stores of a view differed: between replicas in some run, or between runs."""

    view: str
    policy: str
    replicas_differ: bool
    runs_differ: bool
    answers: int


def make_input(study: Study, folder: Path, independent: bool = False) -> Input:
    """Write the drops by the study's own script; what can be asked for is in them.

    Args:
        study: which one.
        folder: a new folder.
        independent: of ``ads``, whether each campaign is one server's alone.
    """
    script = [sys.executable, str(HERE / study.name / "make_drops.py"), str(folder)]
    subprocess.run([*script, *(["--independent"] if independent else [])], check=True)
    coordinators = sorted(folder.iterdir())
    drops = tuple(tuple(sorted(c.iterdir())) for c in coordinators)
    return Input(study, folder, drops, tuple(_requests(study, drops)), independent)


def first_epoch(given: Input) -> Input:
    """The same with no more than the drops of the first epoch."""
    drops = tuple(own[: given.study.drops] for own in given.drops)
    return dataclasses.replace(given, drops=drops, requests=tuple(_requests(given.study, drops)))


def _requests(study: Study, drops: Sequence[Sequence[Path]]) -> Iterator[Request]:
    """One for each combination of values in the drops; of the epoch with the first of its rows, or a later one."""
    draw = random.Random(11)
    epochs = len(drops[0]) // study.drops
    for view, columns in study.asked.items():
        first: dict[tuple[str, ...], int] = {}
        for own in drops:
            for place, drop in enumerate(own):
                for row in read_rows(drop / f"{study.relation}.csv"):
                    values = tuple(row[c] for c in columns)
                    first[values] = min(first.get(values, epochs), place // study.drops)
        for values, epoch in sorted(first.items()):
            yield Request(view, values, draw.randrange(epoch, epochs))


def read_rows(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file; none if there is no such file."""
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


class Replica:
    """A project in a folder of its own, its processes and its stores."""

    def __init__(self, given: Input, home: Path, draw: random.Random, coordinators: int) -> None:
        self.given, self.home, self.draw = given, home, draw
        self.project = _project(given, home, coordinators)
        self.stores: dict[tuple[str, str], Store] = {}
        self.posed: list[Request] = []
        self.deaths = DEATHS
        self._process = ExitStack()
        initialise(self.project)  # each replica is an installation of its own
        self.rt = self._process.enter_context(open_runtime(self.project, "inprocess"))

    def restart(self) -> None:
        """End the process, and begin another one."""
        self._process.close()
        self.rt = self._process.enter_context(open_runtime(self.project, "inprocess"))

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def deliver(self, drop: Path, coordinator: int, name: str, seals: bool = True) -> None:
        """Land a drop, and apply it; the process may die on the way."""
        hidden = self.project.landing / str(coordinator) / f".{name}"
        shutil.copytree(drop, hidden, ignore=None if seals else shutil.ignore_patterns("*.seal.*"))
        hidden.rename(hidden.with_name(name))
        if self.deaths and self.draw.random() < 0.3:
            self.deaths -= 1
            self._die(coordinator)
        run_minibatch(self.rt, coordinator)

    def _die(self, coordinator: int) -> None:
        """Behind the append, or when the deltas are computed and not committed."""
        (landed,) = self.rt.sources.pending(coordinator)
        batches = append_delivery(self.project, self.rt.catalog, coordinator, landed, room=self.rt.room)
        if self.draw.random() < 0.5 and batches:
            self.rt.executor.prepare(self.rt.plan)
            with self.rt.catalog.leases.step() as step:
                compute_batch(self.rt, batches[0], step)
        self.restart()

    def look(self, policies: Iterable[str]) -> None:
        """Take answers to the requests that have none yet."""
        for policy in policies:
            for view in self.given.study.asked:
                store = self.stores.setdefault((view, policy), {})
                left = [r for r in self.posed if r.view == view and r not in store]
                for request, rows in _answers(self.rt, policy, left, self.given.study.asked[view]):
                    if rows:
                        store[request] = rows


def _project(given: Input, home: Path, coordinators: int) -> Project:
    environment = {"CUMULUS_HOME": str(home)} | ({"ADS_PRODUCERS": "one"} if given.independent else {})
    return dataclasses.replace(load_project(HERE / given.study.name, environment), coordinators=coordinators)


def _answers(
    rt: Runtime, policy: str, requests: Sequence[Request], columns: Sequence[str]
) -> Iterator[tuple[Request, frozenset[tuple[object, ...]]]]:
    """What the requests are answered now; no rows: nothing yet."""
    for epoch in sorted({r.epoch for r in requests}):
        own = [r for r in requests if r.epoch == epoch]
        rows = _shown(rt, policy, own[0].view, epoch)
        for request in own:
            found = (r for r in rows if tuple(str(r[c]) for c in columns) == request.values)
            yield request, frozenset(tuple(r.values()) for r in found)


def _shown(rt: Runtime, policy: str, view: str, epoch: int) -> Sequence[Row]:
    """The rows that a store may take, for a request of an epoch."""
    if policy in ("uncoordinated", ARRIVAL):
        return list(read_view(rt, view, tentative=True).to_pylist())
    if policy == "ordered":
        is_committed = rt.catalog.snapshots.newest() >= epoch
        return list(read_view(rt, view, as_of=epoch).to_pylist()) if is_committed else []
    if rt.coordination.view(view).final == COMMITTED:
        return list(read_view(rt, view, tentative=True).to_pylist())
    return list(_final(rt, view))


def _final(rt: Runtime, view: str) -> Iterator[Row]:
    """The rows that nothing will change, whatever epochs there are."""
    try:
        answer = read_answer(rt, view)
    except NotYet:
        return
    for row, by in zip(answer.rows.to_pylist(), answer.final_by.to_pylist(), strict=True):
        if not by.startswith("epoch"):
            yield row


def play(given: Input, home: Path, seed: int, policies: Sequence[str] = POLICIES) -> list[Replica]:
    """A run in which each coordinator, committer and store works when the seed says so, at each replica by itself."""
    replicas = []
    for number in range(given.study.replicas):
        replica = Replica(given, home / f"replica-{number}", random.Random(f"{seed}/{number}"), len(given.drops))
        _Player(replica, policies).play()
        replica.close()
        replicas.append(replica)
    return replicas


class _Player:
    """Draws what a replica does next."""

    def __init__(self, replica: Replica, policies: Sequence[str]) -> None:
        self.replica, self.policies = replica, policies
        self.given, self.draw = replica.given, replica.draw
        self.requests = self.draw.sample(replica.given.requests, len(replica.given.requests))
        self.taken = [0] * len(replica.given.drops)
        self.is_new = False

    def play(self) -> None:
        """Until all is done."""
        while actions := list(self._possible()):
            self.draw.choice(actions)()
        self.replica.posed = list(self.given.requests)
        self.replica.look(self.policies)

    def _possible(self) -> Iterator[Callable[[], None]]:
        rt, size = self.replica.rt, self.given.study.drops
        for coordinator, taken in enumerate(self.taken):
            epoch = current_epoch(rt, coordinator)
            if taken < min(len(self.given.drops[coordinator]), (epoch + 1) * size):
                yield lambda c=coordinator: self._deliver(c)  # type: ignore[misc]
            elif taken == (epoch + 1) * size and rt.catalog.votes.token_holder() == coordinator:
                yield lambda c=coordinator, e=epoch: vote(self.replica.rt, c, e)  # type: ignore[misc]
        epoch = rt.catalog.snapshots.newest() + 1
        if is_complete(rt, epoch):
            yield lambda e=epoch: commit(self.replica.rt, e) and None  # type: ignore[misc]
        if self.requests:
            yield self._pose
        if SEALED in self.policies and self.is_new:
            yield self._finalise

    def _deliver(self, coordinator: int) -> None:
        drop = self.given.drops[coordinator][self.taken[coordinator]]
        self.taken[coordinator] += 1
        self.replica.deliver(drop, coordinator, drop.name)
        self.is_new = True

    def _finalise(self) -> None:
        finalise(self.replica.rt)
        self.is_new = False

    def _pose(self) -> None:
        """Some more requests."""
        some = self.draw.randint(1, 2 * len(self.given.requests) // LOOKS)
        self.replica.posed += self.requests[:some]
        del self.requests[:some]
        self.replica.look(self.policies)


def play_by_arrival(given: Input, home: Path, seed: int) -> list[Replica]:
    """A run in which one sequencer decides what comes next, and all replicas follow: they process it one by one, through one coordinator."""
    order = list(_arrivals(given, random.Random(seed)))
    replicas = []
    for number in range(given.study.replicas):
        replica = Replica(given, home / f"replica-{number}", random.Random(f"{seed}/{number}"), 1)
        for place, arrived in enumerate(order):
            if isinstance(arrived, Path):
                replica.deliver(arrived, 0, f"{place:04}", seals=False)
            else:
                replica.posed += arrived
                replica.look([ARRIVAL])
        replica.close()
        replicas.append(replica)
    return replicas


def _arrivals(given: Input, draw: random.Random) -> Iterator[Path | Sequence[Request]]:
    """Each coordinator's drops in their order, and requests in any."""
    left = [list(own) for own in given.drops]
    requests = draw.sample(given.requests, len(given.requests))
    while any(left) or requests:
        place = draw.randrange(len(left) + 1)
        if place < len(left):
            yield from [left[place].pop(0)] if left[place] else []
        elif requests:
            some = draw.randint(1, 2 * len(given.requests) // LOOKS)
            yield requests[:some]
            del requests[:some]
    yield ()


def compare(runs: Sequence[Sequence[Replica]]) -> Iterator[Outcome]:
    """Whether stores differ, by view and policy."""
    for view, policy in runs[0][0].stores:
        stores = [[replica.stores[view, policy] for replica in run] for run in runs]
        yield Outcome(
            view,
            policy,
            any(store != run[0] for run in stores for store in run),
            any(run != stores[0] for run in stores),
            len(stores[0][0]),
        )


def main(study: Study, runs: int, seed: int) -> None:
    """Play and print."""
    seeds = range(seed, seed + runs)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        given = make_input(study, home / "drops")
        outcomes = [
            *compare([play(given, home / f"free-{s}", s) for s in seeds]),
            *compare([play_by_arrival(given, home / f"arriving-{s}", s) for s in seeds]),
        ]
        if study.name == "ads":
            given = make_input(study, home / "independent", independent=True)
            found = compare([play(given, home / f"independent-{s}", s, [SEALED]) for s in seeds])
            outcomes += [dataclasses.replace(outcome, policy=INDEPENDENT) for outcome in found]
    print(f"{study.name}: {runs} runs of {study.replicas} replicas")
    print(f"  {'view':<10}{'coordination':<15}{'label':<10}{'replicas':<10}{'runs':<10}answers")
    for o in sorted(outcomes, key=lambda o: list(study.asked).index(o.view)):
        ends = [f"{'differ' if differ else 'agree':<10}" for differ in (o.replicas_differ, o.runs_differ)]
        print(f"  {o.view:<10}{o.policy:<15}{study.label(o.view, o.policy):<10}{''.join(ends)}{o.answers}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="?", choices=list(STUDIES))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in [options.study] if options.study else STUDIES:
        main(STUDIES[name], options.runs, options.seed)
