"""The command: ``python -m benchmarks run [CASE ...]``, ``report``, and ``experiment NAME``."""

from __future__ import annotations

import click

from benchmarks.cases import CASES
from benchmarks.experiments.commands import experiment
from benchmarks.progress import say
from benchmarks.report import write_report
from benchmarks.rows import merge_rows, read_rows, write_rows
from benchmarks.settings import RESULTS, Settings


@click.group()
def main() -> None:
    """Measure Cumulus beside recomputation and other systems."""


def _list(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()


@main.command()
@click.argument("cases", nargs=-1, type=click.Choice(list(CASES)))
@click.option("--sf", help="Scale factors, e.g. 0.1,1,10; default: the case's own.")
@click.option(
    "--queries", help="E.g. q1,q3; `all` is one program of all 22 (fixed, memory); those in one program (together)."
)
@click.option("--contestants", help="Only these, e.g. cumulus,flink.")
@click.option("--reps", type=click.IntRange(1), help="Measured runs of each contestant.")
@click.option("--fractions", help="Changed parts of the rows (refresh), e.g. 0.0001,0.001,0.3.")
@click.option("--batch-sizes", help="Events per batch, e.g. 1000,1000000.")
@click.option(
    "--cores",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="N of local[N], the workers of a cluster (cores), and the peers' cores.",
)
@click.option(
    "--part", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="How much of the stream peers get."
)
@click.option("--budget-minutes", type=float, help="Begin nothing new after that; earlier rows stay.")
@click.option("--keep", is_flag=True, help="Keep states, drops and changes that are otherwise deleted after use.")
def run(
    cases: tuple[str, ...],
    sf: str | None,
    queries: str | None,
    contestants: str | None,
    reps: int | None,
    fractions: str | None,
    batch_sizes: str | None,
    cores: int,
    part: float,
    budget_minutes: float | None,
    keep: bool,
) -> None:
    """Run CASES (all, when none is named) and merge their rows into the results."""
    settings = Settings(
        scale_factors=tuple(map(float, _list(sf))),
        queries=_list(queries),
        repetitions=reps,
        contestants=_list(contestants),
        fractions=tuple(map(float, _list(fractions))),
        batch_sizes=tuple(map(int, _list(batch_sizes))),
        cores=cores,
        part=part,
        budget_minutes=budget_minutes,
        keep=keep,
    )
    for case in cases or tuple(CASES):
        say(f"case {case}")
        file = RESULTS / f"{case}.csv"
        for rows in CASES[case](settings):
            write_rows(file, merge_rows(read_rows(file), rows))
    report()


main.add_command(experiment)


@main.command(name="report")
def report_command() -> None:
    """Draw plots and summary anew from the results."""
    report()


def report() -> None:
    """Plots and summary of whatever results there are."""
    for path in write_report(RESULTS):
        say(f"wrote {path.name}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
