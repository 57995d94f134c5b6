"""The parts of a program in plain words."""

from __future__ import annotations

from collections.abc import Iterable

from m3.explain.restrict import view_maps
from m3.program import Derivation, Derived, Input, MapDecl, Program, View, Windowing

__all__ = ["WARNING", "counted", "derived_words", "events", "headline", "signature", "source_words", "view_words"]

#: Stands before everything that grows with a whole map.
WARNING = "⚠"


def counted(count: int, thing: str) -> str:
    """``1 map``, ``2 maps``."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def events(names: Iterable[str]) -> list[str]:
    """Events with the insert and the delete of one relation joined: ``["+r", "-r", "~m"]`` gives ``["±r", "~m"]``."""
    found = list(dict.fromkeys(names))
    both = {n[1:] for n in found if n[0] == "+" and f"-{n[1:]}" in found}
    return list(dict.fromkeys(f"±{n[1:]}" if n[0] in "+-" and n[1:] in both else n for n in found))


def headline(program: Program) -> str:
    """How much there is of everything."""
    statements = [len(t.statements) for t in program.triggers]
    changes = sum(len(t.statements) for t in program.triggers if t.sign == 0)
    parts = [counted(len(program.views), "view"), counted(len(program.maps), "map")]
    parts.append(f"{counted(sum(statements), 'statement')} in {counted(len(statements), 'trigger')}")
    first = f"{program.name}: {', '.join(parts)}."
    if not program.derivations:
        return f"{first} All statements are linear: each adds products of map entries, nothing is re-evaluated."
    return (
        f"{first} {sum(statements) - changes} statements are linear: each adds products of map entries. "
        f"{counted(len(program.derivations), 'part')} of the program {'is' if len(program.derivations) == 1 else 'are'} "
        f"re-evaluated, with {counted(changes, 'statement')} run for the rows that change."
    )


def signature(decl: MapDecl) -> str:
    """``m[k, x] : INT``."""
    return f"{decl.name}[{', '.join(k.name for k in decl.keys)}] : {decl.value}"


def view_words(program: Program, view: View) -> str:
    """Where a view's rows come from."""
    keys = ", ".join(k.name for k in view.keys)
    if view.repeated and view.exists in program.derivation_by_map:
        return f"the rows of the derived map {view.exists}"
    if view.repeated:
        return f"a bag: each key of {view.exists} stands as often as its entry says"
    if view.exists is None:
        return f"read off maps: one row per ({keys}) with an entry in {' or '.join(view_maps(view))}"
    if not view.keys:
        return "read off maps: always one row"
    return f"read off maps: one row per ({keys}) whose entry in {view.exists} is above zero"


def derived_words(program: Program, derived: Derived) -> str:
    """What is re-evaluated, and when."""
    if isinstance(derived, Windowing):
        return _window_words(program, derived)
    if not derived.keys:
        return "one row, recomputed when an input changed"
    return f"one row per ({', '.join(derived.keys)}), recomputed for the groups whose inputs changed"


def _window_words(program: Program, derived: Windowing) -> str:
    names = ", ".join(dict.fromkeys(f.op for f in derived.functions))
    text = f"the rows of {derived.source} with window functions ({names}); "
    if not derived.partition:
        return f"{text}{WARNING} there is one partition: any change recomputes all rows"
    keys = program.map_by_name[derived.source].keys[: derived.partition]
    return (
        f"{text}the partition of equal ({', '.join(k.name for k in keys)}) is recomputed when one of its rows changes"
    )


def source_words(derived: Derived) -> list[str]:
    """What a derivation is computed from, one input each."""
    if isinstance(derived, Derivation):
        return [_input_words(i) for i in derived.inputs]
    return [f"the partition's rows in {derived.source}"]


def _input_words(given: Input) -> str:
    if given.kind == "value":
        return f"{given.name} = its entry in {given.map}"
    if given.kind == "sum":
        return f"{given.name} = the sum of the group's values in {given.map}, read anew"
    if given.kind not in ("min", "max"):
        return f"{given.name} = {given.kind.upper()} of the group's values in {given.map}, read anew"
    at = f" at {', '.join(given.at)}" if given.at else ""
    end = "least" if given.kind == "min" else "greatest"
    return f"{given.name} = the {end} value in {given.map}{at} ({given.kind.upper()} by ordered index)"
