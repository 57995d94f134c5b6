"""Work that may kill its process, done in one of its own: the one that asks for it lives, and can say what has become of it. And places at which a test kills one.

A C++ library that throws where nobody catches, a stack that overflows and memory that is short end a process without a word. The child is a fresh
interpreter; a fork would inherit threads, locks and connections as they happen to be. What it is to do travels to it, and what it finds
travels back, through pipes that nobody else has: what is unpickled here was pickled here.

    parent                               child
    sys.path, function, arguments  ───►  stdin
    messages, an error, or the end ◄───  stdout      each with its kind and its length before it
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import IO, Any, Protocol, cast

from cumulus_ops.project.errors import CumulusError

__all__ = [
    "ANEW_POINTS",
    "BACKUP_POINTS",
    "COMPACT_POINTS",
    "DEPLOY_POINTS",
    "FAULT_POINTS",
    "FENCE_POINTS",
    "FINAL_POINTS",
    "KEY_POINTS",
    "POSTGRES_POINTS",
    "REPAIR_POINTS",
    "RESTORE_POINTS",
    "TICK_POINTS",
    "Beside",
    "ChildDied",
    "ChildFailed",
    "MakeCalls",
    "reach",
    "run_apart",
]


# Calls that other processes make, such as the tasks of a job, several at the same time.


#: Makes calls, which can be pickled, and may be made several times. What they return, in their order.
MakeCalls = Callable[[Sequence[Callable[[], Any]]], list[Any]]


class Beside(Protocol):
    """Who knows other processes."""

    def __call__(self, rows: int, calls: int) -> MakeCalls | None:
        """What makes calls in other processes, several at the same time; None if they are not worth it.

        Args:
            rows: how many the calls go through together, about.
            calls: how many they are.
        """


# Named places at which a process can be made to die, to prove that dying there loses and doubles nothing.
#
# Set ``CUMULUS_FAULT=NAME`` in the environment of a process: the first time it reaches the place NAME it kills itself
# with SIGKILL, as a machine that loses power would; ``NAME:DROP`` means the batches of one drop. ``CUMULUS_PAUSE=NAME`` stops it there with SIGSTOP, once, until somebody
# sends SIGCONT: as a machine that sleeps would. Nothing happens without the variables.


FAULT_POINTS = (
    "append.before-files",
    "append.before-commit",
    "append.after-commit",
    "apply.before-files",
    "apply.before-commit",
    "apply.after-commit",
    "vote.before-commit",
    "vote.after-commit",
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
#: Those that are reached only when views depend on now().
TICK_POINTS = ("tick.before-append", "tick.after-append")
#: Those that are reached only when a changed project is deployed.
DEPLOY_POINTS = (
    "fill.before-files",
    "fill.before-commit",
    "fill.after-commit",
    "switch.begun",
    "switch.before-commit",
    "switch.after-commit",
)
#: Those that are reached only when something is repaired.
REPAIR_POINTS = ("repair.before-files", "repair.before-commit", "repair.after-commit")
#: Those that are reached only when the log is compacted.
COMPACT_POINTS = ("compact.before-files", "compact.before-commit", "compact.after-commit")
#: Those that are reached only when the catalog is restored, in their order.
RESTORE_POINTS = (
    "restore.prepared",
    "restore.begun",
    "restore.claimed",
    "restore.before-commit",
    "restore.after-commit",
    "restore.before-files",
)
#: Those that are reached only when it is backed up.
BACKUP_POINTS = ("backup.before-rename", "backup.before-record")
#: Those that are reached only with a source of kind ``postgres``.
POSTGRES_POINTS = ("source.after-slot", "source.after-copy", "source.after-advance", "source.after-read")


def reach(name: str, drop: str = "") -> None:
    """Die or stop here, with a batch of ``drop`` in hand, if the environment asks for it."""
    conditional = FENCE_POINTS + FINAL_POINTS + KEY_POINTS + ANEW_POINTS + TICK_POINTS + POSTGRES_POINTS + DEPLOY_POINTS
    others = COMPACT_POINTS + REPAIR_POINTS + RESTORE_POINTS + BACKUP_POINTS
    if name not in FAULT_POINTS + conditional + others:
        raise ValueError(f"unknown fault point {name!r}")
    if os.environ.get("CUMULUS_FAULT") in (name, f"{name}:{drop}"):
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get("CUMULUS_PAUSE") == name:
        del os.environ["CUMULUS_PAUSE"]
        os.kill(os.getpid(), signal.SIGSTOP)


HELLO, MESSAGE, ERROR, FAILURE, SHORT, END = b"h", b"m", b"e", b"f", b"s", b"."
LENGTH_BYTES = 8
#: So much of what a child has written last is told.
SHOWN = 300
PR_SET_PDEATHSIG = 1


class ChildDied(CumulusError):
    """A child ended without a word, or had not enough memory."""


class ChildFailed(CumulusError):
    """An exception in a child that is none of ours, a note has its traceback; or the child could not begin."""


def run_apart(function: str, *arguments: object, data_bytes: int | None = None) -> Iterator[bytes]:
    """Call a function in a process of its own.

    Args:
        function: ``package.module:name``; it returns an iterable of bytes.
        arguments: anything that can be pickled.
        data_bytes: how much memory it may have, but for files that it maps; None for what there is.

    Returns:
        what it yields, as it comes.

    Raises:
        ChildDied: the process ended before the function did, or had not enough memory.
        ChildFailed: the function raised an exception that is none of ours, or was never called.
        CumulusError: it raised this one.
    """
    with tempfile.TemporaryFile() as errors:
        command = [sys.executable, "-c", "from cumulus_ops.project.processes import serve; serve()"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
                pickle.dump((function, arguments, data_bytes, os.getpid()), pipe)
            has_begun = process.stdout.read(1) == HELLO
            is_done = has_begun and (yield from _messages(process.stdout))
            code = process.wait()
            if not is_done:
                said = f"its process {_how(code)}{_last_words(errors)}"
                if has_begun:
                    raise ChildDied(said, kind="process-died")
                raise ChildFailed(
                    f"{said} before it had begun", kind="child-failed", hint="is the machine short of memory?"
                )
        finally:
            process.kill()
            process.wait()
            cast(IO[bytes], process.stdout).close()


def _messages(pipe: IO[bytes]) -> Generator[bytes, None, bool]:
    """Yields messages up to the end; returns whether there was one."""
    while True:
        head = pipe.read(1 + LENGTH_BYTES)
        length = int.from_bytes(head[1:], "little")
        body = pipe.read(length) if len(head) == 1 + LENGTH_BYTES else b""
        if len(head) <= LENGTH_BYTES or len(body) < length:
            return False
        match head[:1]:
            case b"m":
                yield body
            case b"e":
                raise pickle.loads(body)
            case b"f":
                line, _, trace = body.decode(errors="replace").partition("\n")
                failed = ChildFailed(line, kind="child-failed")
                failed.add_note(trace)
                raise failed
            case b"s":
                raise ChildDied("its process has not enough memory", kind="process-died")
            case _:
                return True


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _last_words(errors: IO[bytes]) -> str:
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - 4096))
    lines = [line.strip() for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    return f" ({' '.join(lines)[-SHOWN:]})" if lines else ""


def serve() -> None:
    """What the child does."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what others print is no message
    function, arguments, data_bytes, parent = pickle.load(sys.stdin.buffer)
    module, _, name = function.partition(":")
    call: Callable[..., Iterator[bytes]] = getattr(importlib.import_module(module), name)
    _limit(data_bytes, parent)
    answers.write(HELLO)  # from here on, an end without a word is what the function has done
    answers.flush()
    try:
        for message in call(*arguments):
            _tell(answers, MESSAGE, message)
        _tell(answers, END, b"")
    except CumulusError as error:
        _tell(answers, ERROR, pickle.dumps(error))
    except MemoryError:
        _tell(answers, SHORT, b"")
    except Exception as error:
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        _tell(answers, FAILURE, f"{text}\n{traceback.format_exc()}".encode(errors="replace"))


def _tell(pipe: IO[bytes], kind: bytes, body: bytes) -> None:
    pipe.write(kind + len(body).to_bytes(LENGTH_BYTES, "little"))
    pipe.write(body)
    pipe.flush()


def _limit(data_bytes: int | None, parent: int) -> None:
    """No core file of its death; if memory is short, it is this one that is ended. It lives and dies with who waits for it: what asks all
    processes of a terminal or a service to end is not its death."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if data_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        least = data_bytes if hard == resource.RLIM_INFINITY else min(data_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (least, least))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
