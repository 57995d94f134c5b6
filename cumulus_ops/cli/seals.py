"""`cumulus seals`: the values of seals, those that are closed, and what the others wait for."""

from __future__ import annotations

import dataclasses
import getpass
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cumulus_ops.cli.options import JSON, PROJECT, opened
from cumulus_ops.cli.output import age_text, console, print_json, shown

if TYPE_CHECKING:
    from rich.table import Table

    from cumulus_ops.catalog import OpenValue, SealCounts
    from cumulus_ops.config import Project

__all__ = ["seals"]


@click.group(invoke_without_command=True)
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Open values to show.")
@PROJECT
@JSON
@click.pass_context
def seals(context: click.Context, limit: int, folder: Path, as_json: bool) -> None:
    """Show the seals of relations, how many of their values are closed, and the open ones, the oldest first: for whom they wait, and since when."""
    if context.invoked_subcommand is not None:
        return
    from cumulus_ops.snapshot.too_late import too_late

    with opened(folder) as runtime:
        late = too_late(runtime)
        counts, waiting = runtime.catalog.seal_counts(), runtime.catalog.open_values(limit=limit)
        project = runtime.project
    if as_json:
        shown_counts = [{k: v for k, v in dataclasses.asdict(c).items() if k != "oldest"} for c in counts]
        print_json(
            {
                "seals": shown_counts,
                "open": [{**dataclasses.asdict(v), "value": v.texts} for v in waiting],
                "too_late": [dataclasses.asdict(one) for one in late],
            }
        )
    elif not project.seals:
        console().print("no relation has seals; see docs/landing.md")
    else:
        _print(project, counts, waiting)
        for one in late:
            console().print(str(one), style="yellow", markup=False, soft_wrap=True)


@seals.command()
@click.argument("relation")
@click.argument("seal")
@click.argument("values", nargs=-1, required=True, metavar="VALUE...")
@click.option(
    "--coordinator", type=click.IntRange(min=0), help="In whose name; by default the only one that they wait for."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@PROJECT
@JSON
def add(
    relation: str,
    seal: str,
    values: tuple[str, ...],
    coordinator: int | None,
    yes: bool,
    folder: Path,
    as_json: bool,
) -> None:
    """Seal VALUE of RELATION in the name of a coordinator that is gone, as a line of a CSV file has it. Events of it that come from that
    coordinator later are quarantined, and nothing undoes that."""
    from cumulus_ops.eventlog.sealing_by_hand import seal_by_hand

    if not yes:
        click.confirm(f"Accept no more events of {', '.join(values)}?", abort=True, err=True)
    by = f"by hand: {getpass.getuser()}@{socket.gethostname()}"
    with opened(folder) as runtime:
        who, count = seal_by_hand(runtime.project, runtime.catalog, relation, seal, values, coordinator, by[:200])
        still = runtime.catalog.open_values(relation, seal, limit=1)
    if as_json:
        print_json({"relation": relation, "seal": seal, "coordinator": who, "sealed": count})
        return
    console().print(f"{count} of {len(values)} values sealed in the name of coordinator {who}", highlight=False)
    if still:
        console().print("`cumulus seals` shows what other values wait for")


def _print(project: Project, counts: Sequence[SealCounts], waiting: Sequence[OpenValue]) -> None:
    out = console()
    table = _table("Seals", "relation", "seal", "columns", "closed by", "open", "closed", right=("open", "closed"))
    known = {(c.relation, c.seal): c for c in counts}
    for relation, of in project.seals.items():
        for seal in of:
            found = known.get((relation, seal.name))
            numbers = (f"{found.open:,}", f"{found.closed:,}") if found else ("0", "0")
            table.add_row(shown(relation), seal.name, ", ".join(seal.columns), CLOSED_BY[seal.producers], *numbers)
    out.print(table)
    if not waiting:
        return
    table = _table("Open values, the oldest first", "relation", "seal", "value", "for", "wait for", right=("for",))
    for value in waiting:
        table.add_row(shown(value.relation), value.seal, shown(value.shown), age_text(value.age_s), value.who)
    out.print(table)
    left = sum(c.open for c in counts) - len(waiting)
    if left > 0:
        out.print(f"{left:,} more are not shown (--limit)")
    if any(value.gone for value in waiting):
        out.print("Who is gone seals nothing. Decide by: cumulus seals add RELATION SEAL VALUE", style="yellow")


CLOSED_BY = {"all": "all coordinators", "registered": "those that are registered", "one": "its one producer"}


def _table(title: str, *columns: str, right: Sequence[str] = ()) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table
