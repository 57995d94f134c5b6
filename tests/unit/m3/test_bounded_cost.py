"""What an expression costs is bounded by what it is given: no function makes gigabytes of a small row, nor looks at it for minutes.

Each function is given inputs that grow, of several hostile kinds, by the interpreter and by the engine, in a process that may use
little memory and that is ended when it computes for long. How much CPU time is used is compared between sizes, not between machines.
"""

from __future__ import annotations

import datetime
import itertools
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from decimal import Decimal

import pyarrow as pa
import pytest

from cumulus_ops.project.errors import InputProblem
from cumulus_ops.regexes import search
from cumulus_ops.validation.comparison import _shorten_pair
from cumulus_ops.validation.meaning.exact import FUNCTIONS as PROVING
from cumulus_ops.validation.meaning.texts import _like_regex
from m3 import CompileError, Interpreter, compile_views
from m3.datatypes import INT, LONGEST_PATTERN, LONGEST_TEXT, STRING
from m3.dictionary import FUNCTIONS
from m3.errors import LONGEST_MESSAGE, M3Error, ProgramError, ValueProblem
from m3.evaluate import evaluate
from m3.functions import KERNELS, safe_regex
from m3.functions.texts import like, like_regex
from m3.program import Column, Relation
from m3.scalars import Var, call, const

D = Decimal
by_bits = PROVING["like"]
#: Texts, from short to long: what is repeated, what is almost found, what is nested, and numbers beyond numbers.
TEXTS = [
    lambda n: "a" * n,
    lambda n: "a" * (n - 1) + "b",
    lambda n: "%a_" * (n // 3),
    lambda n: "%" * n,
    lambda n: "[" * (n // 2) + "]" * (n // 2),
    lambda n: '{"a":' * (n // 10) + "1" + "}" * (n // 10),
    lambda n: "(a+)+" * (n // 5),
    lambda n: "9" * n,
    lambda n: f"1e{'9' * min(n, 12)}",
    lambda n: "ß" * n,
    lambda n: "",
]
INTS = [0, -1, 3, 2**20, 2**31, 2**63 - 1, -(2**63)]
MOMENTS = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.datetime(2024, 2, 29, 23, 59, 59, 999999)]
NUMBERS = [D(10) ** 37, D("-0.01"), D(0), *INTS]
DOUBLES = [1e308, -5e-324, 0.0, float("inf"), float("nan")]
VALUES = {"int": INTS, "bool": [True], "date": MOMENTS[:2], "number": NUMBERS, "numeric": NUMBERS, "double": DOUBLES, "moment": MOMENTS, "timestamp": MOMENTS[2:]}  # fmt: skip
SMALL, LARGE = 1_000, 16_000
#: Combinations of each function.
TRIED = int(os.environ.get("COSTS", "5"))
#: So many bytes a process may add, and so many seconds compute, whatever it is given.
MEMORY, SECONDS = 2 * 2**30, 120


def given(name: str, size: int, rng: random.Random) -> list[list[object]]:
    """Some of the combinations of hostile arguments of a function, the same for each size."""
    function = FUNCTIONS[name]
    least, most = function.arity
    count = min(most, least + 2)
    kinds = [function.parameter(i) for i in range(count)]
    texts = [make(size) for make in TEXTS]
    pools = [texts if k in ("string", "any") else VALUES[k] for k in kinds]
    every = itertools.product(*(range(len(p)) for p in pools))
    chosen = list(itertools.islice(every, 5_000))
    rng.shuffle(chosen)
    return [[p[i] for p, i in zip(pools, places, strict=True)] for places in chosen[:TRIED]]


def as_scalar(value: object) -> object:
    return const(value) if not (isinstance(value, float) and value - value != 0) else const(1e300)


def computed(name: str, args: list[object]) -> int:
    """The size of a result; far too much if the text of an error has no end."""
    scalars = [as_scalar(a) for a in args]
    try:
        node = call(name, *scalars)
        value = evaluate(node, {})
    except M3Error as error:
        return max(0, len(str(error)) - 2 * LONGEST_MESSAGE) * LONGEST_TEXT
    except ArithmeticError:
        return 0
    return len(str(value))


def by_engine(name: str, args: list[object]) -> int:
    """The same over a column, whose first argument varies."""
    from cumulus_ops.compute.vector import Frame
    from cumulus_ops.compute.vector import evaluate as evaluate_columns

    scalars = [as_scalar(a) for a in args]
    varying = isinstance(args[0], str) if args else False
    if not varying:
        return 0
    try:
        node = call(name, Var("x", STRING), *scalars[1:])
        return evaluate_columns(node, Frame({"x": pa.array([args[0], "a"])}, 2)).nbytes // 4
    except (M3Error, InputProblem) as error:
        return max(0, len(str(error)) - 2 * LONGEST_MESSAGE) * LONGEST_TEXT
    except ArithmeticError:
        return 0


def most_expensive(name: str) -> None:
    """What a process of its own does: all combinations, small and large, and how the CPU time grows."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    for compute in (computed, by_engine):
        spent = []
        for size in (SMALL, LARGE):
            cases = given(name, size, random.Random(name))
            begun = time.process_time()
            sizes = [compute(name, args) for args in cases]
            spent.append(time.process_time() - begun)
            longest = [sum(len(a) for a in args if isinstance(a, str)) for args in cases]
            for size_, length, args in zip(sizes, longest, cases, strict=True):
                assert size_ <= max(LONGEST_TEXT, 4 * length) + 400, (name, size_, [str(a)[:30] for a in args])
        print(json.dumps([name, compute.__name__, *(round(s, 3) for s in spent)]))


def test_no_function_makes_much_of_little() -> None:
    """Where the inputs are 16 times as long, no function takes 16 squared times as long; memory is limited."""
    code = (
        "import resource; import pyarrow.compute, pandas; from tests.unit.m3 import test_bounded_cost as t\n"
        "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (now + t.MEMORY, now + t.MEMORY))\n"
        "for name in sorted(t.FUNCTIONS): t.most_expensive(name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, (done.stdout[-400:], done.stderr[-3000:])
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert {name for name, *_ in found} == set(KERNELS)
    slow = [(name, how, small, large) for name, how, small, large in found if large > 0.3 and large > 100 * small]
    assert not slow


def test_like_means_what_its_regular_expression_does() -> None:
    rng, compared = random.Random(1), 0
    for _ in range(10_000):
        text = "".join(rng.choices("ab%\n", k=rng.randint(0, 7)))
        pattern, escape = "".join(rng.choices("ab%_%_!", k=rng.randint(0, 6))), rng.choice(["", "!"])
        try:
            found = like(text, pattern, escape)
        except ValueProblem:
            continue
        assert found == (re.fullmatch(like_regex(pattern, escape), text, re.DOTALL) is not None), (text, pattern)
        assert found == by_bits(STRING, text, pattern, escape)
        java = re.sub(r"\\x\{(\w+)\}", lambda m: re.escape(chr(int(m[1], 16))), _like_regex(pattern, escape))
        assert found == (re.search(java.replace("\\z", "\\Z"), text) is not None)
        compared += 1
    assert compared > 5_000


def test_portable_regular_expressions_mean_the_same_in_re2() -> None:
    rng, compared = random.Random(2), 0
    parts = [
        "a",
        "b",
        ".",
        "[ab]",
        "[^a-]",
        "(",
        ")",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "{1,3}",
        "{0,}",
        "^",
        "$",
        r"\d",
        r"\W",
        r"\.",
        "{40}",
    ]
    for _ in range(1_000):
        pattern = "".join(rng.choices(parts, k=rng.randint(1, 7)))
        try:
            portable = safe_regex(pattern)
        except ProgramError:
            continue
        for text in ("", "a", "ab", "b1", "aab.", "a" * 40):
            theirs = re.search(portable.replace("\\z", "\\Z"), text, re.ASCII) is not None
            assert search(portable, text) == theirs, (pattern, text)
        compared += 1
    assert compared > 100


@pytest.mark.parametrize("pattern", ["(a{40}){40}", "((a{10}){10}){11}", "b{999}" * 5, "a" * (LONGEST_PATTERN + 1)])
def test_a_regular_expression_that_re2_would_not_take_is_refused(pattern: str) -> None:
    with pytest.raises(ProgramError) as caught:
        safe_regex(pattern)
    assert caught.value.kind == "regular-expression"
    assert len(caught.value.message) < 1_000


def test_what_a_function_makes_has_an_end() -> None:
    """Beyond it is an error, told before anything is made."""
    text, n = Var("t", STRING), 2**19
    for node in (
        call("replace", text, const("a"), const("b" * 3)),
        call("repeat", text, const(3)),
        call("replace", call("repeat", const("a"), const(n)), const("a"), call("repeat", const("b"), const(n))),
        call("lpad", text, const(2**21)),
        call("like", const("a"), call("repeat", text, const(1))),
    ):
        with pytest.raises(ValueProblem) as caught:
            evaluate(node, {"t": "a" * n})
        assert caught.value.kind in ("overflow", "bad-pattern")
    assert len(str(evaluate(call("replace", text, const("a"), const("b")), {"t": "a" * 3 * 2**20}))) == 3 * 2**20
    with pytest.raises(ValueProblem):
        evaluate(call("cast", text, to=INT), {"t": "1e999999999"})


def test_errors_and_their_values_are_shortened() -> None:
    for error in (ValueProblem("x" * 3_000_000), InputProblem("y" * 3_000_000)):
        assert len(error.message) <= LONGEST_MESSAGE
    with pytest.raises(ValueProblem) as caught:
        evaluate(call("cast", Var("t", STRING), to=INT), {"t": "many" * 1_000_000})
    assert len(caught.value.message) < 300
    relation = Relation("r", (Column("id", INT), Column("s", STRING)))
    program = compile_views("p", [relation], {"v": "SELECT id, CAST(s AS INT) AS n FROM r"})
    interpreter = Interpreter(program)
    interpreter.apply(1, "r", (1, "many" * 1_000_000))
    with pytest.raises(ValueProblem) as caught:
        interpreter.view_rows("v")
    assert len(caught.value.message) < LONGEST_MESSAGE
    assert "(3999826 more)" in caught.value.message


def test_long_texts_differ_where_they_are_shown() -> None:
    held, due = _shorten_pair("a" * 10_000 + "x" + "b" * 10_000, "a" * 10_000 + "y" + "b" * 10_000)
    assert held != due
    assert len(held) < 300


def test_a_regular_expression_from_the_data_is_refused_at_its_place() -> None:
    relation = Relation("r", (Column("s", STRING), Column("p", STRING)))
    for condition in ("s RLIKE p", "s RLIKE ('a' || p)"):
        with pytest.raises(CompileError) as caught:
            compile_views("v", [relation], {"v": f"SELECT s FROM r WHERE {condition}"})
        assert caught.value.kind == "regular-expression"
        assert caught.value.span is not None
    with pytest.raises(ProgramError):
        call("regexp_like", Var("s", STRING), Var("p", STRING))
