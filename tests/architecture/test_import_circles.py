"""The modules of the product import in one direction, what they import within functions or for types alone included."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "m3", ROOT / "cumulus_ops", ROOT / "expectations", ROOT / "papers" / "cumulus_papers")
MODULES = {
    ".".join(p.relative_to(folder.parent).with_suffix("").parts): p for folder in FOLDERS for p in folder.rglob("*.py")
}


def imports(path: Path) -> set[str]:
    found = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.ImportFrom)]
    return {name for n in found for name in (n.module, *(f"{n.module}.{a.name}" for a in n.names)) if name in MODULES}


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {name: imports(path) for name, path in MODULES.items()}
    assert len(graph["m3.sql.view"]) > 5
    assert len(graph["cumulus_ops.epochs.minibatch"]) > 5
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)
