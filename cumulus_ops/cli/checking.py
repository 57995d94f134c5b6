"""`cumulus compile --check`: what is wrong with files, a line for each error, or as JSON. Imports little: editors wait for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

import m3
from cumulus_ops.cli.options import EXIT_INVALID, EXIT_USER, count_errors, file_of, show_all
from cumulus_ops.opening.mistakes import find_mistakes, find_mistakes_in
from cumulus_ops.project.errors import CumulusError, InputProblem
from cumulus_ops.project.project_file import FILE_NAME, Described, describe_project
from cumulus_ops.project.yaml_nodes import read_text
from m3.errors import M3Error

__all__ = ["check_files"]

Problem = M3Error | CumulusError
STDIN = Path("-")


def check_files(files: Sequence[Path], folder: Path | None, stdin_file: Path | None, *, as_json: bool) -> int:
    """Print what is wrong with files.

    Args:
        files: with views, other queries, M3 programs, or a ``cumulus.yaml``; none means all of the project. ``-`` is standard input.
        folder: the project's; None for the one in whose folder the first file is, or this process.
        stdin_file: where the text of standard input comes from.
        as_json: whether to print a list of objects.

    Returns:
        The exit code: 1 if something is wrong, 2 if that cannot be said.
    """
    texts = {(stdin_file or STDIN) if f == STDIN else f: sys.stdin.read() if f == STDIN else None for f in files}
    try:
        project = folder if folder is not None else _find_project(next(iter(texts), STDIN))
        errors = _find_errors(project, texts)
    except InputProblem as problem:
        show_all([problem])
        return EXIT_USER
    typed = {str(file.resolve()): str(file) for file in texts}
    found = [(e, typed.get(str(Path(file_of(e)[0]).resolve()), file_of(e)[0]), view) for e, view in errors]
    if as_json:
        click.echo(json.dumps([_describe(*entry) for entry in found], indent=2, ensure_ascii=False))
    else:
        for error, file, _ in found:
            click.echo("\n".join(_lines(error, file)))
        if errors:
            click.echo(count_errors([e for e, _ in errors]), err=True)
    return EXIT_INVALID if errors else 0


def _find_project(file: Path) -> Path:
    """The folder of the project to which a file belongs."""
    start = Path.cwd() if file == STDIN else file.resolve().parent
    found = next((f for f in (start, *start.parents) if (f / FILE_NAME).is_file()), None)
    if found is None:
        hint = "name its folder: --project FOLDER; `cumulus init FOLDER` makes one"
        raise InputProblem(f"no {FILE_NAME} in this folder or above", kind="no-project", place=str(start), hint=hint)
    return found


@dataclass
class _Files:
    """What is to be checked: queries by names, their files, and the programs."""

    views: dict[str, str]
    files: dict[str, Path]
    programs: dict[Path, str]


def _find_errors(folder: Path, texts: dict[Path, str | None]) -> list[tuple[Problem, str]]:
    """The errors with the view's name, in the order of their files."""
    described, problem = describe_project(folder)
    errors: list[Problem] = [] if problem is None else list(problem.all)
    if described is not None and not texts:
        errors += find_mistakes(described)
    elif described is not None:
        wanted, unreadable = _read_files(texts, described)
        errors += unreadable
        views, files = {**described.views, **wanted.views}, {**described.view_files, **wanted.files}
        errors += find_mistakes_in(
            wanted.views, described.relations, described.dialect, files, others=views, broken=described.broken
        )
        for file, text in wanted.programs.items():
            errors += _check_program(text, file)
    names = {} if described is None else {str(f.resolve()): view for view, f in described.view_files.items()}
    order = list(dict.fromkeys(file_of(e)[0] for e in errors))
    errors.sort(key=lambda e: (order.index(file_of(e)[0]), *file_of(e)[1:]))
    return [(e, names.get(str(Path(file_of(e)[0]).resolve()), "")) for e in errors]


def _read_files(texts: dict[Path, str | None], described: Described) -> tuple[_Files, list[Problem]]:
    """The files as queries and programs, and what cannot be read; views of the project keep their names."""
    names = {file.resolve(): view for view, file in described.view_files.items()}
    found, problems = _Files({}, {}, {}), list[Problem]()
    for number, (file, given) in enumerate(texts.items()):
        if file.name == FILE_NAME:
            continue
        try:
            text = read_text(file) if given is None else given.removeprefix("\ufeff")
        except OSError as error:
            hint = "give files with one SELECT each"
            problems.append(
                InputProblem(f"cannot read it: {error.strerror}", kind="no-file", place=str(file), hint=hint)
            )
            continue
        except InputProblem as problem:
            problems.append(problem)
            continue
        if file.suffix == ".m3":
            found.programs[file] = text
            continue
        name = names.get(file.resolve()) or file.stem
        if name in found.views or (name in described.views and file.resolve() not in names):
            name = f"{name} {number}"  # no view is called so
        found.views[name], found.files[name] = text, file
    return found, problems


def _check_program(text: str, file: Path) -> Iterator[Problem]:
    try:
        m3.read_program(text, str(file))
    except M3Error as error:
        yield from error.all


def _lines(error: Problem, file: str) -> Iterator[str]:
    """``file:line:column: error: message [kind]``, and the hint as a note."""
    _, line, column = file_of(error)
    place = f"{file}:{line}:{column}"
    yield f"{place}: error: {error.message} [{error.kind}]"
    if error.hint:
        yield f"{place}: note: {error.hint}"


def _describe(error: Problem, file: str, view: str) -> dict[str, object]:
    _, line, column = file_of(error)
    end = error.span.behind if isinstance(error, M3Error) and error.span is not None else (line, column)
    return {
        "file": file,
        "line": line,
        "column": column,
        "end_line": end[0],
        "end_column": end[1],
        "kind": error.kind,
        "message": error.message,
        "hint": error.hint,
        "view": view or None,
    }
