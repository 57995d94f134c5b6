"""`cumulus source`: where the sources beside the landing folder are, and what their servers keep for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from cumulus_ops.cli.options import JSON, PROJECT, opened
from cumulus_ops.cli.output import console, print_json, shown, size_text

if TYPE_CHECKING:
    from cumulus_ops.config import Project
    from cumulus_ops.sources.postgres import PostgresSettings

__all__ = ["source"]


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
    from cumulus_ops.query.lag import standing_sources

    with opened(folder) as runtime:
        project, catalog = runtime.project, runtime.catalog
        standing = {s.source: s.problem for s in standing_sources(project, catalog)}
        now = {s.name: catalog.source_position(s.name) for s in project.sources}
        positions: Mapping[str, str | None] = now if epoch is None else catalog.source_positions(epoch)
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
            shown(one["position"] or "not begun"),
            shown(kept),
            shown(one["stands_still"] or ""),
        )
    console().print(table)


def _held(project: Project, name: str) -> dict[str, Any]:
    """The slots of a PostgreSQL source, or why they are not known."""
    from cumulus_ops.errors import CumulusError
    from cumulus_ops.sources.postgres import held_slots

    settings = _postgres(project, name)
    if settings is None:
        return {}
    try:
        return {"slots": [dataclasses.asdict(slot) for slot in held_slots(settings)]}
    except CumulusError as problem:
        return {"slots": [], "problem": str(problem)}


def _postgres(project: Project, name: str) -> PostgresSettings | None:
    from cumulus_ops.sources.postgres import postgres_settings

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
    from cumulus_ops.errors import InputProblem
    from cumulus_ops.sources.postgres import dropped_slots

    with opened(folder) as runtime:
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
