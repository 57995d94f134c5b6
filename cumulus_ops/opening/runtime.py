"""A running project: its plan, catalog and executor, opened together and closed together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import m3
from cumulus_ops.append.declarations import declare
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.program import program_changed
from cumulus_ops.catalog.records import Batch, ProgramRecord
from cumulus_ops.compute.reading import BatchRef, write_deltas
from cumulus_ops.compute.steps import Executor, InProcess
from cumulus_ops.coordination.barriers import barriers_of
from cumulus_ops.coordination.plan import COORDINATION, CoordinationPlan, write_plan
from cumulus_ops.layout.partitioning import check_layout
from cumulus_ops.layout.plans import ProgramPlan, plan_json, plan_program
from cumulus_ops.light import lazy_module
from cumulus_ops.maps.packs import FORMAT
from cumulus_ops.opening.claims import check_claim, claim_state, look_at_claim, read_claim
from cumulus_ops.project.errors import InputProblem, SetupProblem
from cumulus_ops.project.settings import Project
from cumulus_ops.project.yaml_nodes import read_text
from cumulus_ops.sources.pending import Sources
from m3.program import Program

if TYPE_CHECKING:
    from cumulus_ops.compute import apply, spark
    from cumulus_ops.coordination import planning
    from m3.confluence import proof
else:  # for programs that are new, and for executors on Spark: most processes open a program that is compiled already
    apply, spark = map(lazy_module, ("cumulus_ops.compute.apply", "cumulus_ops.compute.spark"))
    planning, proof = map(lazy_module, ("cumulus_ops.coordination.planning", "m3.confluence.proof"))

__all__ = [
    "Compiled",
    "Runtime",
    "build_program",
    "compile_project",
    "have_views_changed",
    "initialise",
    "look_at_state",
    "open_runtime",
]


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
        files = self.catalog.log.files_of([batch.id for batch in batches])
        return tuple(
            BatchRef(b.id, b.epoch, b.ticket or 0, files[b.id], b.coordinator, b.first_sequence, b.events)
            for b in batches
        )


def build_program(project: Project) -> Program:
    """The program of a project folder: its M3 file, or its views compiled.

    Raises:
        M3Error: the text or views are wrong; it names their files, and knows all errors that were found.
    """
    if project.program_file is not None:
        program = m3.parse(read_text(project.program_file), str(project.program_file))
        declared = {r.name: r for r in project.relations}
        for relation in program.relations:
            if relation.name in declared and declared[relation.name].columns != relation.columns:
                raise InputProblem(
                    f"relation {relation.name} differs between the M3 file and cumulus.yaml",
                    kind="relation-mismatch",
                    place=str(project.program_file),
                    hint="declare the same columns and types in both",
                )
        return m3.check(program)
    try:
        return m3.compile_views(project.name, project.relations, project.views, project.dialect)
    except m3.M3Error as error:
        raise error.in_files({view: str(file) for view, file in project.view_files.items()}) from error


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
PLACES = {
    "folder",
    "landing",
    "state",
    "catalog_url",
    "published",
    "reports",
    "program_file",
    "memory",
    "dataflow",
    "view_files",
}


#: Counts the rules by which views are compiled. Where a new one makes another program of a view, a state of before is refused; all others
#: go on. 2: quotients and averages have 19 decimals. 3: sums of lines share a map, alternatives of EXISTS are looked up, chains of FULL JOINs are trees.
RULES = 3


def _source(project: Project) -> str:
    """Identifies what a program was compiled from, and all that was checked with it."""
    settings = [(f.name, getattr(project, f.name)) for f in fields(project) if f.name not in PLACES]
    files = (project.program_file, project.dataflow)
    texts = ["" if file is None else read_text(file) for file in files]
    return hashlib.sha256(repr((FORMAT, RULES, settings, texts)).encode()).hexdigest()


def _is_initialised(project: Project, source: str) -> bool:
    """Whether the catalog is this version's, and its program was compiled from this source."""
    claimed, catalog = read_claim(project), Catalog(project.catalog_url, project.state)
    try:
        is_so = (
            catalog.database.is_current()
            and catalog.program.source() == source
            and (project.state / COORDINATION).exists()
        )
        if is_so and claimed[0] is not None:
            check_claim(project, catalog, claimed)
        return is_so and claimed[0] is not None
    finally:
        catalog.close()


@dataclass(frozen=True)
class Compiled:
    """A project's program as it is registered: ``record``, its physical ``plan``, its ``coordination`` plan; ``confluence`` is what was proved of it."""

    program: Program
    confluence: proof.Confluence
    record: ProgramRecord
    plan: ProgramPlan
    coordination: CoordinationPlan


def compile_project(project: Project, versions: str | None = None) -> Compiled:
    """Compile what a project maintains, and plan it. ``versions``: see :func:`initialise`.

    Raises:
        M3Error: a view, or the program, is wrong.
    """
    program = build_program(project)
    text, digest = _text_of(program)
    confluence = proof.prove(program)
    plan, coordination = _make_plans(project, program, confluence, versions or confluence.grain)
    record = ProgramRecord(
        project.name,
        digest,
        text,
        plan.versions.name,
        project.coordinators,
        0 if program.derivations else None,
        FORMAT,
        plan.json,
        plan.copies_digest,
        coordination.to_json(),
    )
    return Compiled(program, confluence, record, plan, coordination)


def _text_of(program: Program) -> tuple[str, str]:
    """The program's text, and the digest by which it is known."""
    text = m3.format_program(program)
    return text, hashlib.sha256(text.encode()).hexdigest()


def look_at_state(project: Project) -> None:
    """See whether the project would be opened, and whether its views are still those that its state was made from. Nothing is written; nothing is compiled,
    unless something was changed in the project's files.

    Raises:
        SetupProblem: it was not initialised; or state and catalog do not belong together, or are another version's.
        InputProblem: the catalog maintains another program.
        M3Error: a view, or the program, is wrong.
    """
    claimed, catalog = read_claim(project), Catalog(project.catalog_url, project.state)
    try:
        catalog.database.check_schema()
        record = catalog.program.record()
        look_at_claim(project, catalog, claimed)
        _check_format(record)
        _check_copies(record, plan_json(record.compiled, record.granularity))
        if catalog.program.source() != _source(project) and _text_of(build_program(project))[1] != record.digest:
            raise program_changed(record.name)
    finally:
        catalog.close()


def have_views_changed(rt: Runtime) -> bool:
    """Whether the project has other views than its state was made from, by their texts, which are a part of the program. Compiling them, to find what else
    changes a program, takes too long for who wants to see how things are: half a second for six views."""
    if rt.project.program_file is not None or rt.catalog.program.source() == _source(rt.project):
        return False
    return list(rt.project.views.items()) != [(view.name, view.sql) for view in rt.program.views]


def _in_scheme(project: Project, made: Compiled, scheme: str) -> Compiled:
    """The same program in another version scheme."""
    plan, coordination = _make_plans(project, made.program, made.confluence, scheme)
    record = replace(made.record, granularity=scheme, compiled=plan.json, copies=plan.copies_digest)
    return replace(
        made, record=replace(record, coordination=coordination.to_json()), plan=plan, coordination=coordination
    )


def _initialise(project: Project, source: str, versions: str | None) -> None:
    made = compile_project(project, versions)
    catalog = Catalog(project.catalog_url, project.state)
    try:
        Sources(project, catalog).check()
        found = catalog.database.state_format()
        if found not in (None, FORMAT):
            raise _other_format(project.name, found)  # before anything is changed
        catalog.database.migrate()
        claim_state(project, catalog)
        known = catalog.program.record() if catalog.program.is_registered() else None
        if known and known.digest == made.record.digest and known.granularity != made.plan.versions.name:
            # It was registered when less was proved, and its data have such versions.
            made = _in_scheme(project, made, known.granularity)
        _register(catalog, made.record, made.plan, project.state)
        registered = catalog.program.record()
        _check_format(registered)
        coordination = made.coordination
        with _only_what_stays(catalog, registered, coordination):
            declare(project, catalog)
        coordination = replace(coordination, scheme=registered.granularity)  # whatever would be proved of it today
        if registered.coordination is None or _sealed_views(registered.coordination) != _sealed_views(
            coordination.to_json()
        ):
            catalog.finals.look_again()  # before the plan is recorded: who is killed in between does so again
        catalog.program.record_source(source, coordination.to_json())
        write_plan(project.state, coordination)
    finally:
        catalog.close()


@contextmanager
def _only_what_stays(catalog: Catalog, known: ProgramRecord, coordination: CoordinationPlan) -> Iterator[None]:
    """While it changes what may be appended, nobody who opens the project promises what only one of the plans does. Who is killed leaves it so."""
    if known.coordination is None:
        yield
        return
    source, kept = catalog.program.source() or "", CoordinationPlan.from_json(known.coordination).kept_by(coordination)
    catalog.program.record_source("", kept.to_json())
    try:
        yield
    except InputProblem:
        catalog.program.record_source(source, known.coordination)
        raise


def _sealed_views(plan: str) -> object:
    """By which seals the rows of which views become final."""
    return [(view.view, view.final, view.seals) for view in CoordinationPlan.from_json(plan).views]


def _make_plans(
    project: Project, program: Program, confluence: proof.Confluence, scheme: str
) -> tuple[ProgramPlan, CoordinationPlan]:
    """The physical plan of a program, checked against the project's layout, and its coordination plan."""
    plan = plan_program(program, scheme)
    check_layout(plan, project.layout)
    return plan, planning.plan_coordination(project, program, confluence, scheme)


def _register(catalog: Catalog, record: ProgramRecord, plan: ProgramPlan, root: Path) -> None:
    if catalog.program.is_registered():
        catalog.program.register(record)
        return
    with catalog.leases.step() as step:
        catalog.program.register(record, write_deltas(plan, root, apply.start_deltas(plan), step.label))


@contextmanager
def open_runtime(project: Project, executor: str | None = None) -> Iterator[Runtime]:
    """Open an initialised project.

    Args:
        project: the project.
        executor: ``inprocess`` or ``spark``; the project's own setting when None.

    Raises:
        SetupProblem: it has not been initialised.
    """
    claimed, catalog = read_claim(project), Catalog(project.catalog_url, project.state)
    runner = _executor(project, executor or project.executor.kind)
    sources = Sources(project, catalog)
    try:
        catalog.database.check_schema()
        record = catalog.program.record()
        check_claim(project, catalog, claimed)
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


ANEW = "`cumulus anew` makes the maps again, from the event log"


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
        return spark.SparkExecutor(project.executor, layout=project.layout)
    raise InputProblem(f"unknown executor {kind!r}", kind="unknown-executor", hint="use inprocess or spark")
