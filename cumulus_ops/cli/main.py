"""The command `cumulus`. Each of its commands reads its arguments, calls one function of the system, and prints the result; its module
is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from cumulus_ops.light import without_pandas

__all__ = ["COMMANDS", "main"]

#: command -> the module here that has it, and what it does, in the order in which they are wanted: who asks for the list waits for no module.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("scaffold", "Write a first project, with sample data; check an existing one."),
    "compile": ("compiling", "Explain what SQL is compiled to, and what an event costs."),
    "explain": ("explaining", "Show how maps are kept, and how a large batch is spread."),
    "analyze": ("analysing", "Say where coordination is needed, and why."),
    "load": ("running", "Begin with existing tables."),
    "run": ("running", "Apply what has landed; commit, publish and validate epochs."),
    "validate": ("running", "Prove the snapshot of an epoch."),
    "query": ("reading", "Print the rows of a view."),
    "plan": ("deploying", "Say what a changed project would do."),
    "try": ("deploying", "Answer a new view on the running data."),
    "deploy": ("deploying", "Make the change, while epochs go on."),
    "status": ("reading", "Show where coordinators and epochs are."),
    "source": ("sources", "Show how far sources have been read; drop one."),
    "keys": ("sources", "Show and build the key indexes of relations."),
    "seals": ("sources", "Show which values are open, and for whom they wait."),
    "quarantine": ("quarantine", "See what was put aside on the way in, and decide."),
    "batch": ("batches", "Decide about batches that were set aside."),
    "coordinators": ("coordinators", "Show, add, drain and remove coordinators."),
    "epoch": ("coordinators", "End an epoch before its time."),
    "up": ("serving", "Start Airflow, a Spark and the UI on this machine."),
    "down": ("serving", "Stop what `cumulus up` has started."),
    "doctor": ("serving", "Look whether machine and project are in order."),
    "fsck": ("repairing", "Look at every stored file."),
    "recover": ("repairing", "Make what is damaged again."),
    "backup": ("backups", "Copy the catalog, while epochs go on."),
    "restore": ("backups", "Put a copy of the catalog in its place."),
    "anew": ("serving", "Make all maps again from the event log."),
    "demo": ("serving", "Run TPC-H under Airflow (what `make run` does)."),
    "simulate": ("simulating", "Simulate the papers' protocols."),
}
#: The commands that answer at once: their processes make no data frames.
QUICK = ("analyze", "batch", "coordinators", "epoch", "explain", "keys", "query", "seals", "status")


class _Commands(click.Group):
    """The commands by their names, each imported on its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in QUICK:
            without_pandas()
        module = import_module(f"cumulus_ops.cli.{COMMANDS[cmd_name][0]}")
        found: click.Command = getattr(module, f"{cmd_name}_" if cmd_name in ("compile", "try") else cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in COMMANDS])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cumulus")
def main() -> None:
    """SQL aggregates over changing tables: always fresh, periodically consistent, provably right."""
