"""What commands share: options, the project that they name, and how errors reach a person."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape

from cumulus_ops.light import lazy_module
from cumulus_ops.project.errors import CumulusError, SetupProblem
from cumulus_ops.project.project_file import load_project
from m3.errors import M3Error

if TYPE_CHECKING:
    from cumulus_ops.catalog import database
    from cumulus_ops.opening import runtime as opening
    from cumulus_ops.opening.runtime import Runtime
else:  # the catalog's library: some commands need none
    database = lazy_module("cumulus_ops.catalog.database")
    opening = lazy_module("cumulus_ops.opening.runtime")

__all__ = [
    "EXECUTOR",
    "EXIT_INVALID",
    "EXIT_IN_ERROR",
    "EXIT_SET_ASIDE",
    "EXIT_UNPROVED",
    "EXIT_USER",
    "FOLDER",
    "JSON",
    "PORT",
    "PROJECT",
    "explain_errors",
    "open_project",
    "problem_of",
    "show",
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


FILE_ERRORS = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)

#: Of errors: the disk, the quota.
FULL = (errno.ENOSPC, errno.EDQUOT)

EXIT_INVALID = 1  # a snapshot, or a final partition, is wrong
EXIT_UNPROVED = 2  # of `cumulus validate`: nothing that was compared is wrong, but not everything could be compared
EXIT_USER = 2  # the input, the project or the machine is wrong
EXIT_SET_ASIDE = 3  # a batch kept failing and was set aside
EXIT_IN_ERROR = 4  # the view that was asked for is in error


@contextmanager
def explain_errors(source: Callable[[M3Error], str | None] | None = None) -> Iterator[None]:
    """Turn an error of ours into its explanation and exit code 2.

    Args:
        source: finds the text that an :class:`M3Error`'s span speaks of; it is read from the span's file by default.
    """
    try:
        yield
    except (M3Error, CumulusError) as error:
        show(error, source(error) if source is not None and isinstance(error, M3Error) else None)
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


def show(error: M3Error | CumulusError, source: str | None = None) -> None:
    """Print ``error`` on stderr; a place in a program's text is shown and underlined."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if isinstance(error, CumulusError):
        where = error.place
    else:
        where = str(error.span) if error.span else ""
        source = source if source is not None else _text(error)
    console.print(f"[bold red]error[/bold red] [dim]\\[{escape(error.kind)}][/dim] {escape(error.message)}")
    if where:
        console.print(f"  [dim]at[/dim]   {escape(where)}")
    if isinstance(error, M3Error) and source is not None:
        for line in error.underlined(source).splitlines():
            if line.startswith("  | "):
                console.print(f"  [cyan]{escape(line[2:])}[/cyan]")
    if error.hint:
        console.print(f"  [dim]hint[/dim] {escape(error.hint)}")


def _text(error: M3Error) -> str | None:
    if error.span is None or not error.span.file:
        return None
    file = Path(error.span.file)
    return file.read_text(encoding="utf-8") if file.is_file() else None
