"""`cumulus epoch`: epochs that end before their time."""

from __future__ import annotations

from pathlib import Path

import click

from cumulus_ops.cli.options import JSON, PROJECT, opened
from cumulus_ops.cli.output import console, print_json

__all__ = ["epoch"]


@click.group()
def epoch() -> None:
    """End epochs before their time."""


@epoch.command()
@click.argument("number", type=click.IntRange(min=0), metavar="[EPOCH]", required=False)
@PROJECT
@JSON
def end(number: int | None, folder: Path, as_json: bool) -> None:
    """End EPOCH now, and those before it, for all coordinators that are still in it; by default the oldest epoch that is open. What is
    appended counts in it, what is not belongs to the next. Each coordinator seals it when it has the token; later epochs follow from now on."""
    from cumulus_ops.rhythm import Rhythm
    from cumulus_ops.snapshot import open_epoch, tell_where_coordinators_are

    with opened(folder) as runtime:
        which = open_epoch(runtime) if number is None else number
        ended = runtime.catalog.end_epoch(which, Rhythm.of(runtime.project))
        tell_where_coordinators_are(runtime)
    if as_json:
        print_json([{"epoch": b.epoch, "coordinator": b.coordinator, "ends_at": b.ends_at} for b in ended])
    elif not ended:
        console().print(f"epoch {which} has ended for all coordinators")
    for b in () if as_json else ended:
        console().print(f"epoch {b.epoch} ends for coordinator {b.coordinator} at {b.ends_at:%Y-%m-%d %H:%M:%S}")
