"""Named places at which a process can be made to die, to prove that dying there loses and doubles nothing.

Set ``CUMULUS_FAULT=NAME`` in the environment of a process: the first time it reaches the place NAME it kills itself
with SIGKILL, as a machine that loses power would; ``NAME:DROP`` means the batches of one drop. ``CUMULUS_PAUSE=NAME`` stops it there with SIGSTOP, once, until somebody
sends SIGCONT: as a machine that sleeps would. Nothing happens without the variables.
"""

from __future__ import annotations

import os
import signal

__all__ = ["ANEW_POINTS", "FAULT_POINTS", "FENCE_POINTS", "FINAL_POINTS", "KEY_POINTS", "POSTGRES_POINTS", "reach"]

FAULT_POINTS = (
    "append.before-files",
    "append.before-commit",
    "append.after-commit",
    "apply.before-files",
    "apply.before-commit",
    "apply.after-commit",
    "seal.before-commit",
    "seal.after-commit",
    "correct.before-files",
    "correct.before-commit",
    "correct.after-commit",
    "refresh.before-files",
    "refresh.before-commit",
    "refresh.after-commit",
    "checkpoint.before-commit",
    "checkpoint.after-commit",
    "merge.before-files",
    "merge.before-commit",
    "merge.after-commit",
    "publish.before-table",
    "publish.before-commit",
    "publish.after-commit",
)
#: Those that are reached only when others go on without a coordinator.
FENCE_POINTS = ("fence.before-commit", "fence.after-commit")
#: Those that are reached only when keys mean something.
KEY_POINTS = ("keys.before-merge", "keys.after-merge")
#: Those that are reached only when values of a seal are closed.
FINAL_POINTS = ("finalise.before-commit", "finalise.after-commit", "finalise.before-table", "finalise.before-published")
#: Those that are reached only when a generation begins.
ANEW_POINTS = ("anew.before-commit", "anew.before-claim")
#: Those that are reached only with a source of kind ``postgres``.
POSTGRES_POINTS = ("source.after-slot", "source.after-copy", "source.after-advance", "source.after-read")


def reach(name: str, drop: str = "") -> None:
    """Die or stop here, with a batch of ``drop`` in hand, if the environment asks for it."""
    if name not in FAULT_POINTS + FENCE_POINTS + FINAL_POINTS + KEY_POINTS + ANEW_POINTS + POSTGRES_POINTS:
        raise ValueError(f"unknown fault point {name!r}")
    if os.environ.get("CUMULUS_FAULT") in (name, f"{name}:{drop}"):
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get("CUMULUS_PAUSE") == name:
        del os.environ["CUMULUS_PAUSE"]
        os.kill(os.getpid(), signal.SIGSTOP)
