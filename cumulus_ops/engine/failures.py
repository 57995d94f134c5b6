"""Whose fault a failure is: the batch's (or rather that of the program or the engine with it), or the circumstances'.

| verdict | of what | what follows |
|---|---|---|
| defect | an exception of the computation itself | counted; the batch is tried again, and set aside with the last |
| died | memory was short, a Spark worker or executor was lost | nobody knows; like a process that is killed, see :mod:`cumulus_ops.snapshot.dying` |
| excused | files, disk or network; state that is damaged; a conflict; a signal | never counted |
"""

from __future__ import annotations

import builtins
import re
import traceback

from cumulus_ops import errors

__all__ = ["explain", "verdict"]

#: A batch is not to be blamed for damaged state either: every batch that touches it fails.
EXCUSED = (errors.Conflict, errors.NotYet, errors.SetupProblem, errors.IntegrityProblem, OSError, EOFError)
LOST = ("Py4JNetworkError", "SparkConnectGrpcException", "RetriesExceeded")  # the connection to Spark
LENGTH = 8_000
LINE = 500
#: The last line of a traceback that a Spark worker sends as text.
RAISED = re.compile(r"^(?:  )?((?:\w+\.)*\w+)(?:: (.*))?$", re.MULTILINE)
FRAMES = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+", re.MULTILINE)


def verdict(error: BaseException) -> str:
    """``defect``, ``died`` or ``excused``.

    >>> verdict(KeyError("amount")), verdict(MemoryError()), verdict(ConnectionResetError())
    ('defect', 'died', 'excused')
    """
    names = {cls.__name__ for cls in type(error).__mro__}
    if "PythonException" in names:  # of a Spark worker, by way of text
        return _verdict_of(_raised_there(str(error))[0])
    if type(error).__module__.split(".")[0] in ("pyspark", "py4j", "grpc"):
        return "excused" if names & {*LOST} or type(error).__module__.startswith("grpc") else "died"
    return _verdict_of(type(error))


def _verdict_of(cls: type[BaseException]) -> str:
    if issubclass(cls, MemoryError):
        return "died"
    return "excused" if issubclass(cls, EXCUSED) or not issubclass(cls, Exception) else "defect"


def _raised_there(text: str) -> tuple[type[BaseException], str, str]:
    """The class of the exception that ended the last traceback in ``text``, as near as it is known here, its line as Python's own would be said,
    and the traceback.

    >>> _raised_there("Job aborted\\nTraceback (most recent call last):\\n  File \\"a.py\\", line 1\\nFileNotFoundError: x\\n")[:2]
    (<class 'FileNotFoundError'>, 'FileNotFoundError: x')
    """
    frames = [*FRAMES.finditer(text)]
    found = RAISED.search(text, frames[-1].end()) if frames else None
    if found is None:
        return Exception, text.strip().splitlines()[0] if text.strip() else "failed", text
    name, trace = found[1].rpartition(".")[2], text[frames[-1].start() : found.end()]
    line = f"{name}: {found[2]}" if found[2] else name
    if name.endswith("MemoryError"):
        return MemoryError, line, trace
    known = getattr(errors, name, None) or getattr(builtins, name, None)
    is_class = isinstance(known, type) and issubclass(known, BaseException)
    return known if is_class else Exception, line, trace  # type: ignore[return-value]


def explain(error: BaseException) -> str:
    """What failed, in the first line, and where, below."""
    if "PythonException" in {cls.__name__ for cls in type(error).__mro__}:
        _, line, trace = _raised_there(str(error))
    else:
        line = f"{type(error).__name__}: {error}".splitlines()[0]
        trace = "".join(traceback.format_exception(error))
    return f"{line[:LINE]}\n{trace[-LENGTH:]}"
