"""`cumulus coordinators` and `cumulus epoch`: who takes part, how that changes while the others go on, and epochs that end before their time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cumulus_ops.cli.options import JSON, PROJECT, open_project
from cumulus_ops.cli.output import console, print_json, show_value
from cumulus_ops.cli.status_text import coordinator_table
from cumulus_ops.epochs.status import status
from cumulus_ops.epochs.voting import open_epoch, remove_coordinator
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.publishing.telling import tell_where_coordinators_are

if TYPE_CHECKING:
    from cumulus_ops.project.settings import Project

__all__ = ["coordinators", "epoch"]


NUMBER = click.argument("number", type=click.IntRange(min=0), metavar="COORDINATOR")


@click.group(invoke_without_command=True)
@PROJECT
@JSON
@click.pass_context
def coordinators(context: click.Context, folder: Path, as_json: bool) -> None:
    """Show who the coordinators are; add one, drain one, remove one, while the others go on."""
    if context.invoked_subcommand is not None:
        return
    with open_project(folder) as runtime:
        now = status(runtime)
    if as_json:
        print_json(now.coordinators)
    else:
        console().print(coordinator_table(f"Coordinators of {show_value(now.program)}", now.coordinators))


@coordinators.command()
@click.argument("number", type=click.IntRange(min=0), metavar="[COORDINATOR]", required=False)
@PROJECT
@JSON
def add(number: int | None, folder: Path, as_json: bool) -> None:
    """Add a coordinator, by default with the lowest number that nobody has had. It joins in the next epoch that nobody has begun, and takes what
    lands in the folder of its number."""
    with open_project(folder) as runtime:
        new = runtime.catalog.members.add(number)
        (runtime.project.landing / str(new.coordinator)).mkdir(parents=True, exist_ok=True)
        tell_where_coordinators_are(runtime)
        landing = runtime.project.landing / str(new.coordinator)
    if as_json:
        print_json({"coordinator": new.coordinator, "first_epoch": new.first, "landing": landing})
    else:
        console().print(
            f"coordinator {new.coordinator} takes part from epoch {new.first} on; land its drops in {show_value(landing)}"
        )


@coordinators.command()
@NUMBER
@PROJECT
@JSON
def drain(number: int, folder: Path, as_json: bool) -> None:
    """Let COORDINATOR end the epoch that it has open as its last."""
    with open_project(folder) as runtime:
        member = runtime.catalog.members.drain(number)
        tell_where_coordinators_are(runtime)
    if as_json:
        print_json({"coordinator": number, "last_epoch": member.last})
    else:
        state = "has left after" if member.is_gone else "leaves with"
        console().print(
            f"coordinator {number} {state} epoch {member.last}; what lands for it later waits until it is added again"
        )
        _tell_of_sources(runtime.project, number)


@coordinators.command()
@NUMBER
@click.option("--yes", is_flag=True, help="Do not ask.")
@PROJECT
@JSON
def remove(number: int, yes: bool, folder: Path, as_json: bool) -> None:
    """Take COORDINATOR out now, because it is gone: apply what it has appended, and vote to end the epoch that it has open in its name, as its
    last. What has landed for it and was not appended waits in its landing folder until it is added again."""
    if not yes:
        click.confirm(f"Go on without coordinator {number}, from now on?", abort=True, err=True)
    with open_project(folder) as runtime:
        was_there = remove_coordinator(runtime, number)
        member = runtime.catalog.members.membership().find(number)
        left = runtime.sources.landing(number).waiting()
        tell_where_coordinators_are(runtime)
    last = member.last if member else None
    if as_json:
        print_json({"coordinator": number, "removed": was_there, "last_epoch": last, "left": left})
        return
    console().print(f"coordinator {number} {'is' if was_there else 'was'} out; epoch {last} was its last")
    if left:
        # not for another one: events are known by their numbers in the source, which another source may have used
        console().print(
            f"{len(left)} drops wait in {show_value(runtime.project.landing / str(number))} until it is added again"
        )
    _tell_of_sources(runtime.project, number)


def _tell_of_sources(project: Project, number: int) -> None:
    """That nobody asks a coordinator's sources when it is out."""
    for source in project.sources:
        if source.coordinator == number:
            console().print(f"source {source.name} stands still then; `coordinator:` in cumulus.yaml says whose it is")


# `cumulus epoch`: epochs that end before their time.


@click.group()
def epoch() -> None:
    """End epochs before their time."""


@epoch.command()
@click.argument("number", type=click.IntRange(min=0), metavar="[EPOCH]", required=False)
@PROJECT
@JSON
def end(number: int | None, folder: Path, as_json: bool) -> None:
    """End EPOCH now, and those before it, for all coordinators that are still in it; by default the oldest epoch that is open. What is
    appended counts in it, what is not belongs to the next. Each coordinator votes to end it when it has the token; later epochs follow from now on."""
    with open_project(folder) as runtime:
        which = open_epoch(runtime) if number is None else number
        ended = runtime.catalog.members.end_epoch(which, Rhythm.of(runtime.project))
        tell_where_coordinators_are(runtime)
    if as_json:
        print_json([{"epoch": b.epoch, "coordinator": b.coordinator, "ends_at": b.ends_at} for b in ended])
    elif not ended:
        console().print(f"epoch {which} has ended for all coordinators")
    for b in () if as_json else ended:
        console().print(f"epoch {b.epoch} ends for coordinator {b.coordinator} at {b.ends_at:%Y-%m-%d %H:%M:%S}")
