"""Remembered processes: found again by their id and their start, ended with what they started, and never taken for others."""

import dataclasses
import os
import signal
import subprocess
import sys

import psutil
import pytest

from cumulus_ops.local.processes import Child, KnownProcess, end_all
from cumulus_ops.local.up import Record, read_record, remove_record, write_record
from cumulus_ops.project.errors import SetupProblem

WAITS = "import signal; print('ready', flush=True); signal.pause()"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {WAITS!r}]).wait()"


def started(code):
    """A process in a session of its own that has said that it, or its child, is ready."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture
def process():
    one = started(WAITS)
    yield one
    one.kill()
    one.communicate()


def test_it_is_found_until_it_ends(process):
    known = KnownProcess.of("one", process.pid)
    assert known.find().pid == process.pid
    assert end_all([known]) == ["one"]
    assert process.wait() == -signal.SIGTERM
    assert known.find() is None
    assert end_all([known]) == []


def test_another_process_with_its_id_is_left_alone(process):
    known = dataclasses.replace(KnownProcess.of("one", process.pid), start="some other boot 1")
    assert known.find() is None
    assert known.family() == []
    assert end_all([known]) == []
    assert process.poll() is None


def test_what_a_killed_one_has_left_is_ended():
    parent = started(PARENT)
    known = KnownProcess.of("parent", parent.pid)
    (child,) = psutil.Process(parent.pid).children()
    parent.kill()
    parent.wait()
    assert known.find() is None
    assert end_all([known]) == ["parent"]
    psutil.wait_procs([child], 240)
    assert not child.is_running()
    parent.stdout.close()


def test_a_record_is_read_as_it_was_written_and_nobody_else_can(tmp_path, process):
    record = Record("http://x", KnownProcess.of("up", os.getpid()), (KnownProcess.of("one", process.pid, 2),), True)
    assert read_record(tmp_path) is None
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record
    assert record.running() == ["one"]
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    remove_record(tmp_path)
    assert read_record(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", '{"url": "x"}', '{"url": 1, "supervisor": 2, "servers": 3, "ready": 4}'])
def test_a_record_that_cannot_be_read_is_a_problem_with_a_hint(tmp_path, text):
    (tmp_path / "running.json").write_text(text)
    with pytest.raises(SetupProblem) as caught:
        read_record(tmp_path)
    assert caught.value.hint


def test_a_child_is_known_by_how_it_ends(tmp_path):
    # A signal that comes while Python still imports may be swallowed there.
    ready = tmp_path / "ready"
    # And who runs these tests in the background of a shell has SIGINT ignored, in whatever they start, too.
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"import pathlib, signal; {heard}; pathlib.Path({str(ready)!r}).touch(); signal.pause()"
    child = Child("child", [sys.executable, "-c", code], tmp_path, None, signal.SIGINT)
    while not ready.exists():
        child.require_running()
    assert end_all([child.known]) == ["child"]
    assert child.process.wait() in (-signal.SIGINT, 1)
