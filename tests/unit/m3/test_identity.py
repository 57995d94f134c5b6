"""What the identity of a map sees, and what it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random

import pytest

from m3 import compile_views, parse
from m3.carry import carry_over, changed_views
from m3.confluence.identity import identities
from m3.confluence.proof import prove
from m3.datatypes import INT, STRING
from m3.errors import ValueProblem
from m3.formatting import format_program
from m3.interpreter import Interpreter
from m3.program import Column, Program, Relation
from tests.fuzz.queries import make_query
from tests.fuzz.schema import RELATIONS as FUZZED
from tests.fuzz.schema import make_batches
from tests.support.sampling import sampled

#: One relation, and a map m of which a test says what is added.
ONE = "PROGRAM p SEMANTICS SNAPSHOT; RELATION r(a INT, b INT NULL); MAP m[k INT{key}] : INT; ON +r(a, b) {{ {adds} }}"


def identity(adds: str = "m[a] += a", key: str = "") -> str:
    return identities(parse(ONE.format(adds=adds, key=key)))["m"]


@pytest.mark.parametrize(
    "adds",
    [
        "m[a] += 1 * a",
        "IF a = a THEN m[a] += a",
        "m[a] += 2 * a; m[a] += -1 * a",
        "IF a > 1 THEN m[a] += a; IF 1 < a THEN m[a] += -1 * a; m[a] += a",
    ],
)
def test_what_means_the_same_has_one_identity(adds: str) -> None:
    assert identity(adds) == identity()


@pytest.mark.parametrize(
    ("adds", "key"),
    [
        ("m[a] += 2 * a", ""),
        ("m[a] += 1", ""),
        ("m[a + 1] += a", ""),
        ("IF a > 1 THEN m[a] += a", ""),
        ("IF a > 2 THEN m[a] += a", ""),
        ("IF b IS NOT NULL THEN m[a] += a", ""),
        ("m[a] += a", " NULL"),
    ],
)
def test_what_means_something_else_has_another_identity(adds: str, key: str) -> None:
    others = {identity(), identity("IF a > 1 THEN m[a] += a") if "a > 1" not in adds else ""}
    assert identity(adds, key) not in others


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("SELECT a, COUNT(*) AS n FROM r GROUP BY a", "SELECT a, SUM(1) AS n FROM r GROUP BY a", True),
        ("SELECT a, COUNT(*) AS n FROM r WHERE a = b GROUP BY a", "SELECT b, COUNT(*) AS n FROM r WHERE b = a GROUP BY b", True),
        ("SELECT a, COUNT(*) AS n FROM r GROUP BY a", "SELECT b, COUNT(*) AS n FROM r GROUP BY b", False),
        ("SELECT MIN(b) AS n FROM r", "SELECT MAX(b) AS n FROM r", False),
        ("SELECT a, COUNT(*) AS n FROM r GROUP BY a", "SELECT CAST(a AS DECIMAL(9, 2)) AS a, COUNT(*) AS n FROM r GROUP BY 1", False),
    ],
)  # fmt: skip
def test_values_of_views_by_identity(text: str, other: str, same: bool) -> None:
    found = []
    for query in (text, other):
        program = compile_views("p", [Relation("r", (Column("a", INT), Column("b", INT)))], {"v": query})
        found.append({identities(program)[name] for name in program.view("v").maps()})
    assert (found[0] == found[1]) is same


def test_in_which_order_columns_are_declared_does_not_matter() -> None:
    # What is written for a = b, and which of two look-alike rows is the first, must not follow from the columns' numbers.
    columns = (Column("a", INT), Column("b", INT), Column("c", INT), Column("unused", STRING.with_null()))
    views = {
        "v": "SELECT a, COUNT(*) AS n FROM r WHERE a = b GROUP BY a",
        "w": "SELECT x.c, SUM(y.b) AS n FROM r x JOIN r y ON x.a = y.b AND x.b = y.c GROUP BY x.c",
    }
    before = compile_views("p", [Relation("r", columns)], views)
    for order in ((1, 0, 2, 3), (2, 1, 0), (3, 2, 0, 1)):
        after = compile_views("p", [Relation("r", tuple(columns[i] for i in order))], views)
        assert changed_views(before, after) == {}


def test_another_map_that_needs_multiplying_out_changes_nothing() -> None:
    text = """PROGRAM p SEMANTICS SNAPSHOT; RELATION r(a INT, b INT); RELATION s(c INT); MAP m[] : INT; {maps}
        ON +r(a, b) {{ m[] += (a + b); {plus} }} ON -r(a, b) {{ m[] += -1 * (a + b); {minus} }} {others}"""
    needing = {
        "maps": "MAP n[] : INT; MAP sum_a[] : INT; MAP count_a[] : INT; MAP z[] : INT;",
        "plus": "sum_a[] += a; count_a[] += 1; z[] += (a + 1) * n[]",
        "minus": "sum_a[] += -1 * a; count_a[] += -1; z[] += -1 * (a + 1) * n[]",
        "others": """ON +s(c) { n[] += 1; z[] += sum_a[]; z[] += count_a[] }
            ON -s(c) { n[] += -1; z[] += -1 * sum_a[]; z[] += -1 * count_a[] }""",
    }
    alone, beside = parse(text.format(maps="", plus="", minus="", others="")), parse(text.format(**needing))
    assert prove(beside).grain == "batch"
    assert "z" in identities(beside)
    assert identities(alone)["m"] == identities(beside)["m"]


@pytest.mark.parametrize("seed", sampled(range(3), 3))
def test_other_views_names_and_orders_change_nothing(seed: int) -> None:
    random = Random(seed)
    seeds = random.sample(range(500), 6)
    alone = {f"v{i}": make_query(i).sql for i in seeds}
    texts = dict(random.sample(sorted(alone.items()), 6))
    together = compile_views("q", FUZZED, texts)
    for name, text in alone.items():
        program = compile_views("p", FUZZED, {name: text})
        became = changed_views(program, together)
        assert name not in became
        renamed = compile_views("p", FUZZED, {f"other_{name}": text})
        # The compiler orders keys of what it makes beside a view's own maps by names; the old ones stay with those that they maintain.
        carried = carry_over(program, renamed, {})
        assert (carried.fresh, carried.dropped) == ((), ())


def test_maps_of_one_identity_have_the_same_entries() -> None:
    programs = [compile_views("p", FUZZED, {"v": make_query(seed).sql}) for seed in range(40)]
    entries: dict[str, dict[object, int]] = {}
    shared = 0
    for program in programs:
        made = Interpreter(program)
        for batch in make_batches(7, tuple(r.name for r in FUZZED)):
            for event in batch:
                made.apply(*event)
        for name, found in identities(program).items():
            shared += found in entries
            assert entries.setdefault(found, made.maps[name]) == made.maps[name]
    assert shared > 20


def test_identities_are_the_same_in_every_process() -> None:
    source = (
        "from m3 import compile_views\nfrom m3.confluence.identity import identities\nfrom tests.fuzz.schema import RELATIONS\n"
        "program = compile_views('p', RELATIONS, {'v': 'SELECT t.a, MIN(u.y) AS y FROM t JOIN u ON t.a = u.a GROUP BY t.a'})\n"
        "print(sorted(identities(program).items()))"
    )
    seeds = ("1", "2")
    said = {
        subprocess.run(
            [sys.executable, "-c", source], env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            check=True, capture_output=True, text=True,
        ).stdout
        for seed in seeds
    }  # fmt: skip
    assert len(said) == 1
    assert "v_" in said.pop()


# Carrying over, where the programs are written in M3.


def written(semantics: str, maps: str, plus: str, null: str = "") -> Program:
    """A program with a view for each of its maps, of a relation whose deletes take back what its inserts add."""
    declared = [m.split("[")[0] for m in maps.split()]
    views = " ".join(f"VIEW view_{m}[] VALUES x = {m} COLUMNS x = x;" for m in declared if m != "g")
    minus = plus.replace("+= ", "+= -1 * ")
    decls = " ".join(f"MAP {m}[{f'k INT{null}' if m == 'g' else ''}] : INT;" for m in declared)
    return parse(
        f"PROGRAM p SEMANTICS {semantics}; RELATION r(a INT); {decls} {views} ON +r(a) {{ {plus} }} ON -r(a) {{ {minus} }}"
    )


@pytest.mark.parametrize("before", ["SEQUENTIAL", "SNAPSHOT"])
@pytest.mark.parametrize("after", ["SEQUENTIAL", "SNAPSHOT"])
def test_kept_and_new_statements_do_not_read_each_others_writes(before: str, after: str) -> None:
    # The new map is the square of the kept one, and is computed from what that was before the event and is after it.
    later = "n[]" if after == "SEQUENTIAL" else "AFTER n[]"
    old, new = (
        written(before, "n", "n[] += 1"),
        written(after, "n square", f"square[] += n[]; n[] += 1; square[] += {later}"),
    )
    carried = carry_over(old, new, {})
    assert (carried.kept, carried.fresh) == (("n",), ("square",))
    assert prove(carried.program).grain == prove(old).grain == prove(new).grain == "batch"
    for program in (new, carried.program):
        made = Interpreter(program)
        for sign, row in ((1, (1,)), (1, (2,)), (1, (3,)), (-1, (1,))):
            made.apply(sign, "r", row)
        assert (made.view_rows("view_n"), made.view_rows("view_square")) == ([(2,)], [(4,)])


def test_a_sequential_program_that_stays_is_the_same_text() -> None:
    old = written("SEQUENTIAL", "n square", "square[] += n[]; n[] += 1; square[] += n[]")
    assert format_program(carry_over(old, parse(format_program(old)), {}).program) == format_program(old)


@pytest.mark.parametrize(("before", "after"), [("", " NULL"), (" NULL", "")])
def test_a_map_whose_key_may_be_null_by_now_is_made_again(before: str, after: str) -> None:
    # A new statement that reads it has variables of its keys' types, so what is kept must have the very same.
    new = "total[] += g[k] * COALESCE(k, 0); g[a] += 1"
    old, changed = (
        written("SNAPSHOT", "g n", "g[a] += 1; n[] += 1", before),
        written("SNAPSHOT", "g total n", f"{new}; n[] += 1", after),
    )
    assert carry_over(old, changed, {}).kept == ("n",)


def test_of_two_maps_that_mean_the_same_the_one_that_can_stay_is_kept() -> None:
    text = "PROGRAM p SEMANTICS SNAPSHOT; RELATION r(a INT{column}); MAP one[] : INT; MAP two[] : INT; MAP lost[] : INT; " \
        "VIEW v[] VALUES x = {shown} COLUMNS x = x; ON +r(a{param}) {{ one[] += a; two[] += a; {lost} }}"  # fmt: skip
    wide = {"column": ", b INT", "param": ", b", "lost": "lost[] += b"}
    old = parse(text.format(shown="two", **wide))
    new = parse(text.format(shown="one", column="", param="", lost=""))
    together = {name: {"one", "lost"} for name in ("one", "lost")}
    assert carry_over(old, new, together).kept == ("two",)


def checked(key: str) -> Program:
    """A view that fails where a is 1; ``key``: what the key of the map of these rows is called."""
    return parse(
        f"PROGRAM p SEMANTICS SNAPSHOT; RELATION r(a INT); MAP n[] : INT; MAP bad[{key} INT] : INT; "
        f"VIEW v[] VALUES x = n COLUMNS x = x CHECKS bad FAILS 1 / ({key} - 1) OF (r) AT 'v' 1 1 1; "
        "ON +r(a) { n[] += 1; IF a = 1 THEN bad[a] += 1 }"
    )


def test_a_check_of_a_kept_map_is_over_the_keys_of_that() -> None:
    assert changed_views(checked("one"), checked("other")) == {}
    made = Interpreter(carry_over(checked("one"), checked("other"), {}).program)
    made.apply(1, "r", (1,))
    with pytest.raises(ValueProblem, match="division by zero"):
        made.view_rows("v")


def test_a_new_window_over_a_kept_map_is_over_the_keys_of_that() -> None:
    text = "PROGRAM p SEMANTICS SNAPSHOT; RELATION r(a INT); MAP m[{key} INT] : INT; {window} VIEW u[{key} INT] EXISTS m COLUMNS x = {key}; " \
        "ON +r(a) {{ m[a] += 1 }}"  # fmt: skip
    window = "MAP w[a INT, place INT] : INT; WINDOW w FROM m PARTITION 0 SELECT ROW_NUMBER() :: INT OVER (ORDER BY other DESC NULLS FIRST); " \
        "VIEW v[a INT, place INT] EXISTS w COLUMNS a = a, place = place;"  # fmt: skip
    carried = carry_over(parse(text.format(key="one", window="")), parse(text.format(key="other", window=window)), {})
    assert (carried.kept, carried.fresh) == (("m",), ("w",))
    made = Interpreter(carried.program)
    for row in ((3,), (1,), (2,)):
        made.apply(1, "r", row)
    assert sorted(made.view_rows("v")) == [(1, 3), (2, 2), (3, 1)]


@pytest.mark.parametrize("seed", [1, 2, 107, 122])
def test_what_no_view_needs_stays_while_nothing_changes(seed: int) -> None:
    # In these there are maps that no view needs (1, 2), and maps that mean the same (107, 122).
    program = compile_views("p", FUZZED, {"v": make_query(seed).sql})
    again = compile_views("p", FUZZED, {"v": f"{make_query(seed).sql} -- a comment"})
    assert format_program(carry_over(program, program, {}).program) == format_program(program)
    carried = carry_over(program, again, {})
    assert (carried.kept, carried.fresh) == (tuple(m.name for m in program.maps), ())
