"""What ``cumulus up`` has started, in a file beside it: for ``down``, for a second ``up``, and for whoever looks for leftovers."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from cumulus_ops.errors import SetupProblem
from cumulus_ops.local.processes import KnownProcess

__all__ = ["Record", "read_record", "remove_record", "write_record"]

FILE = "running.json"


@dataclass(frozen=True)
class Record:
    """``supervisor`` is the ``cumulus up`` itself; ``servers``: what it has started. ``ready``: Airflow answers and knows the DAGs.
    ``ended``: why it came to an end that nobody asked for."""

    url: str
    supervisor: KnownProcess
    servers: tuple[KnownProcess, ...] = ()
    ready: bool = False
    ended: str = ""

    def running(self) -> list[str]:
        """The names of the servers of which something runs."""
        return [server.name for server in self.servers if server.family()]


def read_record(home: Path) -> Record | None:
    """The record, None if there is none.

    Raises:
        SetupProblem: it cannot be read.
    """
    file = home / FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        servers = tuple(KnownProcess(**server) for server in found["servers"])
        return Record(found["url"], KnownProcess(**found["supervisor"]), servers, found["ready"], found["ended"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "look for processes of this project yourself, end them, and remove the file"
        raise SetupProblem("cannot be read", kind="bad-record", place=str(file), hint=hint) from error


def write_record(home: Path, record: Record) -> None:
    """Write it anew, by one rename; nobody else can read it."""
    fresh = home / f".{FILE}.{uuid.uuid4().hex}"
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        json.dump(asdict(record), out, indent=1)
    fresh.replace(home / FILE)


def remove_record(home: Path) -> None:
    """Nothing runs any more."""
    (home / FILE).unlink(missing_ok=True)
