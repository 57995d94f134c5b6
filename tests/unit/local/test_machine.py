"""The checks before a demo: one clear problem each, with what to do."""

import shutil
import socket
import stat
from collections import namedtuple

import pytest

from cumulus_ops.local import processes
from cumulus_ops.local.processes import only_one
from cumulus_ops.project.errors import SetupProblem


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ('openjdk version "17.0.9" 2023-10-17', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21"', 21),
        ("?", 0),
    ],
)
def test_java_version_is_read(output, version):
    assert processes.java_version(output) == version


def fake_java(folder, version):
    """A java that says it is ``version``."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_old_java_is_refused_with_what_to_install(tmp_path, monkeypatch):
    fake_java(tmp_path, "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupProblem, match="is version 11") as caught:
        processes.check_java()
    assert "openjdk-17" in caught.value.hint


def test_new_java_is_taken(tmp_path, monkeypatch):
    fake_java(tmp_path, "25.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert processes.check_java() == 25


def test_missing_java_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupProblem, match="no java on the PATH"):
        processes.check_java()


def test_taken_port_is_refused_with_the_option_to_change_it():
    with socket.socket() as held:
        held.bind((processes.LOOPBACK, 0))
        held.listen()
        with pytest.raises(SetupProblem) as caught:
            processes.check_port(held.getsockname()[1], "the UI", "make run PORT=1234")
    assert "make run PORT=1234" in caught.value.hint


def test_free_port_is_taken():
    processes.check_port(processes.free_port(), "the UI", "")


def test_full_disk_is_refused(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 10, 1 << 20))
    with pytest.raises(SetupProblem, match="needed") as caught:
        processes.check_disk(tmp_path, 1 << 30, "choose a smaller SF=")
    assert "SF=" in caught.value.hint


def test_only_one_demo_per_folder(tmp_path):
    file = tmp_path / "lock"
    with only_one(file), pytest.raises(SetupProblem, match="another run"), only_one(file):
        pass
    with only_one(file):  # freed again
        pass
