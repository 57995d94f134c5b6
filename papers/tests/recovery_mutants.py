"""Mutants of recovery by tree clocks, and bugs planted by hand: small changes of :mod:`m3.recovery`, each of which its tests should notice.

    PYTHONPATH=papers/tests python -m recovery_mutants table node --seeds 60

prints how many were killed, and each survivor, to be judged. The changes are those of :mod:`mutants`. Each is judged in a process of its own, by
the thesis's examples, tables against brute force, clocks and logs, and recoveries at random.
"""

from __future__ import annotations

import argparse
import ast
import doctest
import importlib
import os
import random
import resource
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants import _places, _ways

__all__ = ["PLANTED", "Bug", "Planted", "judge", "mutants_of"]

PACKAGE = "m3.recovery"
MODULES = ("graph", "clock", "logs", "messages", "table", "controller", "node")
JUDGES = ("tests.support.recoveries", "tests.unit.m3.test_recovery_examples", "tests.unit.m3.test_recovery_parts")
SECONDS_MAX = 40
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
    """A generated change: number ``place`` of the places of a module, changed in way number ``way``."""

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
    for number, place in enumerate(_places(ast.parse(_source(module)))):
        for way, new in enumerate(_ways(place.node)):
            before, after = (ast.unparse(ast.fix_missing_locations(node)).split("\n")[0] for node in (place.node, new))
            yield Bug(
                module,
                number,
                way,
                getattr(place.node, "lineno", 0),
                f"{module} {place.function}: {before}  =>  {after}",
            )


def judge(bug: Bug | Planted | None, seeds: Sequence[int], tolerances: Sequence[int] = (1, 2, 3)) -> str:
    """How a change is noticed; empty if it is not. In a process of its own, for a changed module does not go away, and may not end."""
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
        _load(bug)
        for check in (_examples, _parts, _tables):
            check()
        recoveries = importlib.import_module("tests.support.recoveries")
        for seed in seeds:
            for tolerance in tolerances:
                world = recoveries.draw_world(seed, tolerance)
                world.run(200, failures=4, most=tolerance)
                world.judge()
                world.judge_logs()
    except BaseException as noticed:  # pytest.fail, too, which is no Exception
        return f"{type(noticed).__name__}: {noticed}"
    return ""


def _load(bug: Bug | Planted | None) -> None:
    """Put the package together again, with the change, and what judges it."""
    for name in [*JUDGES, *(f"{PACKAGE}.{m}" for m in MODULES)]:
        sys.modules.pop(name, None)
    for module in MODULES:
        if bug and bug.module == module:
            fresh = types.ModuleType(f"{PACKAGE}.{module}")
            fresh.__file__ = str(ROOT / "m3" / "recovery" / f"{module}.py")
            sys.modules[fresh.__name__] = fresh
            setattr(sys.modules[PACKAGE], module, fresh)
            exec(compile(bug.tree(), fresh.__file__, "exec"), vars(fresh))
        else:
            importlib.import_module(f"{PACKAGE}.{module}")


def _examples() -> None:
    for module in MODULES:
        failed, _ = doctest.testmod(sys.modules[f"{PACKAGE}.{module}"], report=False)
        assert not failed, f"an example of {module}"
    examples = importlib.import_module("tests.unit.m3.test_recovery_examples")
    _call_all(examples)


def _parts() -> None:
    _call_all(importlib.import_module("tests.unit.m3.test_recovery_parts"))


def _call_all(tests: types.ModuleType) -> None:
    """Each test that takes nothing, or what its marks say."""
    for name, test in list(vars(tests).items()):
        if not name.startswith("test_") or hasattr(test, "hypothesis") or name == "test_segments_send_to_segments":
            continue
        cases: list[Callable[[], None]] = [test]
        for mark in getattr(test, "pytestmark", []):
            cases = [lambda v=value, t=test: t(v) for value in mark.args[1]]  # type: ignore[misc]
        for case in cases:
            case()


def _tables() -> None:
    parts = importlib.import_module("tests.unit.m3.test_recovery_parts")
    for seed in range(60):
        table = parts.draw_table(random.Random(seed))
        for hold in (True, False):
            parts.compare_with_brute_force(table, hold)
        parts.compare_in_order(table)
        parts.find_without_going_back(table)


#: Bugs of the kinds that people make here.
PLANTED = (
    Planted("T* is of what the first child has, not of the least", "controller", "at = min((report.has.time for", "at = max((report.has.time for"),
    Planted("a clock takes the later message, not the greater time", "clock", "time = max(self.time, diff.time)", "time = diff.time"),
    Planted("a node that only seemed dead is still heard", "node", "if message.lives != (self.lives[message.source], self.life):", "if False:"),
    Planted("parents go on sending to a node that failed", "node", "if child in self.held:\n            return []", "if False:\n            return []"),
    Planted("a parent resumes one message too late", "node", "self.sent[child] = order.after", "self.sent[child] = order.after + 1"),
    Planted("a parent resumes one message too early", "node", "self.sent[child] = order.after", "self.sent[child] = max(0, order.after - 1)"),
    Planted("a restarted node sends all again", "node", "node.sent[report.node] = report.has.time", "node.sent[report.node] = 0"),
    Planted("the last column is not replayed", "node", "range(self.clock.time + 1, replay.last + 1)", "range(self.clock.time + 1, replay.last)"),
    Planted("inputs are processed as they come, and not by the table", "node", "return come.issuperset(replay.known.values())", "return True"),
    Planted("of inputs that were seen, each takes the next time", "node", "known = {diff.time: diff.origin for diff in targets if diff.origin}", "known = {}"),
    Planted("messages of a node with state tell of themselves only", "node", "self.complete = tolerance > 1 or (operator.stateful and not operator.commutes)", "self.complete = False"),
    Planted("what parents did is not passed on", "node", "self.carries = ancestors(flow, name, tolerance - 1)", "self.carries = frozenset()"),
    Planted("a restarted child is not told what it had heard", "node", "return [self._knowledge(child), *self._send(child)]", "return self._send(child)"),
    Planted("payloads are dropped once they are received", "node", "told.append(Stable(self.name, parent, (self.life, self.lives[parent]), time))", "told.append(Stable(self.name, parent, (self.life, self.lives[parent]), self.seen[parent].time))"),
    Planted("diffs are cut off one too far", "node", "self.diffs.truncate(node, time)", "self.diffs.truncate(node, time + 1)"),
    Planted("a log is cut off one too far", "logs", "end = bisect_right(self.outputs, time, key=lambda o: o.time)\n        dropped", "end = bisect_right(self.outputs, time + 1, key=lambda o: o.time)\n        dropped"),
    Planted("a log is read from the time itself", "logs", "self.outputs[bisect_right(self.outputs, time, key=lambda o: o.time) :]", "self.outputs[bisect_right(self.outputs, time - 1, key=lambda o: o.time) :]"),
    Planted("rows are not monotone", "table", "            low += 1\n", ""),
    Planted("markers are not looked at", "table", "max(low, *(table.markers.get(c, 0) for c in entry.children), 0)", "low"),
    Planted("targets are not exempt from markers", "table", "if target is None\n                else target", "if True\n                else target"),
    Planted("inputs without a bound are placed", "table", "if (bound := known[entry.origin]).high is not None or not hold", "if (bound := known[entry.origin])"),
    Planted("a node is started while its child is lost", "controller", "if any(child in self.lost for child in children):", "if False:"),
    Planted("what a lost child had said is believed", "controller", "                reports.pop(node, None)", "                pass"),
    Planted("a former life's answer is believed", "controller", "report.node in self.lost or report.own_life != self.lives[report.node]", "False"),
    Planted("more are lost than is tolerated", "controller", "if len(chain) > self.tolerance:", "if len(chain) > self.tolerance + 1:"),
)  # fmt: skip


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=["table", "clock", "logs", "controller", "node"])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--again", type=int, default=100, help="seeds by which those that are left are judged again")
    parser.add_argument("--every", type=int, default=1, help="each so many-th mutant")
    asked = parser.parse_args()
    for module in asked.modules:
        bugs = list(mutants_of(module))[:: asked.every]
        left = 0
        for number, bug in enumerate(bugs, start=1):
            if not (judge(bug, range(asked.seeds)) or judge(bug, range(1_000, 1_000 + asked.again))):
                left += 1
                print(f"  {number}: line {bug.line}  {bug.name}", flush=True)
        print(f"{module}: {len(bugs) - left} of {len(bugs)} killed", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    _main()
