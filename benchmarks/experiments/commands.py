"""The commands: ``python -m benchmarks experiment NAME``."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["experiment"]

VERSIONS = click.option("--versions", multiple=True, default=("batch", "event"), help="Only these; may be repeated.")


@click.group()
@click.option("--out", type=click.Path(path_type=Path), help="Where pages' data go; default: docs/experiments.")
@click.pass_context
def experiment(context: click.Context, out: Path | None) -> None:
    """Look at what happens in the engine; data and plots go to docs/experiments."""
    from benchmarks.experiments.data import PAGES

    context.obj = out or PAGES


@experiment.command(name="streaming-consistency")
@click.option("--transfers", type=click.IntRange(1000), default=10_000_000, show_default=True)
@click.option("--epochs", type=click.IntRange(1), default=100, show_default=True)
@click.option("--validate", "every", default=25, show_default=True, help="Validate every so many epochs; 0 never.")
@click.option("--part", type=click.Choice(["turns", "race", "views"]), multiple=True, help="Default: all parts.")
@click.pass_obj
def streaming_consistency(out: Path, transfers: int, epochs: int, every: int, part: tuple[str, ...]) -> None:
    """Bank transfers whose total is 0 in every consistent state; a tenth of them, and of the epochs, as a race."""
    from benchmarks.experiments import consistency

    scenario = consistency.Scenario(transfers, epochs)
    if not part or "turns" in part:
        consistency.run(out, scenario, range(every - 1, epochs, every) if every else ())
    if not part or "race" in part:
        consistency.run_race(out, consistency.Scenario(transfers // 10, max(1, epochs // 10)))
    if not part or "views" in part:
        consistency.run_views(out, scenario)


@experiment.command()
@VERSIONS
@click.pass_obj
def staggering(out: Path, versions: tuple[str, ...]) -> None:
    """Whose batches are corrected: epochs staggered or aligned, loads even or skewed."""
    from benchmarks.experiments.staggering import run_staggering

    run_staggering(out, versions)


@experiment.command()
@VERSIONS
@click.pass_obj
def skew(out: Path, versions: tuple[str, ...]) -> None:
    """Corrections by clock skew and number of coordinators."""
    from benchmarks.experiments.staggering import run_skew

    run_skew(out, versions)


@experiment.command()
@VERSIONS
@click.pass_obj
def late(out: Path, versions: tuple[str, ...]) -> None:
    """Corrections where the others do not wait for a coordinator that is late."""
    from benchmarks.experiments.staggering import run_late

    run_late(out, versions)


@experiment.command()
@click.pass_obj
def buffers(out: Path) -> None:
    """How often to correct, against cost and wrong tentative answers."""
    from benchmarks.experiments.buffers import run_buffers

    run_buffers(out)


@experiment.command()
@click.pass_obj
def costs(out: Path) -> None:
    """What a message, an event, a written, merged or corrected entry costs on the engine; the simulator's units."""
    from benchmarks.experiments.costs import run_costs

    run_costs(out)


@experiment.command()
@click.option("--producers", default="1,2,5,10,20", show_default=True, help="Numbers of them.")
@click.option("--repetitions", type=click.IntRange(1), default=3, show_default=True)
@click.option("--drops", type=click.IntRange(8), default=30, show_default=True, help="Of each producer.")
@click.option("--cores", type=click.Choice(["two", "one each"]), multiple=True, help="Default: both.")
@click.pass_obj
def coordination(out: Path, producers: str, repetitions: int, drops: int, cores: tuple[str, ...]) -> None:
    """What order costs, and seals, against no coordination, by the number of producers."""
    from benchmarks.experiments.coordination import RATES, run_coordination

    run_coordination(out, [int(n) for n in producers.split(",")], repetitions, drops, cores or tuple(RATES))


@experiment.command()
@click.option("--sf", default=0.1, show_default=True, help="Scale factor of TPC-H.")
@click.option("--edits", type=click.IntRange(1), default=100, help="So many of the edits; by default all.")
@click.option(
    "--spark-every", default=6, show_default=True, help="Every so many-th epoch is proved on Spark, too; 0: none."
)
@click.option(
    "--seed", default=0, show_default=True, help="Of the stream, and of moments at which deployments are killed."
)
@click.pass_obj
def changing(out: Path, sf: float, edits: int, spark_every: int, seed: int) -> None:
    """From Q6 to all 22 queries while the stream runs, with deployments that are killed; every snapshot is proved."""
    from benchmarks.experiments.changing import Options, run

    run(out, Options(sf, edits, spark_every, seed))


@experiment.command()
@click.option("--sf", default=0.3, show_default=True, help="TPC-H's scale factor.")
@click.pass_obj
def edits(out: Path, sf: float) -> None:
    """What deployments cost beside recomputing everything: 20 edits of a project of 17 views."""
    from benchmarks.experiments.edits import run_edits

    run_edits(out, sf)


@experiment.command()
@click.option("--minutes", default=10.0, show_default=True, help="How long parts are killed.")
@click.option("--every", default=12.0, show_default=True, help="Seconds between two kills, in the mean.")
@click.option("--catalog", type=click.Choice(["sqlite", "postgresql"]), default="sqlite", show_default=True)
@click.option("--kind", "kinds", multiple=True, help="Only these; may be repeated.")
@click.option("--seed", default=0, show_default=True)
@click.pass_obj
def dying(out: Path, minutes: float, every: float, catalog: str, kinds: tuple[str, ...], seed: int) -> None:
    """A project under `cumulus up` while its parts are killed at random; every snapshot is compared with DuckDB."""
    from benchmarks.experiments.dying import Options, run

    run(out, Options(minutes, every, seed, catalog, kinds))


@experiment.command()
@click.pass_obj
def plots(out: Path) -> None:
    """Draw all plots anew from the data."""
    from benchmarks.experiments import buffers, consistency, coordination, staggering

    for draw in (consistency.plot, staggering.plot_staggering, buffers.plot_buffers, coordination.plot_coordination):
        draw(out)
