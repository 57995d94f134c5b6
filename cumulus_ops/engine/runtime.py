"""A running project: its plan, catalog and executor, opened together and closed together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cumulus_ops.catalog import Batch, Catalog, ProgramRecord
from cumulus_ops.config import Project
from cumulus_ops.coordination.barriers import barriers_of
from cumulus_ops.coordination.plan import CoordinationPlan
from cumulus_ops.coordination.stored import COORDINATION, write_plan
from cumulus_ops.engine.executor import Executor, InProcess
from cumulus_ops.errors import InputProblem, SetupProblem
from cumulus_ops.layout import ProgramPlan, check_layout, plan_json, plan_program
from cumulus_ops.mapstore import FORMAT
from cumulus_ops.sources import Sources
from cumulus_ops.yaml_nodes import read_text
from m3.program import Program

if TYPE_CHECKING:
    from cumulus_ops.engine.events import BatchRef
    from m3.confluence import Confluence

__all__ = ["Runtime", "build_program", "initialise", "open_runtime"]


@dataclass(frozen=True)
class Runtime:
    """What the steps of a project need. ``sources`` are opened when they are first asked what waits. ``coordination`` says what has to be
    waited for, and from when on what is read is final."""

    project: Project
    plan: ProgramPlan
    catalog: Catalog
    executor: Executor
    sources: Sources
    coordination: CoordinationPlan

    @property
    def program(self) -> Program:
        """The maintained program."""
        return self.plan.program

    def reference(self, batch: Batch) -> BatchRef:
        """A batch as the engine sees it."""
        return self.references([batch])[0]

    def references(self, batches: Sequence[Batch]) -> tuple[BatchRef, ...]:
        """Batches as the engine sees them."""
        from cumulus_ops.engine.events import BatchRef

        files = self.catalog.log_files_of([batch.id for batch in batches])
        return tuple(
            BatchRef(b.id, b.epoch, b.ticket or 0, files[b.id], b.coordinator, b.first_sequence, b.events)
            for b in batches
        )


def build_program(project: Project) -> Program:
    """The program of a project folder: its M3 file, or its views compiled.

    Raises:
        M3Error: the text or a view is wrong.
    """
    from m3 import check, compile_views, parse  # the SQL parser and the compiler: open programs are compiled already

    if project.program_file is not None:
        program = parse(read_text(project.program_file), str(project.program_file))
        declared = {r.name: r for r in project.relations}
        for relation in program.relations:
            if relation.name in declared and declared[relation.name].columns != relation.columns:
                raise InputProblem(
                    f"relation {relation.name} differs between the M3 file and cumulus.yaml",
                    kind="relation-mismatch",
                    place=str(project.program_file),
                    hint="declare the same columns and types in both",
                )
        return check(program)
    return compile_views(project.name, project.relations, project.views, project.dialect)


def initialise(project: Project, *, versions: str | None = None) -> None:
    """Create or migrate the catalog, compile and register the program, with its coordination plan. Running it again changes nothing, and
    costs little: what was compiled from the same file is not compiled again.

    Args:
        project: the project.
        versions: for experiments and tests, the name of a version scheme; None for what is proved of the program. ``event`` is
            right for every program. What is registered already keeps the scheme that it has.
    """
    source = _source(project)
    if not _is_initialised(project, source):
        _initialise(project, source, versions)
    for folder in ("runs", "log"):
        (project.state / folder).mkdir(parents=True, exist_ok=True)


#: What may differ between the machines that run a project, and what says where things are, and not what they are.
PLACES = {"folder", "landing", "state", "catalog_url", "published", "reports", "program_file", "memory", "dataflow"}


def _source(project: Project) -> str:
    """Identifies what a program was compiled from, and all that was checked with it."""
    settings = [(f.name, getattr(project, f.name)) for f in fields(project) if f.name not in PLACES]
    files = (project.program_file, project.dataflow)
    texts = ["" if file is None else read_text(file) for file in files]
    return hashlib.sha256(repr((FORMAT, settings, texts)).encode()).hexdigest()


def _is_initialised(project: Project, source: str) -> bool:
    """Whether the catalog is this version's, and its program was compiled from this source."""
    catalog = Catalog(project.catalog_url, project.state)
    try:
        return catalog.is_current() and catalog.source() == source and (project.state / COORDINATION).exists()
    finally:
        catalog.close()


def _initialise(project: Project, source: str, versions: str | None) -> None:
    from cumulus_ops.eventlog.declarations import declare
    from m3 import format_program
    from m3.confluence import prove

    program = build_program(project)
    text = format_program(program)
    confluence = prove(program)
    plan, coordination = _planned(project, program, confluence, versions or confluence.grain)
    catalog = Catalog(project.catalog_url, project.state)
    try:
        Sources(project, catalog).check()
        _refuse_other_formats(catalog, project.name)  # before anything is changed
        catalog.migrate()
        digest = hashlib.sha256(text.encode()).hexdigest()
        known = catalog.program() if catalog.registered() else None
        if known and known.digest == digest and known.granularity != plan.versions.name:
            # It was registered when less was proved, and its data have such versions.
            plan, coordination = _planned(project, program, confluence, known.granularity)
        refreshed = 0 if program.derivations else None
        record = ProgramRecord(
            project.name,
            digest,
            text,
            plan.versions.name,
            project.coordinators,
            refreshed,
            FORMAT,
            plan.json,
            plan.copies_digest,
            coordination.to_json(),
        )
        _register(catalog, record, plan, project.state)
        registered = catalog.program()
        _check_format(registered)
        with _only_what_stays(catalog, registered, coordination):
            declare(project, catalog)
        coordination = replace(coordination, scheme=registered.granularity)  # whatever would be proved of it today
        if registered.coordination is None or _sealed(registered.coordination) != _sealed(coordination.to_json()):
            catalog.look_again()  # before the plan is recorded: who is killed in between does so again
        catalog.record_source(source, coordination.to_json())
        write_plan(project.state, coordination)
    finally:
        catalog.close()


@contextmanager
def _only_what_stays(catalog: Catalog, known: ProgramRecord, coordination: CoordinationPlan) -> Iterator[None]:
    """While it changes what may be appended, nobody who opens the project promises what only one of the plans does. Who is killed leaves it so."""
    if known.coordination is None:
        yield
        return
    source, kept = catalog.source() or "", CoordinationPlan.from_json(known.coordination).kept_by(coordination)
    catalog.record_source("", kept.to_json())
    try:
        yield
    except InputProblem:
        catalog.record_source(source, known.coordination)
        raise


def _sealed(plan: str) -> object:
    """By which seals the rows of which views become final."""
    return [(view.view, view.final, view.seals) for view in CoordinationPlan.from_json(plan).views]


def _planned(
    project: Project, program: Program, confluence: Confluence, scheme: str
) -> tuple[ProgramPlan, CoordinationPlan]:
    """The physical plan of a program, checked against the project's layout, and its coordination plan."""
    from cumulus_ops.coordination.planning import plan_coordination  # analyses are for new programs

    plan = plan_program(program, scheme)
    check_layout(plan, project.layout)
    return plan, plan_coordination(project, program, confluence, scheme)


def _register(catalog: Catalog, record: ProgramRecord, plan: ProgramPlan, root: Path) -> None:
    if catalog.registered():
        catalog.register(record)
        return
    from cumulus_ops.engine.sources import write_deltas
    from cumulus_ops.engine.start import start_deltas

    with catalog.step() as step:
        catalog.register(record, write_deltas(plan, root, start_deltas(plan), step.label))


@contextmanager
def open_runtime(project: Project, executor: str | None = None) -> Iterator[Runtime]:
    """Open an initialised project.

    Args:
        project: the project.
        executor: ``inprocess`` or ``spark``; the project's own setting when None.

    Raises:
        SetupProblem: it has not been initialised.
    """
    catalog = Catalog(project.catalog_url, project.state)
    runner = _executor(project, executor or project.executor.kind)
    sources = Sources(project, catalog)
    try:
        catalog.check_schema()
        record = catalog.program()
        _check_format(record)
        plan = plan_json(record.compiled, record.granularity)
        _check_copies(record, plan)
        yield Runtime(project, plan, catalog, runner, sources, _coordination(record, plan))
    finally:
        sources.close()
        runner.close()
        catalog.close()


def _coordination(record: ProgramRecord, plan: ProgramPlan) -> CoordinationPlan:
    """The plan that is stored; for a program that was registered before there were plans, one in which answers are final with their epoch."""
    if record.coordination is not None:
        return CoordinationPlan.from_json(record.coordination)
    return CoordinationPlan(record.granularity, barriers=barriers_of(plan.program, {}, ()))


ANEW = "move the state folder and the catalog away, run `cumulus init`, and land the drops again"


def _refuse_other_formats(catalog: Catalog, name: str) -> None:
    found = catalog.state_format()
    if found not in (None, FORMAT):
        raise _other_format(name, found)


def _check_format(record: ProgramRecord) -> None:
    if record.format != FORMAT:
        raise _other_format(record.name, record.format)


def _other_format(name: str, found: int | None) -> SetupProblem:
    message = f"the state of {name} has format {found}, and this version of Cumulus reads {FORMAT}"
    return SetupProblem(message, kind="state-format", hint=ANEW)


def _check_copies(record: ProgramRecord, plan: ProgramPlan) -> None:
    """Which groups and copies there are follows from the program by rules that another version may have changed."""
    if record.copies != plan.copies_digest:
        raise SetupProblem(
            f"the maps of {record.name} are kept in other groups or copies than this version of Cumulus keeps them in",
            kind="state-copies",
            hint=ANEW,
        )


def _executor(project: Project, kind: str) -> Executor:
    if kind == "inprocess":
        return InProcess()
    if kind == "spark":
        from cumulus_ops.engine.spark import SparkExecutor

        return SparkExecutor(project.executor, layout=project.layout)
    raise InputProblem(f"unknown executor {kind!r}", kind="unknown-executor", hint="use inprocess or spark")
