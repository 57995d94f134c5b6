"""`cumulus source`, `keys` and `seals`: where sources are, what is known of keys, and which values are open or closed."""

from __future__ import annotations

import dataclasses
import getpass
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from cumulus_ops.append.seals import seal_by_hand
from cumulus_ops.cli.options import JSON, PROJECT, open_project
from cumulus_ops.cli.output import age_text, console, print_json, show_value, size_text
from cumulus_ops.keys.building import build as build_index
from cumulus_ops.keys.runs import signature
from cumulus_ops.project.errors import CumulusError, InputProblem
from cumulus_ops.query.overview import standing_sources, too_late
from cumulus_ops.sources.postgres.slot import dropped_slots, held_slots
from cumulus_ops.sources.postgres.source import postgres_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from cumulus_ops.catalog.values import OpenValue, SealCounts
    from cumulus_ops.opening.runtime import Runtime
    from cumulus_ops.project.settings import Project
    from cumulus_ops.sources.postgres.connection import PostgresSettings

__all__ = ["keys", "seals", "source"]


# `cumulus keys`: what the keys of relations mean, and what is known of them.


@click.group(invoke_without_command=True)
@PROJECT
@JSON
@click.pass_context
def keys(context: click.Context, folder: Path, as_json: bool) -> None:
    """Show what the keys of relations mean (`mode: trusted`, `strict` or `upsert`), and how large their indexes are."""
    if context.invoked_subcommand is not None:
        return
    with open_project(folder) as runtime:
        found = [_state(runtime, relation.name) for relation in runtime.project.relations]
    if as_json:
        print_json(found)
        return

    table = Table("relation", "mode", "writers", "entries", "runs", "size", "index", title="Keys")
    for state in found:
        numbers = (f"{state['entries']:,}", str(state["runs"]), size_text(int(str(state["bytes"]))))
        table.add_row(*(str(state[c]) for c in ("relation", "mode", "writers")), *numbers, str(state["index"]))
    console().print(table)


def _state(runtime: Runtime, relation: str) -> dict[str, object]:
    settings, index = runtime.project.keys.get(relation), runtime.catalog.key_indexes.index(relation)
    # an index that another program reads is built anew
    readable = signature(next(r for r in runtime.project.relations if r.name == relation))
    runs = index.runs if index is not None else ()
    return {
        "relation": relation,
        "mode": settings.mode if settings else "trusted",
        "writers": settings.writers if settings else "any",
        "entries": sum(run.rows for run in runs),
        "runs": len(runs),
        "bytes": sum(run.bytes for run in runs),
        "index": "none"
        if settings is None
        else "up to date"
        if index is not None and not index.is_behind and index.signature == readable
        else "built with the next append",
    }


@keys.command()
@click.argument("relations", nargs=-1, metavar="[RELATION]...")
@PROJECT
@JSON
def build(relations: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Build the key index of RELATION, by default of all that are not trusted, from the event log, and report what is wrong there: keys that
    have several rows, or a row several times or less than not at all. It stays as it is. The next append would do the same."""
    with open_project(folder) as runtime:
        chosen = relations or tuple(runtime.project.keys)
        for name in chosen:
            if name not in runtime.project.keys:
                hint = "write `mode: strict` or `mode: upsert` for the relation in cumulus.yaml"
                raise InputProblem(f"there is no relation {name} whose keys mean something", kind="no-keys", hint=hint)
        found = {}
        for relation in runtime.project.relations:
            if relation.name in chosen:
                with runtime.catalog.leases.step() as step:
                    show = _progress(relation.name)
                    found[relation.name] = build_index(runtime.project, runtime.catalog, relation, step.label, show)
    if as_json:
        print_json({name: {"wrong": wrong.keys, "shown": wrong.shown} for name, wrong in found.items()})
        return
    for name, wrong in found.items():
        console().print(f"{name}: {wrong.keys:,} keys of the log are wrong" if wrong.keys else f"{name}: built")
        for line in wrong.shown:
            console().print(f"  {line}", markup=False)


def _progress(relation: str) -> Callable[[int, int], None]:
    """Says how far it has come, on stderr."""

    def show(done: int, total: int) -> None:
        click.echo(f"{relation}: {done:,} of {total:,} rows", err=True)

    return show


# `cumulus seals`: the values of seals, those that are closed, and what the others wait for.


@click.group(invoke_without_command=True)
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Open values to show.")
@PROJECT
@JSON
@click.pass_context
def seals(context: click.Context, limit: int, folder: Path, as_json: bool) -> None:
    """Show the seals of relations, how many of their values are closed, and the open ones, the oldest first: for whom they wait, and since when."""
    if context.invoked_subcommand is not None:
        return
    with open_project(folder) as runtime:
        late = too_late(runtime)
        counts, waiting = runtime.catalog.seals.seal_counts(), runtime.catalog.seals.open_values(limit=limit)
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
        _print_values(project, counts, waiting)
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
    if not yes:
        click.confirm(f"Accept no more events of {', '.join(values)}?", abort=True, err=True)
    by = f"by hand: {getpass.getuser()}@{socket.gethostname()}"
    with open_project(folder) as runtime:
        who, count = seal_by_hand(runtime.project, runtime.catalog, relation, seal, values, coordinator, by[:200])
        still = runtime.catalog.seals.open_values(relation, seal, limit=1)
    if as_json:
        print_json({"relation": relation, "seal": seal, "coordinator": who, "sealed": count})
        return
    console().print(f"{count} of {len(values)} values sealed in the name of coordinator {who}", highlight=False)
    if still:
        console().print("`cumulus seals` shows what other values wait for")


def _print_values(project: Project, counts: Sequence[SealCounts], waiting: Sequence[OpenValue]) -> None:
    out = console()
    table = _table("Seals", "relation", "seal", "columns", "closed by", "open", "closed", right=("open", "closed"))
    known = {(c.relation, c.seal): c for c in counts}
    for relation, of in project.seals.items():
        for seal in of:
            found = known.get((relation, seal.name))
            numbers = (f"{found.open:,}", f"{found.closed:,}") if found else ("0", "0")
            table.add_row(show_value(relation), seal.name, ", ".join(seal.columns), CLOSED_BY[seal.producers], *numbers)
    out.print(table)
    if not waiting:
        return
    table = _table("Open values, the oldest first", "relation", "seal", "value", "for", "wait for", right=("for",))
    for value in waiting:
        table.add_row(show_value(value.relation), value.seal, show_value(value.shown), age_text(value.age_s), value.who)
    out.print(table)
    left = sum(c.open for c in counts) - len(waiting)
    if left > 0:
        out.print(f"{left:,} more are not shown (--limit)")
    if any(value.gone for value in waiting):
        out.print("Who is gone seals nothing. Decide by: cumulus seals add RELATION SEAL VALUE", style="yellow")


CLOSED_BY = {"all": "all coordinators", "registered": "those that are registered", "one": "its one producer"}


def _table(title: str, *columns: str, right: Sequence[str] = ()) -> Table:

    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


@click.group()
def source() -> None:
    """Show how far each source has been read, and what its server keeps for it."""


@source.command("list")
@click.option("--epoch", type=click.IntRange(min=0), help="How far they had been read at the end of this epoch.")
@PROJECT
@JSON
def list_(epoch: int | None, folder: Path, as_json: bool) -> None:
    """List the sources beside the landing folder: how far they have been read, and, of PostgreSQL's, how much of its log the server
    keeps for them."""
    with open_project(folder) as runtime:
        project, catalog = runtime.project, runtime.catalog
        standing = {s.source: s.problem for s in standing_sources(project, catalog)}
        now = {s.name: catalog.deliveries.source_position(s.name) for s in project.sources}
        positions: Mapping[str, str | None] = now if epoch is None else catalog.deliveries.source_positions(epoch)
    found = [
        {
            "source": s.name,
            "kind": s.kind,
            "coordinator": s.coordinator,
            "position": positions.get(s.name),
            "stands_still": standing.get(s.name),
            **_held(project, s.name),
        }
        for s in project.sources
    ]
    if as_json:
        print_json(found)
    elif not found:
        console().print("the project has no source but its landing folder")
    else:
        _print(found)


def _print(found: list[dict[str, Any]]) -> None:
    table = Table(title="Sources", title_justify="left")
    for name in ("source", "kind", "coordinator", "position", "kept by the server", "stands still"):
        table.add_column(name)
    for one in found:
        kept = one.get("problem") or ", ".join(
            f"{slot['name']}: {'lost' if slot['held_bytes'] is None else size_text(slot['held_bytes'])} ({slot['status']})"
            for slot in one.get("slots", [])
        )
        table.add_row(
            one["source"],
            one["kind"],
            str(one["coordinator"]),
            show_value(one["position"] or "not begun"),
            show_value(kept),
            show_value(one["stands_still"] or ""),
        )
    console().print(table)


def _held(project: Project, name: str) -> dict[str, Any]:
    """The slots of a PostgreSQL source, or why they are not known."""
    settings = _postgres(project, name)
    if settings is None:
        return {}
    try:
        return {"slots": [dataclasses.asdict(slot) for slot in held_slots(settings)]}
    except CumulusError as problem:
        return {"slots": [], "problem": str(problem)}


def _postgres(project: Project, name: str) -> PostgresSettings | None:
    (settings,) = [s for s in project.sources if s.name == name]
    return postgres_settings(project, settings) if settings.kind == "postgres" else None


@source.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@PROJECT
@JSON
def drop(name: str, yes: bool, folder: Path, as_json: bool) -> None:
    """Drop what a PostgreSQL server keeps for the source NAME, its replication slots, so that they do not fill its disk. A source that has begun
    cannot go on then: do it when the project, or the source, is not needed any more."""
    with open_project(folder) as runtime:
        project = runtime.project
        names = [s.name for s in project.sources if s.kind == "postgres"]
        settings = _postgres(project, name) if name in names else None
        if settings is None:
            hint = f"sources of kind postgres: {', '.join(names) or 'none'}"
            raise InputProblem(f"{name!r} is no source of kind postgres", kind="unknown-source", hint=hint)
        if not yes:
            click.confirm(
                f"Drop what the server keeps for {name}? It cannot go on from where it is.", abort=True, err=True
            )
        dropped = dropped_slots(settings)
    if as_json:
        print_json({"source": name, "dropped": dropped})
    else:
        console().print(
            f"{name}: {len(dropped)} replication slots dropped" + "".join(f", {slot.name}" for slot in dropped)
        )
