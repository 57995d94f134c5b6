"""The commands in the headers of the examples' project files, run one after the other."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cumulus_ops.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("name", ["ads", "wordcount"])
def test_commands_do_what_the_header_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES / name, tmp_path / "examples" / name, ignore=shutil.ignore_patterns("var"))
    file = tmp_path / "examples" / name / "cumulus.yaml"
    commands = re.findall(r"^#   (\S.*?)\s{2,}", file.read_text(), re.MULTILINE)
    file.write_text(file.read_text().replace("policy: fail", "policy: off"))  # which needs Spark
    monkeypatch.chdir(tmp_path)
    drops, analyze, run, query, replay = map(shlex.split, commands)
    subprocess.run([sys.executable, *drops[1:]], check=True)
    answers = [_cumulus(command) for command in (analyze, run, query)]
    assert "sealed" in answers[0]
    assert "quarantined" not in answers[1]
    assert "set aside" not in answers[1]
    assert "final by" in answers[2]
    assert replay[:2] == ["python", "examples/replay.py"]


def _cumulus(command: list[str]) -> str:
    assert command[0] == "cumulus"
    done = CliRunner().invoke(main, command[1:])
    assert done.exit_code == 0, done.output
    return done.output
