"""`cumulus keys`: what the keys of relations mean, and what is known of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cumulus_ops.cli.options import JSON, PROJECT, opened
from cumulus_ops.cli.output import console, print_json, size_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from cumulus_ops.engine import Runtime

__all__ = ["keys"]


@click.group(invoke_without_command=True)
@PROJECT
@JSON
@click.pass_context
def keys(context: click.Context, folder: Path, as_json: bool) -> None:
    """Show what the keys of relations mean (`mode: trusted`, `strict` or `upsert`), and how large their indexes are."""
    if context.invoked_subcommand is not None:
        return
    with opened(folder) as runtime:
        found = [_state(runtime, relation.name) for relation in runtime.project.relations]
    if as_json:
        print_json(found)
        return
    from rich.table import Table

    table = Table("relation", "mode", "writers", "entries", "runs", "size", "index", title="Keys")
    for state in found:
        numbers = (f"{state['entries']:,}", str(state["runs"]), size_text(int(str(state["bytes"]))))
        table.add_row(*(str(state[c]) for c in ("relation", "mode", "writers")), *numbers, str(state["index"]))
    console().print(table)


def _state(runtime: Runtime, relation: str) -> dict[str, object]:
    settings, index = runtime.project.keys.get(relation), runtime.catalog.key_index(relation)
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
        if index is not None and not index.is_behind and index.signature == _signature(runtime, relation)
        else "built with the next append",
    }


def _signature(runtime: Runtime, relation: str) -> str:
    """Of an index that this program reads: others are built anew."""
    from cumulus_ops.keys.building import signature

    return signature(next(r for r in runtime.project.relations if r.name == relation))


@keys.command()
@click.argument("relations", nargs=-1, metavar="[RELATION]...")
@PROJECT
@JSON
def build(relations: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Build the key index of RELATION, by default of all that are not trusted, from the event log, and report what is wrong there: keys that
    have several rows, or a row several times or less than not at all. It stays as it is. The next append would do the same."""
    from cumulus_ops.errors import InputProblem
    from cumulus_ops.keys.building import build as build_index

    with opened(folder) as runtime:
        chosen = relations or tuple(runtime.project.keys)
        for name in chosen:
            if name not in runtime.project.keys:
                hint = "write `mode: strict` or `mode: upsert` for the relation in cumulus.yaml"
                raise InputProblem(f"there is no relation {name} whose keys mean something", kind="no-keys", hint=hint)
        found = {}
        for relation in runtime.project.relations:
            if relation.name in chosen:
                with runtime.catalog.step() as step:
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
