"""Child processes end when told to, with everything they started."""

import signal
import sys

import psutil
import pytest

from cumulus_ops.local.processes import Child, stop_all
from cumulus_ops.project.errors import SetupProblem

WAITS = "import signal, sys; print('ready', flush=True); signal.pause()"
STUBBORN = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\nwhile True: signal.pause()"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {STUBBORN!r}]).wait()"


def started(code, folder, **options):
    """A child that has said that it is ready."""
    child = Child("child", [sys.executable, "-c", code], folder, **options)
    with psutil.Popen(["tail", "-f", "-n", "+1", str(child.log)], stdout=-1, text=True) as tail:
        assert tail.stdout.readline() == "ready\n"
        tail.kill()
    return child


def test_child_ends_on_its_signal(tmp_path):
    child = started(WAITS, tmp_path, stop_signal=signal.SIGINT)
    stop_all([child])
    assert not child.is_running


def test_what_a_child_started_ends_too_even_if_it_will_not(tmp_path):
    child = started(PARENT, tmp_path)
    (grandchild,) = psutil.Process(child.process.pid).children()
    stop_all([child], grace_s=0.5)
    assert not child.is_running
    psutil.wait_procs([grandchild], 240)
    assert not grandchild.is_running()


def test_a_dead_child_is_reported_with_its_last_words(tmp_path):
    child = Child("worker", [sys.executable, "-c", "raise SystemExit('no luck today')"], tmp_path)
    child.process.wait()
    with pytest.raises(SetupProblem, match="worker ended with exit code 1") as caught:
        child.require_running()
    assert "no luck today" in caught.value.hint
    assert caught.value.place == str(tmp_path / "worker.log")


def test_the_environment_is_added_to_ours(tmp_path):
    child = Child(
        "echo", [sys.executable, "-c", "import os; print(os.environ['GREETING'])"], tmp_path, {"GREETING": "hi"}
    )
    child.wait(240)
    assert child.tail() == "hi"
