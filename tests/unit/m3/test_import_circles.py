"""The modules of the language import in one direction, what they import for types alone included."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import m3

ROOT = Path(m3.__file__).parent
MODULES = {".".join(("m3", *p.relative_to(ROOT).with_suffix("").parts)): p for p in ROOT.rglob("*.py")}


def imports(path: Path) -> set[str]:
    found = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    return {name for n in found for name in (n.module, *(f"{n.module}.{a.name}" for a in n.names)) if name in MODULES}


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {name: imports(path) for name, path in MODULES.items()}
    assert len(graph["m3.sql.view"]) > 5
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)
