"""The README's first screen, and the pages of commands and settings, say what there is."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from cumulus_ops.cli import scaffold
from cumulus_ops.cli.main import COMMANDS as TABLE
from cumulus_ops.cli.main import main
from cumulus_ops.project.project_file import KEYS, load_project
from cumulus_ops.project.relation_settings import RELATION_KEYS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
PROJECT = (ROOT / "docs" / "project.md").read_text()


def block(text: str, language: str) -> str:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0]


def test_the_readme_shows_the_view_that_init_writes() -> None:
    assert block(README, "sql") == scaffold.REVENUE_BY_CITY_SQL


def test_the_readme_shows_what_its_commands_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the proof, which needs Spark: the tutorial's test has it."""
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\$ cumulus ([^#\n]+?) *(?:#.*)?$", README, re.MULTILINE)
    assert [c.split()[0] for c in commands] == ["init", "run", "query"]
    for command in commands:
        if command == "run":
            monkeypatch.chdir(tmp_path / "shop")
            file = Path("cumulus.yaml")
            file.write_text(file.read_text().replace("policy: fail", "policy: off"))
        done = CliRunner().invoke(main, command.split())
        assert done.exit_code == 0, done.output
    shown = re.findall(r"^┏.*?^final by epoch 0$", README, re.MULTILINE | re.DOTALL)[0]
    assert done.stdout[done.stdout.index("┏") :].strip() == shown


def test_the_commands_that_are_documented_are_those_that_there_are() -> None:
    assert set(re.findall(r"`cumulus ([a-z]+)", COMMANDS)) == set(TABLE)
    for name, words in re.findall(r"^\| `cumulus (\w+) \[?([a-z]+(?:\\\|[a-z]+)*)\]?`", COMMANDS, re.MULTILINE):
        group = main.get_command(click.Context(main), name)
        assert isinstance(group, click.Group)
        assert set(words.split("\\|")) == set(group.commands)


def test_options_that_documents_name_are_those_that_there_are() -> None:
    known = {o for command in commands_of(main) for p in command.params for o in p.opts} | {"--help", "--version"}
    told = set(re.findall(r"`cumulus [^`\n]*?(--[a-z][a-z-]+)", COMMANDS + README))
    told |= set(re.findall(r"`(--[a-z][a-z-]+)", COMMANDS + README))
    assert told - known == set()


def commands_of(command: click.Command) -> list[click.Command]:
    if not isinstance(command, click.Group):
        return [command]
    context = click.Context(command)
    below = [command.get_command(context, name) for name in command.list_commands(context)]
    return [command, *(found for each in below if each is not None for found in commands_of(each))]


def test_the_documented_project_file_is_read_and_names_every_setting(tmp_path: Path) -> None:
    text = block(PROJECT, "yaml")
    (tmp_path / "cumulus.yaml").write_text(text)
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "revenue.sql").write_text("SELECT SUM(o_price) AS revenue FROM orders")
    (tmp_path / "caches.yaml").write_text("")
    relations = yaml.safe_load(text)["relations"]
    project = load_project(tmp_path, {"SHOP_DATABASE_URL": "postgresql://localhost/shop"})
    assert set(project.insert_only) == set(relations) == {"orders"}
    assert set(KEYS) - set(yaml.safe_load(text)) == {"program"}
    assert set(RELATION_KEYS) - set(relations["orders"]) == {"file"}
