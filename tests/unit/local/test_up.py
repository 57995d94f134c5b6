"""`cumulus up` before anything is started: one at a time, and what the machine lacks."""

import socket

import pytest
from click.testing import CliRunner

from cumulus_ops.cli.main import main
from cumulus_ops.local.processes import LOOPBACK, KnownProcess, only_one
from cumulus_ops.local.up import Record, read_record, servers_folder, write_record
from cumulus_ops.project.project_file import load_project


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.delenv("CUMULUS_HOME", raising=False)
    assert CliRunner().invoke(main, ["init", "--empty", str(tmp_path / "shop")]).exit_code == 0
    assert CliRunner().invoke(main, ["init", str(tmp_path / "shop")]).exit_code == 0
    servers_folder(load_project(tmp_path / "shop")).mkdir()
    return tmp_path / "shop"


@pytest.mark.parametrize("detach", [(), ("--detach",)])
def test_a_project_that_is_up_is_not_started_again(shop, detach):
    home = servers_folder(load_project(shop))
    running = Record("http://127.0.0.1:1234", KnownProcess("cumulus up", 1, "another boot 1"))
    write_record(home, running)
    with only_one(home / "lock"):
        done = CliRunner().invoke(main, ["up", str(shop), *detach])
    assert done.exit_code == 2
    assert "is up already: http://127.0.0.1:1234" in done.stderr
    assert "cumulus down" in done.stderr
    assert read_record(home) == running


@pytest.mark.parametrize("detach", [(), ("--detach",)])
def test_a_taken_port_is_said_before_anything_is_started(shop, detach):
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        held.listen()
        done = CliRunner().invoke(main, ["up", str(shop), "--port", str(held.getsockname()[1]), *detach])
    assert done.exit_code == 2
    assert "--port" in done.stderr
    assert read_record(servers_folder(load_project(shop))) is None
    assert not (servers_folder(load_project(shop)) / "log").exists()


def test_a_missing_java_is_said(shop, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(shop))
    done = CliRunner().invoke(main, ["up", str(shop)])
    assert done.exit_code == 2
    assert "Java" in done.stderr
