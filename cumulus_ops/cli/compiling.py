"""`cumulus compile`: what is compiled, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import Project
from cumulus_ops.project.yaml_nodes import read_text
from m3 import Program, check, format_program
from m3.errors import M3Error

__all__ = ["Source", "rows_by_relation", "source_of"]


@dataclass(frozen=True)
class Source:
    """What to compile: either SQL by view, or the text of an M3 program. ``name`` is the program's."""

    project: Project
    name: str
    views: Mapping[str, str]
    text: str | None = None
    file: Path | None = None

    def program(self, view: str | None) -> Program:
        """The program, or the part of it that one view needs.

        Raises:
            M3Error: the text is wrong, or there is no such view.
        """
        from m3.explain.report import restrict

        program = self._whole
        return restrict(program, view) if view else program

    @cached_property
    def _whole(self) -> Program:
        if self.text is None:
            from m3 import compile_views

            project = self.project
            return compile_views(self.name, project.relations, self.views, project.dialect, others=project.views)
        from m3 import parse  # M3's parser makes its tables when it is imported first

        return check(parse(self.text, str(self.file)))

    def explained(self, view: str | None, rows: Mapping[str, float], *, full: bool) -> str:
        """The program, or the part that one view needs, for a person to read.

        Args:
            view: the view.
            rows: rows by relation, for numbers instead of symbols.
            full: also who writes and reads each map, and every statement.

        Raises:
            M3Error: as :meth:`program`.
        """
        from cumulus_ops.cli.analysing import ordering_lines
        from cumulus_ops.cli.explaining import GROUPS, group_lines, stored_groups
        from m3.confluence.proof import prove
        from m3.explain.report import explain

        text = explain(self.program(view), statistics=rows, full=full)
        found = prove(self._whole)
        groups = stored_groups(self._whole, found.grain, rows=rows, view=view)
        return "\n".join([text, GROUPS, *group_lines(groups), "", *ordering_lines(found)]) + "\n"

    def emitted(self, stage: str, view: str | None) -> str:
        """The result of a compiler's stage, as text.

        Raises:
            M3Error: as :meth:`program`.
            InputProblem: an M3 program has no algebra.
        """
        if self.text is None:
            from m3 import emit

            project, views = self.project, self._chosen(view)
            return emit(stage, self.name, project.relations, views, project.dialect, others=project.views)
        if stage not in ("m3", "dataflow"):
            hint = "give --emit m3 or dataflow, or a file with SQL"
            raise InputProblem(
                "an M3 program has no algebra and no deltas", kind="no-algebra", place=str(self.file), hint=hint
            )
        from m3.dataflow import describe_dataflow

        program = self.program(view)
        return format_program(program) if stage == "m3" else describe_dataflow(program)

    def _chosen(self, view: str | None) -> Mapping[str, str]:
        if view is None:
            return self.views
        if view not in self.views:
            hint = f"known views: {', '.join(sorted(self.views)) or 'none'}"
            raise InputProblem(f"no view {view!r}", kind="unknown-view", hint=hint)
        return {view: self.views[view]}

    def where(self, error: M3Error) -> str | None:
        """The text that an error's span speaks of."""
        if self.text is not None:
            return self.text
        return self.views.get(error.span.file) if error.span else None


def source_of(project: Project, file: Path | None) -> Source:
    """A file with SQL or, if its name ends in ``.m3``, a program; without a file, all that the project maintains.

    Raises:
        InputProblem: the file cannot be read.
    """
    file = file or project.program_file
    if file is None:
        return Source(project, project.name, project.views)
    text = _read(file)
    if file.suffix == ".m3":
        return Source(project, file.stem, {}, text, file)
    return Source(project, file.stem, {file.stem: text})


def rows_by_relation(project: Project, given: tuple[str, ...]) -> dict[str, float]:
    """``("orders=1500000",)`` as a mapping.

    Raises:
        InputProblem: it is not ``relation=number``, or there is no such relation.
    """
    return dict(_rows({r.name for r in project.relations}, text) for text in given)


def _rows(known: set[str], text: str) -> tuple[str, float]:
    name, _, count = text.partition("=")
    hint = "write --rows orders=1500000"
    if name not in known:
        hint = f"known relations: {', '.join(sorted(known))}"
        raise InputProblem(f"no relation {name!r}", kind="unknown-relation", place=f"--rows {text}", hint=hint)
    try:
        rows = float(count)
    except ValueError:
        rows = -1.0
    if not 0 <= rows < float("inf"):
        raise InputProblem(f"{count!r} is not a number of rows", kind="bad-rows", place=f"--rows {text}", hint=hint)
    return name, rows


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except OSError as error:
        raise InputProblem(
            f"cannot read it: {error.strerror}", kind="no-file", place=str(file), hint="give a file with one SELECT"
        ) from error
