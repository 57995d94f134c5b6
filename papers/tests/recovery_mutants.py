"""Mutants of recovery by tree clocks, and bugs planted by hand: small changes of :mod:`m3.recovery`, each of which its tests should notice.

    PYTHONPATH=papers/tests python -m recovery_mutants --seeds 40 --processes 2

judges all of them and prints, for each module, how many unit tests killed, and how many of the others histories did, and each survivor that is not known
to be equivalent (:mod:`recovery_equivalent` has those, each with the reason). The changes are those of :mod:`mutants`.

Each is judged in a process of its own, which forgets the package and all that uses it, and imports them again, one module changed. It is
tried by what takes milliseconds first, and up to the first that notices: the thesis's examples, clocks, logs, tables against brute
force; then recoveries at random, whose judge is that of ``cumulus_papers.recovery``.
"""

from __future__ import annotations

import argparse
import ast
import doctest
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import sys
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants import _places, _ways
from recovery_equivalent import EQUIVALENT

__all__ = ["MODULES", "PLANTED", "Bug", "Planted", "judge", "mutants_of"]

PACKAGE = "m3.recovery"
MODULES = ("graph", "clock", "logs", "messages", "table", "controller", "hosting", "sending", "replaying", "node")
#: What is imported again with a changed module; all other modules stay as they are.
AGAIN = (PACKAGE, "cumulus_papers.recovery", "tests.support.recoveries", "tests.unit.m3.test_recovery")
SECONDS_MAX = 20
#: What nodes compute in histories, by turns; of what keeps nothing there may be all in between, but not at the end.
KINDS = (
    ("router", "sharder", "sequence", "sum"),
    ("router", "sequence"),
    ("sharder", "sum"),
    ("sequence",),
    ("sharder", "router", "sequence"),
)
#: Cases of tests that Hypothesis draws cases for.
DRAWN = 25
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Planted:
    """A text of a module that is replaced."""

    name: str
    module: str
    old: str
    new: str

    def tree(self) -> ast.Module:
        """The module with the bug.

        Raises:
            LookupError: the text is not there, or more than once.
        """
        text = _source(self.module)
        if text.count(self.old) != 1:
            raise LookupError(f"{self.old!r} is {text.count(self.old)} times in {self.module}")
        return ast.parse(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Bug:
    """A generated change: number ``place`` of the places of a module, changed in way number ``way``. ``name`` has no line, but a
    number where a function has several such changes."""

    module: str
    place: int
    way: int
    line: int
    name: str

    def tree(self) -> ast.Module:
        """The module with the change."""
        tree = ast.parse(_source(self.module))
        place = list(_places(tree))[self.place]
        place.replace(_ways(place.node)[self.way])
        return ast.fix_missing_locations(tree)


def _source(module: str) -> str:
    return (ROOT / "m3" / "recovery" / f"{module}.py").read_text(encoding="utf-8")


def mutants_of(module: str) -> Iterator[Bug]:
    """All generated changes of a module."""
    names: Counter[str] = Counter()
    for number, place in enumerate(_places(ast.parse(_source(module)))):
        for way, new in enumerate(_ways(place.node)):
            before, after = (ast.unparse(ast.fix_missing_locations(node)).split("\n")[0] for node in (place.node, new))
            name = f"{module} {place.function}: {before}  =>  {after}"
            names[name] += 1
            again = f" #{names[name]}" if names[name] > 1 else ""
            yield Bug(module, number, way, getattr(place.node, "lineno", 0), name + again)


# --- judging ---------------------------------------------------------------------------------------------------------


def judge(bug: Bug | Planted | None, seeds: Sequence[int], tolerances: Sequence[int] = (1, 2, 3)) -> str:
    """How a change is noticed; empty if it is not."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        os.close(reader)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - doctest tells at length what fails
        limit = SECONDS_MAX + len(seeds) * len(tolerances) // 4  # of processor time
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        try:
            os.write(writer, _judge_here(bug, seeds, tolerances).encode()[:500])
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        said = answer.read()
    _, status = os.waitpid(child, 0)
    return "does not end" if os.WIFSIGNALED(status) else said


def _judge_here(bug: Bug | Planted | None, seeds: Sequence[int], tolerances: Sequence[int]) -> str:
    try:
        _plant(bug)
        for check in (_examples, _parts):
            check()
        recoveries = importlib.import_module("tests.support.recoveries")
        for seed in seeds:
            kinds = KINDS[seed % len(KINDS)]
            worlds = [(recoveries.draw_world(seed, t, kinds), 4, t) for t in tolerances]
            worlds += [(recoveries.draw_diamond(seed, kind, kinds[-1]), 30, 1) for kind in kinds[:2]]
            for world, failures, most in worlds:
                world.run(200, failures=failures, most=most)
                world.judge()
                world.judge_logs()
    except BaseException as noticed:  # pytest.fail, too, which is no Exception
        return f"{type(noticed).__name__}: {noticed}"
    return ""


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, and makes it of another text."""

    def __init__(self, bug: Bug | Planted) -> None:
        self.name, self.path = f"{PACKAGE}.{bug.module}", str(ROOT / "m3" / "recovery" / f"{bug.module}.py")
        self.code = compile(bug.tree(), self.path, "exec")

    def find_spec(self, fullname: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Of the one module."""
        return importlib.util.spec_from_loader(fullname, self, origin=self.path) if fullname == self.name else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the other text."""
        exec(self.code, vars(module))


def _plant(bug: Bug | Planted | None) -> None:
    """From here on, what is imported has the change."""
    for name in [name for name in sys.modules if name.startswith(AGAIN)]:
        del sys.modules[name]
    if bug:
        sys.meta_path.insert(0, _Changed(bug))


def _examples() -> None:
    _call_all(importlib.import_module("tests.unit.m3.test_recovery_examples"))
    for module in MODULES:
        failed, _ = doctest.testmod(importlib.import_module(f"{PACKAGE}.{module}"), report=False)
        assert not failed, f"an example of {module}"


def _parts() -> None:
    for tests in ("nodes", "restarts", "parts"):  # the last takes a hundred times as long as the others
        _call_all(importlib.import_module(f"tests.unit.m3.test_recovery_{tests}"))


def _call_all(tests: types.ModuleType) -> None:
    """Each test: as it is, with what its marks say, or, where Hypothesis draws a seed for it, with the first seeds."""
    for name, test in list(vars(tests).items()):
        if not name.startswith("test_"):
            continue
        marked = [mark.args for mark in getattr(test, "pytestmark", [])]
        drawn = getattr(test, "hypothesis", None)
        if drawn:
            for seed in range(DRAWN):
                drawn.inner_test(seed)
        elif marked:
            for names, values in marked:
                for value in values:
                    test(value) if isinstance(names, str) else test(*value)
        else:
            test()


#: Bugs of the kinds that people make here.
PLANTED = (
    Planted("T* is of what the first child has, not of the least", "controller", "at = min(report.has.time for", "at = max(report.has.time for"),
    Planted("a clock takes the later message, not the greater time", "clock", "time = max(self.time, diff.time)", "time = diff.time"),
    Planted("a node that only seemed dead is still heard", "node", "if message.lives != (self.lives[message.source], self.life):", "if False:"),
    Planted("parents go on sending to a node that failed", "sending", "if to.held:\n            return []", "if False:\n            return []"),
    Planted("a parent resumes one message too late", "sending", "to.held, to.sent = False, order.after", "to.held, to.sent = False, order.after + 1"),
    Planted("a parent resumes one message too early", "sending", "to.held, to.sent = False, order.after", "to.held, to.sent = False, max(0, order.after - 1)"),
    Planted("a parent resumes at the beginning", "sending", "to.held, to.sent = False, order.after", "to.held, to.sent = False, 0"),
    Planted("a restarted node sends all again", "node", "to.has, to.sent = report.has, report.has.time", "to.has, to.sent = report.has, 0"),
    Planted("the last column is not replayed", "node", "range(first, replay.last + 1)", "range(first, replay.last)"),
    Planted("inputs are processed as they come, and not by the table", "replaying", "return come.issuperset(self.known.values())", "return True"),
    Planted("of inputs that were seen, each takes the next time", "node", "known = {diff.time: diff.origin for diff in targets if diff.origin}", "known = {}"),
    Planted("messages of a node with state tell of themselves only", "sending", "self.complete = tolerance > 1 or operator.stateful or operator.commutes", "self.complete = False"),
    Planted("what parents did is not passed on", "sending", "self.carries = ancestors(flow, name, tolerance - 1)", "self.carries = frozenset()"),
    Planted("a restarted child is not told what it had heard", "sending", "return [self.knowledge(order.child, replaying=replaying), *self.send(order.child)]", "return self.send(order.child)"),
    Planted("payloads are dropped once they are received", "node", "told.append(Stable(self.name, parent, (self.life, self.lives[parent]), time))", "told.append(Stable(self.name, parent, (self.life, self.lives[parent]), self.seen[parent].time))"),
    Planted("diffs are cut off one too far", "sending", "self.diffs.truncate(node, time)", "self.diffs.truncate(node, time + 1)"),
    Planted("a log is cut off one too far", "logs", "enumerate(self.outputs[: self._end(time)])", "enumerate(self.outputs[: self._end(time + 1)])"),
    Planted("a log is read from the time itself", "logs", "self.outputs[self._end(time) :]", "self.outputs[self._end(time - 1) :]"),
    Planted("rows are not monotone", "table", "        low += 1\n", ""),
    Planted("markers are not looked at", "table", "max([low, *(table.markers.get(child, low) for child in entry.children)])", "low"),
    Planted("targets are not exempt from markers", "table", "        if target is None:\n            low", "        if True:\n            low"),
    Planted("inputs without a bound are placed", "table", "if bound.high is not None or not hold", ""),
    Planted("bounds are not pushed through the rows", "table", "high = None if high is None else high - 1", "pass"),
    Planted("the latest deadline comes first", "table", "in sorted(fitting)", "in sorted(fitting, reverse=True)"),
    Planted("a marker is where a child's last message is", "replaying", "report.observed + 1", "report.observed"),
    Planted("a node is started while its child is lost", "controller", "if any(child in self.lost for child in children):", "if False:"),
    Planted("what a lost child had said is believed", "controller", "                reports.pop(node, None)", "                pass"),
    Planted("a former life's answer is believed", "controller", "report.own_life != self.lives[report.node]", "False"),
    Planted("more are lost than is tolerated", "controller", "if len(chain) > self.tolerance:", "if len(chain) > self.tolerance + 1:"),
)  # fmt: skip


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--again", type=int, default=100, help="seeds by which those that are left are judged again")
    parser.add_argument("--every", type=int, default=1, help="each so many-th mutant")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="judge those that are known to be equivalent, too")
    asked = parser.parse_args()
    _examples(), _parts()  # so that what is expensive to import is there before the first fork
    if wrong := judge(None, range(3)):
        raise SystemExit(f"without any change: {wrong}")
    print("| module | mutants | killed by unit tests | by histories | explained | left |")
    print("|---|---|---|---|---|---|", flush=True)
    with ThreadPoolExecutor(asked.processes) as pool:  # of threads that wait for processes
        for module in asked.modules:
            bugs = list(mutants_of(module))[:: asked.every]
            tried = [bug for bug in bugs if asked.all or bug.name not in EQUIVALENT]
            noticed = list(pool.map(lambda bug: _noticed_by(bug, asked.seeds, asked.again), tried))
            found = Counter(noticed)
            explained = (
                len(bugs)
                - len(tried)
                + sum(not by for bug, by in zip(tried, noticed, strict=True) if bug.name in EQUIVALENT)
            )
            left = [bug for bug, by in zip(tried, noticed, strict=True) if not by and bug.name not in EQUIVALENT]
            print(
                f"| `{module}` | {len(bugs)} | {found['unit tests']} | {found['histories']} | {explained} | {len(left)} |",
                flush=True,
            )
            for bug, by in zip(tried, noticed, strict=True):
                if by and bug.name in EQUIVALENT:
                    print(f"  {bug.line}  {bug.name} is not equivalent: {by} notice", flush=True)
            for bug in left:
                print(f"  {bug.line}  {bug.name}", flush=True)


def _noticed_by(bug: Bug, seeds: int, again: int) -> str:
    """Who notices a change; nobody, if empty."""
    if judge(bug, ()):
        return "unit tests"
    return "histories" if judge(bug, range(seeds)) or judge(bug, range(1_000, 1_000 + again)) else ""


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    _main()
