"""The ``cumulus`` command."""

from cumulus_ops.cli.main import main

__all__ = ["main"]
