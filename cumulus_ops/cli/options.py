"""What commands share: options, the project that they name, and how errors reach a person."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape

from cumulus_ops.light import lazy_module
from cumulus_ops.opening.mistakes import find_mistakes
from cumulus_ops.project.errors import CumulusError, InputProblem, SetupProblem
from cumulus_ops.project.project_file import ProjectProblem, load_project
from cumulus_ops.project.yaml_nodes import read_text
from m3.errors import M3Error, quote_source

if TYPE_CHECKING:
    from cumulus_ops.catalog import database
    from cumulus_ops.opening import runtime as opening
    from cumulus_ops.opening.runtime import Runtime
else:  # the catalog's library: some commands need none
    database = lazy_module("cumulus_ops.catalog.database")
    opening = lazy_module("cumulus_ops.opening.runtime")

__all__ = [
    "EXECUTOR",
    "EXIT_CHANGED",
    "EXIT_INVALID",
    "EXIT_IN_ERROR",
    "EXIT_SET_ASIDE",
    "EXIT_UNPROVED",
    "EXIT_USER",
    "FOLDER",
    "JSON",
    "PORT",
    "PROJECT",
    "count_errors",
    "explain_errors",
    "file_of",
    "list_errors",
    "open_project",
    "problem_of",
    "show",
    "show_all",
]


PROJECT = click.option(
    "--project",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("."),
    envvar="CUMULUS_PROJECT",
    show_envvar=True,
    help="The project's folder.",
)
#: The same as an argument, of commands that are about a project as a whole.
FOLDER = click.argument(
    "folder", type=click.Path(path_type=Path), default=Path("."), envvar="CUMULUS_PROJECT", metavar="[PROJECT]"
)
PORT = click.option(
    "--port",
    type=click.IntRange(1024, 65535),
    default=8080,
    show_default=True,
    envvar="CUMULUS_PORT",
    help="Of the UI.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
EXECUTOR = click.option(
    "--executor", type=click.Choice(["inprocess", "spark"]), help="Instead of the project's executor."
)


@contextmanager
def open_project(folder: Path) -> Iterator[Runtime]:
    """The project, opened in this process; errors are explained."""
    with explain_errors(), opening.open_runtime(load_project(folder), "inprocess") as runtime:
        yield runtime


# How errors reach a person: what, where and what to do, on stderr, with an exit code; never a stack trace.


#: The place of an error in a file of settings.
PLACED = re.compile(r"(?P<file>.+?):(?P<line>\d+)")
FILE_ERRORS = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)

#: Of errors: the disk, the quota.
FULL = (errno.ENOSPC, errno.EDQUOT)

EXIT_INVALID = 1  # a snapshot, or a final partition, is wrong
EXIT_UNPROVED = 2  # of `cumulus validate`: nothing that was compared is wrong, but not everything could be compared
EXIT_USER = 2  # the input, the project or the machine is wrong
EXIT_SET_ASIDE = 3  # a batch kept failing and was set aside
EXIT_CHANGED = 5  # of `cumulus plan --exit-code`: there is something to deploy
EXIT_IN_ERROR = 4  # the view that was asked for is in error


@contextmanager
def explain_errors() -> Iterator[None]:
    """Turn an error of ours, with all that were found with it, into an explanation and exit code 2."""
    try:
        yield
    except (M3Error, CumulusError) as error:
        show_all(list_errors(error))
        sys.exit(EXIT_USER)
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            raise
        show(problem)
        sys.exit(EXIT_USER)


def problem_of(error: BaseException) -> CumulusError | None:
    """What is wrong with the machine, rather than with us: a file that is not there, a database that does not answer."""
    if isinstance(error, OSError) and error.errno in FULL:
        message, hint = f"no room to write: {error.strerror}", "make some, and run it again: nothing is lost"
        return SetupProblem(message, kind="disk-full", place=str(error.filename or ""), hint=hint)
    if isinstance(error, FILE_ERRORS) or (isinstance(error, OSError) and error.filename is not None):
        message, place = f"a file cannot be used: {error.strerror or error}", str(error.filename or "")
        return SetupProblem(
            message, kind="no-file", place=place, hint="see that it is there, and who may read and write it"
        )
    if "sqlalchemy" not in sys.modules:
        return None
    return database.database_problem(error)


def list_errors(error: M3Error | CumulusError) -> list[M3Error | CumulusError]:
    """An error and all that were found with it, file by file; of a project's file also those of the views that can be read all the same."""
    described = error.described if isinstance(error, ProjectProblem) else None
    errors = [*error.all, *(find_mistakes(described) if described is not None else ())]
    files = list(dict.fromkeys(file_of(e)[0] for e in errors))
    return sorted(errors, key=lambda e: (files.index(file_of(e)[0]), *file_of(e)[1:]))


def show_all(errors: Sequence[M3Error | CumulusError]) -> None:
    """Print errors on stderr, and how many there are, if there are several."""
    for number, error in enumerate(errors):
        if number:
            click.echo(err=True)
        show(error)
    if len(errors) > 1:
        click.echo(f"\n{count_errors(errors)}", err=True)


def count_errors(errors: Sequence[M3Error | CumulusError]) -> str:
    """``3 errors in 2 files``."""
    files = {file_of(error)[0] for error in errors} - {""}
    many, where = "s" * (len(errors) != 1), f" in {len(files)} file{'s' * (len(files) != 1)}" if files else ""
    return f"{len(errors)} error{many}{where}"


def file_of(error: M3Error | CumulusError) -> tuple[str, int, int]:
    """The file, the line and the column of an error, as far as they are known: "" and 1 where they are not."""
    if isinstance(error, M3Error):
        span = error.span
        return (shorten_path(span.file), span.line, span.column) if span is not None else ("", 1, 1)
    found = PLACED.fullmatch(error.place)
    file, line = (found["file"], int(found["line"])) if found is not None else (error.place, 1)
    return shorten_path(file), line, 1


def shorten_path(path: str) -> str:
    """A path as somebody would type it who is in this process's folder."""
    if not os.path.isabs(path):
        return path
    relative = os.path.relpath(path)
    return relative if relative.count("..") <= 2 and len(relative) < len(path) else path


def show(error: M3Error | CumulusError, quoted: Sequence[str] = ()) -> None:
    """Print ``error`` on stderr; a place in a query or a program is shown and underlined, as ``quoted`` or as its file has it.

    Lines of ``cumulus.yaml`` are not shown: there may be secrets in them.
    """
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[bold red]error[/bold red] [dim]\\[{escape(error.kind)}][/dim] {escape(error.message)}")
    file, line, column = file_of(error)
    where = f"{file}:{line}:{column}" if isinstance(error, M3Error) else error.place
    if isinstance(error, InputProblem) and PLACED.fullmatch(error.place):
        where = f"{file}:{line}"
    if file:
        console.print(f"  [dim]at[/dim]   {escape(where)}")
    if isinstance(error, M3Error) and error.span is not None and (source := _text(error)) is not None:
        quoted = quote_source(source, error.span)
    for line_or_mark in quoted:
        console.print(f"   [cyan]| {escape(line_or_mark)}[/cyan]")
    if error.hint:
        console.print(f"  [dim]hint[/dim] {escape(error.hint)}")


def _text(error: M3Error) -> str | None:
    if error.span is None or not error.span.file:
        return None
    file = Path(error.span.file)
    return read_text(file) if file.is_file() else None
