"""The commands: ``python -m benchmarks experiment NAME``."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.progress import say

__all__ = ["experiment"]


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
@click.option("--race-transfers", type=click.IntRange(0), default=1_000_000, show_default=True)
@click.option("--race-epochs", type=click.IntRange(1), default=20, show_default=True)
@click.pass_obj
def streaming_consistency(
    out: Path, transfers: int, epochs: int, every: int, race_transfers: int, race_epochs: int
) -> None:
    """Bank transfers whose total is 0 in every consistent state."""
    from benchmarks.experiments import consistency

    say(f"{transfers} transfers in {epochs} epochs")
    scenario = consistency.Scenario(transfers, epochs)
    raced = consistency.Scenario(race_transfers, race_epochs) if race_transfers else None
    consistency.run(out, scenario, range(every - 1, epochs, every) if every else (), raced)
