"""Mutants of the protocols: small changes of their code, each of which random cases should notice, or those made by hand.

    PYTHONPATH=papers/tests python -m mutants target source --seeds 60 --processes 2

prints, for each protocol, how many were **killed** (a run raised: a state is wrong, an invariant does not hold, an actor is no function of
what it receives, there is no end), how many only **sent other messages** than the protocol itself on the same cases, and each survivor, to be judged: a
hole in the tests, or equivalent. What was judged is in :mod:`equivalent`.

Not mutated: costs (``spend``), ``about``, assertions, what is counted, and the systems' own looking (``maps``, ``watch``, ``finish``), which is
the judge and not the judged.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import signal
import sys
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cumulus_papers.kernel import Simulation
from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.run import Spec, run_case
from cumulus_papers.sweep import draw_case
from scripted import SCRIPTED

__all__ = ["Mutant", "Verdict", "edited", "judge", "modules_of", "mutants_of", "sample", "seeds_of", "unmutated"]

PACKAGE = "cumulus_papers.protocols"
#: Messages after which a mutant does not end, and seconds of processor time after which it does not even do that.
HANDLED_MAX, SECONDS_MAX = 50_000, 20.0
#: Reports that the judge hears; all others are for counting.
JUDGED = ("Stamped", "Committed")
#: Seeds that are tried first, as their cases have what is rare: commit points within an epoch, corrections held back longer further down,
#: nodes that are ready with half of a timestamp's messages.
TELLING: Mapping[str, tuple[int, ...]] = {"optimistic": (14, 77, 130, 287, 29, 300, 115, 176)}
UNTOUCHED = ("about", "maps", "watch", "finish", "waiting", "stale")


# --- modules, and specs of changed ones ------------------------------------------------------------------------------


@cache
def source_of(module: str) -> str:
    """A module's text."""
    return Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8")


def modules_of(spec: Spec) -> list[str]:
    """The modules of a protocol, what is imported before what imports it."""
    found: list[str] = []

    def visit(module: str) -> None:
        if module in found or module not in sys.modules or not module.startswith(PACKAGE + "."):
            return
        for statement in ast.parse(source_of(module)).body:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                visit(statement.module)
                for name in statement.names:
                    visit(f"{statement.module}.{name.name}")
        found.append(module)

    visit(_home(spec))
    return found


def _home(spec: Spec) -> str:
    """Where the spec stands: the module, or a package, of its build function."""
    module = spec.build.__module__
    while not any(value is spec for value in vars(sys.modules[module]).values()):
        module = module.rpartition(".")[0]
    return module


def changed(spec: Spec, module: str, tree: ast.Module) -> Spec:
    """The protocol with one of its modules changed; all others stay as they are for everybody else."""
    modules, home, kept = modules_of(spec), _home(spec), dict(sys.modules)
    try:
        for name in modules:
            fresh = types.ModuleType(name)
            fresh.__file__ = sys.modules[name].__file__
            if hasattr(kept[name], "__path__"):
                fresh.__path__ = kept[name].__path__
            sys.modules[name] = fresh
            text = tree if name == module else ast.parse(source_of(name))
            exec(compile(text, name, "exec"), vars(fresh))
        specs = [v for v in vars(sys.modules[home]).values() if isinstance(v, Spec) and v.name == spec.name]
    finally:
        sys.modules.update(kept)
    return specs[0]


def edited(spec: Spec, old: str, new: str) -> Spec:
    """The protocol with a text in one of its modules replaced: for planting a bug.

    Raises:
        LookupError: the text is not there, or more than once.
    """
    places = [(name, text) for name in modules_of(spec) if old in (text := source_of(name))]
    if [text.count(old) for _, text in places] != [1]:
        raise LookupError(f"{old!r} is not once in {', '.join(modules_of(spec))}")
    ((name, text),) = places
    return changed(spec, name, ast.parse(text.replace(old, new)))


# --- mutants ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """One change of one place: number ``place`` of the places of a module, changed in way number ``way``."""

    protocol: str
    module: str
    place: int
    way: int
    line: int
    function: str
    what: str

    def __str__(self) -> str:
        return f"{_stem(self.module)}:{self.line} {self.function}: {self.what}"

    @property
    def name(self) -> str:
        """What it is, without the line's number."""
        return f"{_stem(self.module)} {self.function}: {self.what}"

    def spec(self) -> Spec:
        """The protocol with this change."""
        tree = ast.parse(source_of(self.module))
        place = list(_places(tree))[self.place]
        place.replace(_ways(place.node)[self.way])
        return changed(PROTOCOLS[self.protocol], self.module, ast.fix_missing_locations(tree))


def _stem(module: str) -> str:
    return module.removeprefix(PACKAGE + ".").removeprefix("cumulus_papers.")


@dataclass
class _Place:
    """A node of a tree, and where it hangs."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    function: str

    def replace(self, new: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index] = new


def _places(tree: ast.AST, function: str = "") -> Iterator[_Place]:
    """All nodes of functions that may be changed."""
    for name, value in ast.iter_fields(tree):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if (
                not isinstance(child, ast.AST)
                or _left_alone(child)
                or name in ("annotation", "returns", "decorator_list")
            ):
                continue
            if function and not _docstring(child):
                yield _Place(child, tree, name, index, function)
            inside = function
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inside = f"{function}.{child.name}".strip(".") if isinstance(child, ast.FunctionDef) else child.name
                if isinstance(child, ast.ClassDef):
                    yield from (p for p in _places(child, inside) if "." in p.function)
                    continue
            yield from _places(child, inside)


def _docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr)):
        return True
    if isinstance(node, ast.FunctionDef):
        return node.name in UNTOUCHED or any("abstract" in ast.unparse(d) for d in node.decorator_list)
    if isinstance(node, ast.ClassDef):
        return {"watch", "finish"} <= {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    return isinstance(node, ast.Expr) and _for_counting(node.value)


def _for_counting(call: ast.AST) -> bool:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "spend":
        inside = [n for n in ast.walk(call) if isinstance(n, ast.Call) and n is not call]
        return all(isinstance(n.func, ast.Name) and n.func.id in ("len", "max", "min", "sum") for n in inside)
    return call.func.attr == "report" and not any(name in ast.unparse(call) for name in JUDGED)


_COMPARED: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
_OPPOSITE = {"min": "max", "max": "min", "any": "all", "all": "any"}


def _ways(node: ast.AST) -> list[ast.AST]:
    """What a node may become."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return [ast.Compare(node.left, [op()], node.comparators) for op in _COMPARED[type(node.ops[0])]]
    if isinstance(node, ast.BoolOp):
        return [ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values), *node.values]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return [ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)]
    if isinstance(node, ast.Constant):
        return [ast.Constant(value) for value in _other_constants(node.value)]
    if isinstance(node, ast.Name) and node.id in _OPPOSITE:
        return [ast.Name(_OPPOSITE[node.id], node.ctx)]
    if isinstance(node, (ast.If, ast.While, ast.IfExp)) and not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
        turned = copy.copy(node)
        turned.test = ast.UnaryOp(ast.Not(), node.test)
        return [turned]
    return [ast.Pass()] if _deletable(node) else []


def _other_constants(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    return (value + 1, value - 1) if isinstance(value, int) else ()


def _deletable(node: ast.AST) -> bool:
    """Statements whose effect is not a name of their own function."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return isinstance(node, ast.AugAssign) or not all(isinstance(t, ast.Name) for t in targets)
    return isinstance(node, (ast.Expr, ast.Delete, ast.Continue, ast.Break)) or (
        isinstance(node, ast.Return) and node.value is None
    )


def mutants_of(spec: Spec) -> Iterator[Mutant]:
    """All mutants of a protocol's modules."""
    for module in (m for m in modules_of(spec) if not m.endswith(".system")):
        for number, place in enumerate(_places(ast.parse(source_of(module)))):
            for way, new in enumerate(_ways(place.node)):
                before, after = (_short(node) for node in (place.node, new))
                line = getattr(place.node, "lineno", 0)
                yield Mutant(spec.name, module, number, way, line, place.function, f"{before}  =>  {after}")


def _short(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node)).split("\n")
    return text[0] + (" ..." if len(text) > 1 else "")


def sample(spec: Spec, count: int, seed: int = 0) -> list[Mutant]:
    """Some of a protocol's mutants."""
    found = list(mutants_of(spec))
    return random.Random(seed).sample(found, min(count, len(found)))


# --- judging ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant. ``killed``: how, or None. ``seeds``: how many it took; none, where a case made by hand did it. ``told``: it sent other messages."""

    mutant: Mutant
    killed: str | None
    seeds: int
    told: bool = False


class TooLong(Exception):
    """A mutant that does not end without sending messages."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Interrupted after some processor time."""

    def too_long(*_: object) -> None:
        raise TooLong(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _messages(spec: Spec, seed: int, of: Spec) -> Counter[str]:
    case = draw_case(seed, of)
    simulation = Simulation(seed, case.costs, case.disorder, record=False, handled_max=HANDLED_MAX)
    outcome = run_case(case, spec, simulation=simulation)
    return outcome.messages + outcome.local


@cache
def unmutated(protocol: str, seed: int) -> Counter[str]:
    """How many messages of each kind the protocol itself sends."""
    return _messages(PROTOCOLS[protocol], seed, PROTOCOLS[protocol])


def judge(mutant: Mutant, seeds: Sequence[int]) -> Verdict:
    """Run a mutant until it is noticed: random cases first, then those made by hand (:mod:`scripted`)."""
    return _judge(mutant, mutant.spec, seeds)


def _judge(mutant: Mutant, spec_of: Callable[[], Spec], seeds: Sequence[int]) -> Verdict:
    told, spec = False, None
    for count, seed in enumerate(seeds, 1):
        expected = unmutated(mutant.protocol, seed)
        try:
            with _limited(SECONDS_MAX):
                spec = spec or spec_of()
                told |= _messages(spec, seed, PROTOCOLS[mutant.protocol]) != expected
        except Exception as error:  # whatever a mutant does wrong
            return Verdict(mutant, f"{type(error).__name__}: {error}"[:200], count, told)
    for check in SCRIPTED.get(mutant.protocol, ()):
        try:
            with _limited(SECONDS_MAX):
                check(spec or spec_of())
        except Exception as error:
            return Verdict(mutant, f"{check.__name__}: {type(error).__name__}: {error}"[:200], 0, told)
    return Verdict(mutant, None, len(seeds), told)


def seeds_of(protocol: str, count: int) -> list[int]:
    """So many seeds, those first that tell much."""
    telling = TELLING.get(protocol, ())
    return [*telling, *(seed for seed in range(count) if seed not in telling)][:count]


def _judge_of(task: tuple[Mutant, Sequence[int]]) -> Verdict:
    return judge(*task)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description="mutants of the simulator's protocols")
    parser.add_argument("protocols", nargs="*", default=list(PROTOCOLS))
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--count", type=int, help="a sample of so many, instead of all")
    parser.add_argument("--module", default="", help="of modules whose names end so only")
    options = parser.parse_args()
    from equivalent import EQUIVALENT

    for protocol in options.protocols:
        spec = PROTOCOLS[protocol]
        wanted = sample(spec, options.count) if options.count else list(mutants_of(spec))
        wanted = [m for m in wanted if m.module.endswith(options.module)]
        verdicts = []
        with ProcessPoolExecutor(options.processes) as pool:
            for verdict in pool.map(_judge_of, [(m, seeds_of(protocol, options.seeds)) for m in wanted]):
                verdicts.append(verdict)
                if not verdict.killed and verdict.mutant.name not in EQUIVALENT:
                    print(f"  {'told  ' if verdict.told else 'SILENT'} {verdict.mutant}", flush=True)
        print(describe(protocol, verdicts, set(EQUIVALENT)), flush=True)


def describe(protocol: str, verdicts: Sequence[Verdict], equivalent: Collection[str]) -> str:
    """How many mutants of a protocol were killed, and by how many seeds."""
    equal = [v for v in verdicts if v.mutant.name in equivalent and not v.killed]
    judged = [v for v in verdicts if v.mutant.name not in equivalent or v.killed]
    killed = [v for v in judged if v.killed]
    told = sum(v.told for v in judged if not v.killed)
    seeds = dict(sorted(Counter(v.seeds for v in killed).items()))
    return (
        f"{protocol}: {len(verdicts)} mutants, {len(equal)} equivalent; of the others {len(killed)} killed"
        f" ({len(killed) / max(1, len(judged)):.1%}), {told} only sent other messages; seeds that it took: {seeds}"
    )


if __name__ == "__main__":
    main()
