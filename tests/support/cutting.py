"""A proxy in front of PostgreSQL that cuts connections where it matters: before a commit has reached the server, or after it has and before the client knows."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from cumulus_ops.local.processes import LOOPBACK

__all__ = ["Proxy", "proxy"]

COMMIT = b"COMMIT\x00"
WRITES = (b"INSERT", b"UPDATE", b"DELETE")
SIZE = 1 << 16


@dataclass
class Proxy:
    """``choose`` is called with the number of each commit of a transaction that writes, or locks a row, and says what is done at it: "" passes it on, "before" and "after" cut the connection. ``cuts``: what was done."""

    port: int
    choose: Callable[[int], str]
    commits: int = 0
    cuts: list[str] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def at_commit(self) -> str:
        """What is done at one."""
        with self.guard:
            self.commits += 1
            chosen = self.choose(self.commits)
            if chosen:
                self.cuts.append(chosen)
            return chosen


@contextmanager
def proxy(server_port: int, choose: Callable[[int], str]) -> Iterator[Proxy]:
    """It listens as long as the block lasts."""
    with socket.create_server((LOOPBACK, 0)) as listening:
        made = Proxy(listening.getsockname()[1], choose)
        threading.Thread(target=_accept, args=(listening, made, server_port), daemon=True).start()
        yield made
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


def _accept(listening: socket.socket, made: Proxy, server_port: int) -> None:
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            try:
                server = socket.create_connection((LOOPBACK, server_port))
            except OSError:  # it is down
                client.close()
                continue
            threading.Thread(target=_up, args=(client, server, made), daemon=True).start()


def _up(client: socket.socket, server: socket.socket, made: Proxy) -> None:
    """Pass on what the client sends, and in a thread of its own what the server answers. Both are closed when both have ended: a number of a closed socket is another's."""
    silent = threading.Event()
    down = threading.Thread(target=_down, args=(client, server, silent), daemon=True)
    down.start()
    writes = False
    with suppress(OSError):
        while sent := client.recv(SIZE):
            writes |= any(word in sent for word in WRITES)
            cut = made.at_commit() if writes and COMMIT in sent else ""
            writes &= COMMIT not in sent
            if cut == "before":
                break
            if cut == "after":
                silent.set()
            server.sendall(sent)
    _end(client, server)
    down.join()
    client.close()
    server.close()


def _down(client: socket.socket, server: socket.socket, silent: threading.Event) -> None:
    with suppress(OSError):
        while answered := server.recv(SIZE):
            if silent.is_set():  # it has committed, and nobody is told
                break
            client.sendall(answered)
    _end(client, server)


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
