"""Random programs with derivations, built as a compiler would: every map is a function of the base tables' contents, so any
order of the same events ends in the same maps.

Group keys are INT NULL throughout, so that any map can feed any derivation; what a minimum is taken of is INT.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

#: Expressions over the parameters of each relation's triggers, as keys and as values.
KEYS = {"r": ["A", "B"], "s": ["B", "C"], "t": ["C"]}
VALUES = {"r": ["A", "B"], "s": ["B", "COALESCE(C, 5)"], "t": ["C"]}
PARAMS = {"r": "A, B", "s": "B, C, X", "t": "C, N"}
HEAD = """PROGRAM random SEMANTICS SNAPSHOT;
RELATION r(a INT, b INT);
RELATION s(b INT, c INT NULL, x DECIMAL(9, 2));
RELATION t(c INT, n STRING NULL);
"""
COUNTS = ["CASE WHEN {0} > 0 THEN 1 ELSE 0 END", "1", "CASE WHEN {0} > 1 THEN {0} ELSE 0 END", "{0}"]
#: Of a map whose last key is an INT.
COLLECTED = [
    "PERCENTILE_DISC({0} WITH 0.4)", "PERCENTILE_DISC({0} ORDER DESC NULLS LAST WITH 1)", "MODE({0})", "BIT_AND({0})",
    "BIT_OR({0})", "BIT_XOR({0})",
]  # fmt: skip
FUNCTIONS = [
    "rank() :: INT OVER (ORDER BY x1 DESC NULLS LAST)",
    "row_number() :: INT OVER (ORDER BY x1 NULLS FIRST)",
    "lag(x1) :: INT NULL OVER (ORDER BY x1 NULLS LAST)",
    "sum(x1) :: INT NULL OVER (ORDER BY x1 NULLS LAST ROWS -1 0)",
    "count(x1) :: INT OVER ()",
]


@dataclass
class _Draft:
    """A program in the making. ``linear``: base maps with one key, as (map, relation, key, factor); ``values`` and
    ``pairs``: the maps that may feed derivations, by the number of their group's keys."""

    draw: st.DrawFn
    maps: list[str] = field(default_factory=list)
    derivations: list[str] = field(default_factory=list)
    triggers: dict[str, list[str]] = field(default_factory=lambda: {"r": [], "s": [], "t": []})
    changes: list[str] = field(default_factory=list)
    start: list[str] = field(default_factory=list)
    linear: list[tuple[str, str, str, str]] = field(default_factory=list)
    values: dict[int, list[str]] = field(default_factory=lambda: {0: [], 1: []})
    pairs: dict[int, list[str]] = field(default_factory=lambda: {0: [], 1: []})
    triples: dict[int, list[str]] = field(default_factory=lambda: {0: [], 1: []})

    def declare(self, name: str, width: int, last: str = "INT NULL") -> str:
        """A map of integers; ``last`` is the type of its last key."""
        types = ["INT NULL"] * (width - 1) + [last] * (width > 0)
        self.maps.append(f"MAP {name}[{', '.join(f'x{i} {t}' for i, t in enumerate(types))}] : INT;")
        if self.draw(st.integers(0, 5)) == 0:
            self.start.append(f"{name}[{', '.join(str(self.draw(st.integers(0, 3))) for _ in types)}] += 1;")
        return name

    def text(self) -> str:
        """The program."""
        lines = [HEAD, *self.maps, *self.derivations]
        if self.start:
            lines.append(f"ON START DO {{ {' '.join(self.start)} }}")
        for relation, statements in self.triggers.items():
            for sign, factor in (("+", "1"), ("-", "-1")):
                body = "; ".join(s.format(sign=factor) for s in statements)
                lines.append(f"ON {sign}{relation}({PARAMS[relation]}) DO {{ {body} }}")
        return "\n".join([*lines, *self.changes]) + "\n"


@st.composite
def derived_programs(draw: st.DrawFn) -> str:
    """The text of a program with one to three derivations."""
    draft = _Draft(draw)
    for i, relation in enumerate(["r", "s", "t", draw(st.sampled_from("rst"))]):
        _base(draft, i, relation)
    for i in range(draw(st.integers(1, 3))):
        (_window if draw(st.integers(0, 3)) == 0 else _derivation)(draft, i)
    return draft.text()


def _base(draft: _Draft, i: int, relation: str) -> None:
    """A count or sum, the pairs that a minimum needs, and what joins the relation with itself."""
    key, value = draft.draw(st.sampled_from(KEYS[relation])), draft.draw(st.sampled_from(VALUES[relation]))
    factor = draft.draw(st.sampled_from(["1", f"({value})"]))
    one, two, all_ = draft.declare(f"n{i}", 1), draft.declare(f"v{i}", 2, "INT"), draft.declare(f"k{i}", 1, "INT")
    draft.triggers[relation] += [f"{one}[{key}] += {{sign}} * {factor}", f"{two}[{key}, {value}] += {{sign}}"]
    draft.triggers[relation].append(f"{all_}[{value}] += {{sign}}")
    draft.linear.append((one, relation, key, factor))
    draft.values[1].append(one)
    draft.pairs[1].append(two)
    draft.pairs[0].append(all_)
    other = draft.draw(st.sampled_from(VALUES[relation]))
    three, ordered = draft.declare(f"t{i}", 3, "INT"), draft.declare(f"o{i}", 2, "INT")
    draft.triggers[relation].append(f"{three}[{key}, {value}, {other}] += {{sign}}")
    draft.triggers[relation].append(f"{ordered}[{value}, {other}] += {{sign}}")
    draft.triples[1].append(three)
    draft.triples[0].append(ordered)
    if draft.draw(st.booleans()):
        joined = draft.declare(f"j{i}", 0)
        draft.triggers[relation].append(f"{joined}[] += {{sign}} * {factor} * {one}[{key}]")
        draft.triggers[relation].append(f"{joined}[] += {{sign}} * {factor} * AFTER {one}[{key}]")
        draft.values[0].append(joined)


def _derivation(draft: _Draft, i: int) -> None:
    """Pointwise, with values, minima and maxima."""
    width = draft.draw(st.integers(0, 1)) if draft.values[0] else 1
    inputs = [("c", draft.draw(st.sampled_from(draft.values[width])))]
    for j in range(draft.draw(st.integers(0, 2))):
        inputs += _inputs(draft, f"i{j}", width)
    outputs = [(f"o{j}", name) for j, (name, _) in enumerate(inputs)]
    if draft.draw(st.booleans()):
        outputs.append(("e", "CASE WHEN c > 1 THEN c ELSE 0 END"))
    count = draft.draw(st.sampled_from(COUNTS)).format("c")
    name, keys = f"d{i}", ["g"][:width]
    columns = [f"{k} INT NULL" for k in [*keys, *(o for o, _ in outputs)]]
    draft.maps.append(f"MAP {name}[{', '.join(columns)}] : INT;")
    sources = ", ".join(f"{n} = {source}" for n, source in inputs)
    selected = ", ".join(f"{o} = {expression}" for o, expression in outputs)
    draft.derivations.append(f"DERIVE {name}[{', '.join(keys)}] FROM {sources} SELECT {selected} COUNT {count};")
    _change(draft, i, name, [*keys, *(o for o, _ in outputs)])


def _inputs(draft: _Draft, name: str, width: int) -> list[tuple[str, str]]:
    """An input as text, or two of which the second is looked up at the first."""
    kind = draft.draw(st.sampled_from(["", "MIN", "MAX", "AT", "COLLECTED"]))
    if kind == "AT":
        first, second = draft.draw(st.sampled_from(["MIN", "MAX"])), draft.draw(st.sampled_from(["MIN", "MAX"]))
        source = draft.draw(st.sampled_from(draft.triples[width]))
        return [(name, f"{first}({source})"), (f"{name}_at", f"{second}({source} AT {name})")]
    if kind == "COLLECTED":
        form = draft.draw(st.sampled_from(COLLECTED))
        return [(name, form.format(draft.draw(st.sampled_from([*draft.pairs[width], *draft.triples[width]]))))]
    source = draft.draw(st.sampled_from(draft.pairs[width] if kind else draft.values[width]))
    return [(name, f"{kind}({source})" if kind else source)]


def _window(draft: _Draft, i: int) -> None:
    source, partition = draft.draw(st.sampled_from(draft.pairs[1])), draft.draw(st.integers(0, 1))
    functions = draft.draw(st.lists(st.sampled_from(FUNCTIONS), min_size=1, max_size=2, unique=True))
    columns = ["x0 INT NULL", "x1 INT"]
    columns += [f"f{j} INT{' NULL' * ('NULL OVER' in f)}" for j, f in enumerate(functions)]
    draft.maps.append(f"MAP w{i}[{', '.join(columns)}] : INT;")
    draft.derivations.append(f"WINDOW w{i} FROM {source} PARTITION {partition} SELECT {', '.join(functions)};")
    _change(draft, i, f"w{i}", ["x0", "x1", *(f"f{j}" for j in range(len(functions)))])


def _change(draft: _Draft, i: int, name: str, columns: list[str]) -> None:
    """What follows from a derived map: a projection, its square, pairs, and a join with a base map."""
    a, b, c = (draft.draw(st.sampled_from(columns)) for _ in range(3))
    body = []
    projected = draft.declare(f"p{i}", 1)
    body.append(f"{projected}[{a}] += 1")
    draft.values[1].append(projected)
    if draft.draw(st.booleans()):
        square = draft.declare(f"s{i}", 0)
        body += [f"{square}[] += {projected}[{a}]", f"{square}[] += AFTER {projected}[{a}]"]
        draft.values[0].append(square)
    if draft.draw(st.booleans()):
        pairs = draft.declare(f"q{i}", 2, "INT")
        body.append(f"{pairs}[{b}, COALESCE({c}, 4)] += 1")
        draft.pairs[1].append(pairs)
    if draft.draw(st.booleans()):
        base, relation, key, factor = draft.draw(st.sampled_from(draft.linear))
        joined = draft.declare(f"m{i}", 1)
        body.append(f"{joined}[{b}] += {draft.draw(st.sampled_from(['', 'AFTER ']))}{base}[{c}]")
        loops = [f"l{x}" if x != c else key for x in columns]
        target = key if b == c else f"l{b}"
        draft.triggers[relation].append(f"{joined}[{target}] += {{sign}} * {factor} * {name}[{', '.join(loops)}]")
        draft.values[1].append(joined)
    draft.changes.append(f"ON CHANGE {name}({', '.join(columns)}) DO {{ {'; '.join(body)} }}")
