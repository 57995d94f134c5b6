"""`cumulus batch`: what failed and was set aside, and what is to become of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from cumulus_ops.cli.options import JSON, PROJECT, open_project
from cumulus_ops.cli.output import console, print_json, print_left_out
from cumulus_ops.epochs.quarantine import drop_batch, retry_batch

__all__ = ["batch"]

NUMBERS = click.argument("numbers", nargs=-1, required=True, type=click.IntRange(min=1), metavar="BATCH...")


@click.group()
def batch() -> None:
    """Decide about batches that kept failing and were set aside. Their events do not count; everything else goes on."""


@batch.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that were retried or dropped.")
@PROJECT
@JSON
def list_(everything: bool, folder: Path, as_json: bool) -> None:
    """List the batches that are set aside, and why. With --json, also the traceback of each failure."""
    with open_project(folder) as runtime:
        found = [b for b in runtime.catalog.history.failed() if everything or b.state == "aside"]
        traces = {b.batch: runtime.catalog.log.batch(b.batch).reason for b in found} if as_json else {}
    if as_json:
        print_json([{**dataclasses.asdict(b), "trace": traces[b.batch]} for b in found])
    elif found:
        print_left_out(found)
    else:
        console().print("no batch is set aside")


@batch.command()
@NUMBERS
@PROJECT
@JSON
def retry(numbers: tuple[int, ...], folder: Path, as_json: bool) -> None:
    """Stamp the events of BATCH anew, into the epoch that its coordinator has open now: snapshots have them from that epoch on.
    They are applied with the coordinator's next mini-batch."""
    with open_project(folder) as runtime:
        done = [(number, retry_batch(runtime, number)) for number in numbers]
    if as_json:
        print_json([{"batch": number, "retried_as": new.id, "epoch": new.epoch} for number, new in done])
        return
    for number, new in done:
        console().print(f"batch {number} is batch {new.id} now, of epoch {new.epoch}: {new.events:,} events")


@batch.command()
@NUMBERS
@click.option("--yes", is_flag=True, help="Do not ask.")
@PROJECT
@JSON
def drop(numbers: tuple[int, ...], yes: bool, folder: Path, as_json: bool) -> None:
    """Decide that the events of BATCH will never count. A source may deliver them again, in a drop of another name."""
    if not yes:
        click.confirm(f"Never count the events of batch {', '.join(map(str, numbers))}?", abort=True, err=True)
    with open_project(folder) as runtime:
        done = [drop_batch(runtime, number) for number in numbers]
    if as_json:
        print_json([{"batch": b.id, "state": b.state} for b in done])
        return
    for b in done:
        console().print(f"batch {b.id} is dropped: {b.events:,} events")
