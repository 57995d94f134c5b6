"""`cumulus compile`: what is compiled, and how it is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

import m3
from cumulus_ops.cli.checking import check_files
from cumulus_ops.cli.options import JSON, PROJECT, explain_errors
from cumulus_ops.cli.output import write_drawing
from cumulus_ops.light import lazy_module, without_pandas
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.project.yaml_nodes import read_text
from m3.errors import M3Error
from m3.program import Program

if TYPE_CHECKING:
    from cumulus_ops.cli import analysing, explaining
    from m3 import dataflow
    from m3.confluence import proof
    from m3.explain import report
    from m3.picture import drawing
else:  # --check needs none of these, and is waited for by an editor
    analysing, explaining = map(lazy_module, ("cumulus_ops.cli.analysing", "cumulus_ops.cli.explaining"))
    dataflow, proof = map(lazy_module, ("m3.dataflow", "m3.confluence.proof"))
    report, drawing = map(lazy_module, ("m3.explain.report", "m3.picture.drawing"))

__all__ = ["Source", "compile_", "source_of"]


@dataclass(frozen=True)
class Source:
    """What to compile: either SQL by view, or the text of an M3 program. ``name`` is the program's; ``files`` are those of the views."""

    project: Project
    name: str
    views: Mapping[str, str]
    text: str | None = None
    file: Path | None = None
    files: Mapping[str, Path] = field(default_factory=dict)

    def program(self, view: str | None) -> Program:
        """The program, or the part of it that one view needs.

        Raises:
            M3Error: the text is wrong, or there is no such view.
        """

        program = self._whole
        return report.restrict(program, view) if view else program

    @cached_property
    def _whole(self) -> Program:
        if self.text is None:
            project = self.project
            with self._in_files():
                return m3.compile_views(self.name, project.relations, self.views, project.dialect, others=project.views)

        return m3.read_program(self.text, str(self.file))

    def explained(self, view: str | None, rows: Mapping[str, float], *, full: bool) -> str:
        """The program, or the part that one view needs, for a person to read.

        Args:
            view: the view.
            rows: rows by relation, for numbers instead of symbols.
            full: also who writes and reads each map, and every statement.

        Raises:
            M3Error: as :meth:`program`.
        """

        text = report.explain(self.program(view), statistics=rows, full=full)
        found = proof.prove(self._whole)
        groups = explaining.stored_groups(self._whole, found.grain, rows=rows, view=view)
        return (
            "\n".join([text, explaining.GROUPS, *explaining.group_lines(groups), "", *analysing.ordering_lines(found)])
            + "\n"
        )

    def emitted(self, stage: str, view: str | None) -> str:
        """The result of a compiler's stage, as text.

        Raises:
            M3Error: as :meth:`program`.
            InputProblem: an M3 program has no algebra.
        """
        if self.text is None:
            project, views = self.project, self.views
            if view is not None:
                if view not in views:
                    hint = f"known views: {', '.join(sorted(views)) or 'none'}"
                    raise InputProblem(f"no view {view!r}", kind="unknown-view", hint=hint)
                views = {view: views[view]}
            with self._in_files():
                return m3.emit(stage, self.name, project.relations, views, project.dialect, others=project.views)
        if stage not in ("m3", "dataflow"):
            hint = "give --emit m3 or dataflow, or a file with SQL"
            raise InputProblem(
                "an M3 program has no algebra and no deltas", kind="no-algebra", place=str(self.file), hint=hint
            )

        program = self.program(view)
        return m3.format_program(program) if stage == "m3" else dataflow.describe_dataflow(program)

    @contextmanager
    def _in_files(self) -> Iterator[None]:
        """Errors name the files in which the views are."""
        try:
            yield
        except M3Error as error:
            raise error.in_files({view: str(file) for view, file in self.files.items()}) from error


def source_of(project: Project, file: Path | None) -> Source:
    """A file with SQL or, if its name ends in ``.m3``, a program; without a file, all that the project maintains.

    Raises:
        InputProblem: the file cannot be read.
    """
    file = file or project.program_file
    if file is None:
        return Source(project, project.name, project.views, files=project.view_files)
    try:
        text = read_text(file)
    except OSError as error:
        hint = "give a file with one SELECT"
        raise InputProblem(f"cannot read it: {error.strerror}", kind="no-file", place=str(file), hint=hint) from error
    if file.suffix == ".m3":
        return Source(project, file.stem, {}, text, file)
    return Source(project, file.stem, {file.stem: text}, files={**project.view_files, file.stem: file})


@click.command("compile")
@click.argument("files", type=click.Path(path_type=Path, allow_dash=True), nargs=-1, metavar="[FILE]...")
@click.option(
    "--emit",
    type=click.Choice(["algebra", "deltas", "merged", "m3", "dataflow"]),
    help="Print the result of this stage instead of the explanation.",
)
@click.option("--full", is_flag=True, help="Also who writes and reads each map, and every statement.")
@click.option("--view", help="Only what this view needs.")
@click.option("--rows", multiple=True, metavar="RELATION=N", help="Rows of a relation, for the costs; repeat it.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write a picture of the dataflow there.")
@click.option(
    "--check", is_flag=True, help="Only say what is wrong with FILES, a line for each error, for editors and CI."
)
@click.option(
    "--stdin-filename",
    type=click.Path(path_type=Path),
    help="With --check -: the file whose text comes from standard input.",
)
@JSON
@PROJECT
@click.pass_context
def compile_(
    context: click.Context,
    files: tuple[Path, ...],
    emit: str | None,
    full: bool,
    view: str | None,
    rows: tuple[str, ...],
    svg: Path | None,
    check: bool,
    stdin_filename: Path | None,
    as_json: bool,
    folder: Path,
) -> None:
    """Compile the SQL in FILE against the project's relations, and explain the result: its maps, what is re-evaluated,
    what an event costs, and in which tables and copies the maps are kept. Without FILE, all that the project maintains.

    With --check, only say what is wrong with FILES (all views of the project, if there are none), with exit code 1 if something is. The
    project is the one in whose folder the files are, if it is not given."""
    if check:
        given = context.get_parameter_source("folder") is not ParameterSource.DEFAULT
        sys.exit(check_files(files, folder if given else None, stdin_filename, as_json=as_json))
    if len(files) > 1 or stdin_filename is not None or as_json:
        raise click.UsageError("several files, --stdin-filename and --json go with --check")
    without_pandas()
    with explain_errors():
        project = load_project(folder)
        source = source_of(project, files[0] if files else None)
        statistics = explaining.rows_by_relation(project, rows)
    with explain_errors():
        if emit:
            click.echo(source.emitted(emit, view))
        else:
            click.echo(source.explained(view, statistics, full=full), nl=False)
            line = analysing.advice_of(project, source.program(view))
            if line is not None:
                click.echo(f"note: {line}", err=True)
        if svg is not None:
            write_drawing(svg, drawing.to_svg(source.program(view)))
