"""A running project: its plan, catalog and executor, opened together and closed together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import m3
from cumulus_ops.append.batches import Room
from cumulus_ops.append.declarations import declare
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.program import program_changed
from cumulus_ops.catalog.records import Batch, ProgramRecord
from cumulus_ops.compute.reading import BatchRef, rows_at_once, write_deltas
from cumulus_ops.compute.steps import Executor, InProcess
from cumulus_ops.coordination.barriers import barriers_of
from cumulus_ops.coordination.plan import COORDINATION, CoordinationPlan, write_plan
from cumulus_ops.layout.choices import Choices
from cumulus_ops.layout.partitioning import check_layout
from cumulus_ops.layout.plans import ProgramPlan, plan_json, plan_program
from cumulus_ops.light import lazy_module
from cumulus_ops.maps.packs import FORMAT
from cumulus_ops.opening.claims import check_claim, claim_state, look_at_claim, read_claim
from cumulus_ops.opening.columns import follow, past_programs
from cumulus_ops.opening.compiling import build_program, find_edit
from cumulus_ops.project.definition import definition_of, with_definition
from cumulus_ops.project.errors import InputProblem, SetupProblem
from cumulus_ops.project.settings import BATCH_ROWS, Project
from cumulus_ops.project.yaml_nodes import read_text
from cumulus_ops.sources.pending import Sources
from m3.formatting import program_from_json, program_to_json
from m3.program import Program

if TYPE_CHECKING:
    from cumulus_ops.compute import apply, spark
    from cumulus_ops.coordination import planning
    from m3 import carry
    from m3.confluence import proof
else:  # for programs that are new, and for executors on Spark: most processes open a program that is compiled already
    apply, spark = map(lazy_module, ("cumulus_ops.compute.apply", "cumulus_ops.compute.spark"))
    planning, proof = map(lazy_module, ("cumulus_ops.coordination.planning", "m3.confluence.proof"))
    carry = lazy_module("m3.carry")

__all__ = [
    "Compiled",
    "Runtime",
    "compile_project",
    "digest_of",
    "initialise",
    "look_at_state",
    "open_runtime",
    "plan_of",
    "source_of",
    "waits_for_deployment",
]


#: Of a column of texts Arrow holds so many bytes at once.
TEXT_BYTES = 2**31 - 1


@dataclass(frozen=True)
class Runtime:
    """What the steps of a project need. ``sources`` are opened when they are first asked what waits. ``coordination`` says what has to be
    waited for, and from when on what is read is final. ``project`` has the definition of the current revision, ``as_edited`` that of its folder.
    ``on_snapshot`` is called when the snapshot of an epoch is committed."""

    project: Project
    as_edited: Project
    plan: ProgramPlan
    catalog: Catalog
    executor: Executor
    sources: Sources
    coordination: CoordinationPlan
    revision: int
    on_snapshot: Callable[[Runtime, int], None] | None = None

    def as_of(self, epoch: int) -> Runtime:
        """The project as it was in the revision that an epoch's snapshot belongs to, for whoever reads, publishes or proves that."""
        number = self.catalog.program.revision_at(epoch)
        return self if number == self.revision else self.in_revision(self.catalog.program.record(number))

    def in_revision(self, record: ProgramRecord) -> Runtime:
        """The project in another revision."""
        plan = plan_of(record)
        project = with_definition(self.as_edited, plan.program, record.definition)
        return replace(
            self, project=project, plan=plan, coordination=_coordination(record, plan), revision=record.revision
        )

    @property
    def program(self) -> Program:
        """The maintained program."""
        return self.plan.program

    @property
    def room(self) -> Room:
        """How much of a delivery a batch has at the most: as many rows as the project says, or as there is memory for."""
        memory = self.project.memory_bytes
        if self.project.batch_rows is not None:
            return Room(self.project.least_batch_rows)
        return Room(max(BATCH_ROWS, rows_at_once(self.plan, memory)), min(memory // 4, TEXT_BYTES))

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


def initialise(project: Project, *, versions: str | None = None, goes_on: bool = False) -> None:
    """Create or migrate the catalog, compile and register the program, with its coordination plan. Running it again changes nothing, and
    costs little: what was compiled from the same file is not compiled again.

    Args:
        project: the project.
        versions: for experiments and tests, the name of a version scheme; None for what is proved of the program. ``event`` is
            right for every program. What is registered already keeps the scheme that it has.
        goes_on: a project that is initialised goes on as it was, if its folder defines something else by now, or is wrong. That waits to be
            deployed, and status and pages say so.

    Raises:
        InputProblem: the folder defines something else than what is maintained; a source, a key or a seal is wrong.
        M3Error: a view, or the program, is wrong.
        SetupProblem: state and catalog do not belong together, or are another version's.
    """
    source = source_of(project)
    if not _is_initialised(project, source, goes_on=goes_on):
        try:
            _initialise(project, source, versions)
        except (InputProblem, m3.M3Error):
            if not goes_on or not _waits_for_deployment(project, source):
                raise
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
    "deploy_cores",
    "backup",
    "fsck_percent",
    "dataflow",
    "view_files",
}


def source_of(project: Project) -> str:
    """Identifies what a program was compiled from, and all that was checked with it."""
    settings = [(f.name, getattr(project, f.name)) for f in fields(project) if f.name not in PLACES]
    files = (project.program_file, project.dataflow)
    texts = ["" if file is None else read_text(file) for file in files]
    return hashlib.sha256(repr((FORMAT, settings, texts)).encode()).hexdigest()


def _waits_for_deployment(project: Project, source: str) -> bool:
    """Note that the folder is not what is maintained; False if nothing is."""
    catalog = Catalog(project.catalog_url, project.state)
    try:
        if not catalog.database.is_current() or not catalog.program.is_registered():
            return False
        catalog.program.record_other(source)
        return True
    finally:
        catalog.close()


def _is_initialised(project: Project, source: str, *, goes_on: bool) -> bool:
    """Whether the catalog is this version's, and its program was compiled from this source; or from another one, and ``goes_on``."""
    claimed, catalog = read_claim(project), Catalog(project.catalog_url, project.state)
    try:
        is_so = (
            catalog.database.is_current()
            and (catalog.program.source() == source or (goes_on and catalog.program.other() == source))
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


def compile_project(project: Project, versions: str | None = None, catalog: Catalog | None = None) -> Compiled:
    """Compile what a project maintains, and plan it. ``versions``: see :func:`initialise`. ``catalog``: what it is to follow, as to the columns
    of the log; None if there is no log.

    Raises:
        M3Error: a view, or the program, is wrong.
    """
    program = build_program(project)
    if catalog is not None:
        current = program_from_json(catalog.program.record().compiled)
        program = follow(program, current, past_programs(catalog), project.renamed)
    text, digest = digest_of(program)
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
        plan.choices_json,
        definition_of(project),
        coordination.to_json(),
    )
    return Compiled(program, confluence, record, plan, coordination)


def digest_of(program: Program) -> tuple[str, str]:
    """A program's text, and the digest by which it is known."""
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
        Choices.from_json(record.choices)
        is_known = catalog.program.source() == source_of(project)
        if not is_known and find_edit(project, record).is_change:
            raise program_changed(record.name)
    finally:
        catalog.close()


def waits_for_deployment(project: Project, catalog: Catalog) -> bool:
    """Whether the project's folder defines something else than what is maintained, or is wrong. It is compiled if nobody has done so since it was edited."""
    source = source_of(project)
    if source in (catalog.program.source(), catalog.program.other()):
        return catalog.program.other() == source != catalog.program.source()
    try:
        return find_edit(project, catalog.program.record()).is_change
    except (InputProblem, m3.M3Error):
        return True


def _keep_what_is_registered(project: Project, registered: ProgramRecord) -> tuple[CoordinationPlan, ProgramRecord]:
    """The maps that are registered, for views that mean the same and may be written otherwise by now; and the coordination plan of that.

    Raises:
        InputProblem: they do not mean the same.
    """
    edit = find_edit(project, registered)
    if edit.is_change:
        raise program_changed(registered.name)
    program = program_from_json(registered.compiled)
    if not edit.is_text and edit.new.views:
        together = Choices.from_json(registered.choices).together()
        carried = carry.carry_over(program, edit.new, together, as_they_are=edit.stays, order=edit.order).program
        program = replace(carried, relations=program.relations)
    text, digest = digest_of(program)
    coordination = planning.plan_coordination(project, program, proof.prove(program), registered.granularity)
    return coordination, replace(registered, text=text, digest=digest, compiled=program_to_json(program))


def _initialise(project: Project, source: str, versions: str | None) -> None:
    catalog = Catalog(project.catalog_url, project.state)
    try:
        is_known = catalog.database.is_current() and catalog.program.is_registered()
        made = None if is_known else compile_project(project, versions)
        Sources(project, catalog).check()
        found = catalog.database.state_format()
        if found not in (None, FORMAT):
            raise _other_format(project.name, found)  # before anything is changed
        catalog.database.migrate()
        claim_state(project, catalog)
        if made is not None and not catalog.program.is_registered():
            with catalog.leases.step() as step:
                start = write_deltas(made.plan, project.state, apply.start_deltas(made.plan), step.label)
                catalog.program.register(made.record, start)
        registered = catalog.program.record()
        _check_format(registered)
        if made is not None and registered.digest == made.record.digest:
            coordination, kept = made.coordination, registered
        else:
            coordination, kept = _keep_what_is_registered(project, registered)
        known = with_definition(project, program_from_json(registered.compiled), definition_of(project))
        with _only_what_stays(catalog, registered, coordination):
            declare(known, catalog)
        if registered.coordination is None or _sealed_views(registered.coordination) != _sealed_views(
            coordination.to_json()
        ):
            catalog.finals.look_again()  # before the plan is recorded: who is killed in between does so again
        catalog.program.record_source(source, coordination.to_json(), replace(kept, definition=definition_of(project)))
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


@contextmanager
def open_runtime(project: Project, executor: str | None = None, *, complete: bool = True) -> Iterator[Runtime]:
    """Open an initialised project.

    Args:
        project: the project.
        executor: ``inprocess`` or ``spark``; the project's own setting when None.
        complete: whether a state folder is refused that lacks the newest file of the log.

    Raises:
        SetupProblem: it has not been initialised.
    """
    claimed, catalog = read_claim(project), Catalog(project.catalog_url, project.state)
    runner = _executor(project, executor or project.executor.kind)
    with ExitStack() as stack:
        stack.callback(catalog.close)
        stack.callback(runner.close)
        catalog.database.check_schema()
        record = catalog.program.record()
        check_claim(project, catalog, claimed, complete=complete)
        _check_format(record)
        plan = plan_of(record)
        catalog.database.known_revision = record.revision
        deployed = with_definition(project, plan.program, record.definition)
        sources = Sources(deployed, catalog)
        stack.callback(sources.close)
        yield Runtime(deployed, project, plan, catalog, runner, sources, _coordination(record, plan), record.revision)


def plan_of(record: ProgramRecord) -> ProgramPlan:
    """The physical plan of a revision, as it is stored."""
    return plan_json(record.compiled, record.granularity, record.choices)


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


def _executor(project: Project, kind: str) -> Executor:
    if kind == "inprocess":
        return InProcess()
    if kind == "spark":
        return spark.SparkExecutor(project.executor, layout=project.layout)
    raise InputProblem(f"unknown executor {kind!r}", kind="unknown-executor", hint="use inprocess or spark")
