"""A server that dies is started again, after what it has left was ended; one that dies again and again is not."""

import sys

import psutil
import pytest

from cumulus_ops.local import servers
from cumulus_ops.local.processes import Child, stop_all
from cumulus_ops.local.servers import Server
from cumulus_ops.project.errors import SetupProblem

WAITS = "import signal; signal.pause()"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {WAITS!r}]); print('ready', flush=True); import signal; signal.pause()"


def ready(server):
    """Wait until it has said so, once more than before."""
    while not server.child.log.read_text():
        server.child.require_running()


@pytest.fixture
def server(tmp_path):
    one = Server(lambda: Child("one", [sys.executable, "-c", PARENT], tmp_path))
    yield one
    stop_all([one.child], 0.2)


def test_one_that_is_killed_is_started_again_without_what_it_has_left(server):
    ready(server)
    (left,) = psutil.Process(server.child.process.pid).children()
    assert server.revive() is None
    before = server.known
    server.child.process.kill()
    server.child.process.wait()
    death = server.revive()
    assert (death.part, death.why, death.then) == ("one", "killed by SIGKILL", "it was started again")
    assert server.child.is_running
    assert server.known != before
    assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE


def test_one_that_ends_again_and_again_is_given_up_with_the_end_of_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "LEFT_S", 0.0)
    one = Server(lambda: Child("one", [sys.executable, "-c", "print('cannot'); raise SystemExit(3)"], tmp_path))
    for _ in range(servers.DEATHS - 1):
        one.child.process.wait()
        assert one.revive().why == "ended with exit code 3"
    one.child.process.wait()
    with pytest.raises(SetupProblem, match="exit code 3") as caught:
        one.revive()
    assert "cannot" in caught.value.hint
