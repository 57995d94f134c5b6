"""`cumulus simulate`: the papers' protocols in a simulator: experiments, the life of one event, and whether they are right."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click
from rich.progress import Progress

from cumulus_ops.cli.options import explain_errors
from cumulus_ops.cli.output import console, write_drawing
from cumulus_ops.project.errors import SetupProblem

__all__ = ["simulate"]

#: What `trace` takes beside the protocols.
RECOVERY = "recovery"


class _Experiments(click.Group):
    """The group's own commands, and one for each experiment. The simulator is a distribution of its own."""

    def list_commands(self, context: click.Context) -> list[str]:
        with explain_errors():
            _require_simulator()
        from cumulus_papers.experiments import EXPERIMENTS

        return [*super().list_commands(context), *EXPERIMENTS]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        with explain_errors():
            _require_simulator()
        from cumulus_papers.experiments import EXPERIMENTS

        known = super().get_command(context, name)
        return known if known is not None or name not in EXPERIMENTS else _experiment(name)


def _require_simulator() -> None:
    """Say how the simulator is installed where it is not."""
    if find_spec("cumulus_papers") is None:
        hint = "`pip install ./papers` in a checkout of Cumulus (`make install` does it)"
        raise SetupProblem("the simulator is not installed", kind="no-simulator", place="cumulus_papers", hint=hint)


@click.group(cls=_Experiments)
def simulate() -> None:
    """Simulate the papers' protocols: message by message, in virtual time, from one seed. `check` sees whether they are right, `trace`
    follows one event; the others are experiments, and each writes a table and its curves."""


def _experiment(name: str) -> click.Command:
    from cumulus_papers.experiments import EXPERIMENTS

    @click.command(name, help=EXPERIMENTS[name].question)
    @click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("."),
        show_default=True,
        help="Where to write the CSV file and the plots.",
    )
    @click.option(
        "--scale",
        type=click.FloatRange(min=0.01),
        default=1.0,
        show_default=True,
        help="How many events to simulate, relative to the documentation's tables.",
    )
    def run(out: Path, scale: float) -> None:
        from cumulus_papers.experiments import run_experiment

        with explain_errors():
            for file in run_experiment(
                EXPERIMENTS[name], out, scale, lambda line: console().print(line, highlight=False)
            ):
                click.echo(f"wrote {file}", err=True)

    return run


_world = click.option(
    "--world",
    type=click.Choice(("mixed", "tables")),
    default="mixed",
    show_default=True,
    help="Which dataflows fail: of all kinds, or such that most recoveries have to find an order by a table.",
)


@simulate.command()
@click.option(
    "--protocol",
    required=True,
    help="Which protocol; `--protocol list` names them. `recovery` follows one of three nodes that fail, in a dataflow that the "
    "seed draws; what else can be chosen is for protocols.",
)
@click.option(
    "--event",
    type=click.IntRange(min=1),
    required=True,
    help="Which event, in the order of versions; of `recovery` which failure.",
)
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write the message sequence chart there.")
@click.option("--program", default="cumulus-2.1", show_default=True, help="Which of the papers' programs.")
@click.option("--nodes", type=click.IntRange(1, 100), default=4, show_default=True)
@click.option("--coordinators", type=click.IntRange(1, 10), default=2, show_default=True)
@click.option(
    "--events", type=click.IntRange(1, 1000), default=30, show_default=True, help="How many events to simulate."
)
@click.option("--seed", type=int, default=0, show_default=True)
@_world
def trace(
    protocol: str,
    event: int,
    svg: Path | None,
    program: str,
    nodes: int,
    coordinators: int,
    events: int,
    seed: int,
    world: str,
) -> None:
    """Follow one event through a protocol: who sends what to whom, when, and what each message carries."""
    from cumulus_papers.case import PAPERS, paper
    from cumulus_papers.protocols import PROTOCOLS
    from cumulus_papers.run import Load
    from cumulus_papers.sequence import described, to_svg, trace_event

    if protocol not in (*PROTOCOLS, RECOVERY):
        raise click.BadParameter(f"known protocols: {', '.join((*PROTOCOLS, RECOVERY))}", param_hint="--protocol")
    if program not in PAPERS:
        raise click.BadParameter(f"known programs: {', '.join(PAPERS)}", param_hint="--program")
    with explain_errors():
        if protocol == RECOVERY:
            from cumulus_papers.recovery.picture import trace_recovery

            traced = trace_recovery(seed, event, world)
        else:
            load = Load(paper(program), nodes, coordinators, events, rate=400.0, domain=2, epoch_s=0.05, seed=seed)
            traced = trace_event(PROTOCOLS[protocol], load, event)
        for line in described(traced):
            click.echo(line)
        if svg is not None:
            write_drawing(svg, to_svg(traced))


@simulate.command()
@click.option("--seeds", type=click.IntRange(min=1), default=1000, show_default=True, help="How many random cases.")
@click.option("--first", type=click.IntRange(min=0), default=0, show_default=True, help="The first seed.")
@click.option("--protocol", "protocols", multiple=True, help="Only this protocol; repeat it.")
@click.option(
    "--processes", type=click.IntRange(min=1), help="How many work at the same time; by default one per core."
)
def check(seeds: int, first: int, protocols: tuple[str, ...], processes: int | None) -> None:
    """Run random cases of all protocols, and compare every state with the serial interpreter's. The first case that fails is made
    as small as possible and shown message by message; the exit code is then 1."""
    from cumulus_papers.protocols import PROTOCOLS
    from cumulus_papers.sweep import check_protocols, minimal_failure

    unknown = [name for name in protocols if name not in PROTOCOLS]
    if unknown:
        raise click.BadParameter(f"known protocols: {', '.join(PROTOCOLS)}", param_hint="--protocol")
    bar = Progress(console=console(), transient=True)
    with bar:
        task = bar.add_task("cases", total=seeds)
        report = check_protocols(
            protocols or tuple(PROTOCOLS),
            seeds,
            first,
            processes or os.cpu_count() or 1,
            lambda done: bar.advance(task, done),
        )
    click.echo(report.describe())
    if report.failures:
        click.echo(minimal_failure(report))
        sys.exit(1)


@simulate.command()
@click.option("--seeds", type=click.IntRange(min=1), default=1000, show_default=True, help="How many random histories.")
@click.option("--first", type=click.IntRange(min=0), default=0, show_default=True, help="The first seed.")
@click.option(
    "--processes", type=click.IntRange(min=1), help="How many work at the same time; by default one per core."
)
@_world
def recoveries(seeds: int, first: int, processes: int | None, world: str) -> None:
    """Let nodes of random dataflows fail, one or several, also while others recover, and see that what is left is an execution in which none
    did. Says which seeds failed; the exit code is then 1."""
    from cumulus_papers.recovery.histories import check_histories

    bar = Progress(console=console(), transient=True)
    with bar:
        task = bar.add_task("histories", total=seeds)
        found = check_histories(
            range(first, first + seeds),
            world,
            processes=processes or os.cpu_count() or 1,
            on_progress=lambda done: bar.advance(task, done),
        )
    click.echo(found.describe())
    if found.failures:
        sys.exit(1)
