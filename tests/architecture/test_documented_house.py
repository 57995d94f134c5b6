"""The house is as `docs/architecture.md` shows it: its rooms, the order in which they may be imported, and the functions on one drop's way."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ROOT / "cumulus_ops"
TEXT = (ROOT / "docs" / "architecture.md").read_text()


def rows(heading: str) -> Iterator[list[str]]:
    """The cells of the table below a line."""
    below = TEXT[TEXT.index(heading) :].split("\n\n")[0].splitlines()
    yield from ([cell.strip() for cell in line.strip("|").split("|")] for line in below[2:])


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def defined(file: str, folder: Path = PRODUCT) -> set[str]:
    """The functions, classes, methods and constants of a file."""
    tree = ast.parse((folder / file).read_text())
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef)]
    methods = {f"{c.name}.{m.name}" for c in classes for m in c.body if isinstance(m, ast.FunctionDef)}
    constants = {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    constants |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    return methods | constants | {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("step", list(rows("| step | file | functions |")), ids=lambda r: r[0])
def test_each_file_has_one_of_the_functions_of_its_step(step: list[str]) -> None:
    files, functions = words(step[1]), words(step[2])
    known = {file: defined(file) for file in files}
    assert [f for f in functions if not any(f in names for names in known.values())] == []
    assert [file for file, names in known.items() if not names & set(functions)] == []


@pytest.mark.parametrize("place", list(rows("| what | file | names | how |")), ids=lambda r: r[0])
def test_where_something_is_added_there_is_what_is_named(place: list[str]) -> None:
    """Each file defines one of the names at least, and each name is in one of the files; "how" names files only that exist."""
    files, names, how = (words(cell) for cell in place[1:])
    known = {file: defined(file, ROOT) for file in files}
    assert files
    assert names
    assert [n for n in names if not any(n in found for found in known.values())] == []
    assert [file for file, found in known.items() if not found & set(names)] == []
    assert [path for path in how if "/" in path and not (ROOT / path).exists()] == []


def test_the_rooms_are_those_of_the_import_rules_in_their_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    ruled = [set(re.findall(r"cumulus_ops\.(\w+)", layer)) for layer in reversed(layers)]
    alone = {p.stem for p in PRODUCT.glob("*.py")}
    ruled = [rooms for rooms in ruled if rooms and not rooms & alone]
    documented = [room for row in rows("| room | what is in it |") for room in words(row[0]) if room != "m3"]
    assert sorted(documented) == sorted(room for rooms in ruled for room in rooms)
    assert set(documented) == {p.parent.name for p in PRODUCT.glob("*/__init__.py")}
    place = {room: i for i, rooms in enumerate(ruled) for room in rooms}
    assert [place[room] for room in documented] == sorted(place.values())


def test_the_expectations_and_the_dags_are_all_explained_where_they_are() -> None:
    expectations = {
        name for name in defined("../expectations/snapshot.py") if name.startswith("Expect") and "." not in name
    }
    assert expectations == set(re.findall(r"`(Expect\w+)`", (ROOT / "expectations" / "README.md").read_text()))
    dags = {name for name in defined("orchestration/factory.py") if name.endswith("_dag")}
    assert dags == set(re.findall(r"`(\w+_dag)`", (ROOT / "dags" / "README.md").read_text()))


def test_links_in_documents_lead_somewhere() -> None:
    documents = [
        p for p in ROOT.rglob("*.md") if not {".venv", "var", "build", "node_modules"} & {*p.relative_to(ROOT).parts}
    ]
    broken = [
        f"{p.relative_to(ROOT)}: {link}" for p in documents for link in links(p.read_text()) if not leads(p, link)
    ]
    assert broken == []
    assert len(documents) > 50


def test_modules_that_documents_name_exist() -> None:
    """`coordination.labelling.labels`, `m3.sql`, `cumulus_papers.kernel.Costs`: a module, or what one defines or imports."""
    rooms = {p.parent.name for p in PRODUCT.glob("*/__init__.py")} | {
        "m3",
        "cumulus_ops",
        "cumulus_papers",
        "protocols",
    }
    dotted = re.compile(rf"`((?:{'|'.join(sorted(rooms))})(?:\.\w+)+)`")
    documents = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*/README.md")]
    named = {
        (p.name, name)
        for p in documents
        for name in dotted.findall(p.read_text())
        if not name.endswith((".json", ".py"))
    }
    assert [found for found in sorted(named) if not exists(found[1])] == []
    assert len(named) > 50


def exists(name: str) -> bool:
    parts = name.split(".")
    for folder in (ROOT, PRODUCT, ROOT / "papers", ROOT / "papers" / "cumulus_papers"):
        for length in range(len(parts), 0, -1):
            module = folder.joinpath(*parts[:length])
            file = module.with_suffix(".py") if module.with_suffix(".py").exists() else module / "__init__.py"
            if file.exists():
                rest = parts[length:]
                return not rest or re.search(rf"\b{rest[0]}\b", code_of(file)) is not None
    return False


def code_of(file: Path) -> str:
    """A module without the words of its docstrings and comments."""
    tree = ast.parse(file.read_text())
    texts = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for text in texts:
        text.value = ""
    return ast.unparse(tree)


def links(text: str) -> Iterator[str]:
    code = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
    yield from (found for found in re.findall(r"\]\(([^)\s]+)\)", code.sub("", text)) if "://" not in found)


def leads(document: Path, link: str) -> bool:
    """Whether there is such a file, and in it such a heading."""
    path, _, heading = link.partition("#")
    target = document if not path else (document.parent / path).resolve()
    if not heading or target.suffix != ".md":
        return target.exists()
    titles = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
    return heading in {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}
