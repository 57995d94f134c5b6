"""docs/tutorial.md, command by command, in a fresh folder: what it says is printed has to be printed.

A block ```` ```console ```` has commands after ``$``, each followed by what it prints; ``...`` stands for anything, within a line or for any
lines. ```` ```console later ````: again and again, until that is what it prints. A block with a file's name after its language, such as
```` ```sql bikes/views/revenue.sql ````, is written to that file. Tables may have their rows in any order.
"""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from cumulus_ops.local.airflow import AirflowApi
from cumulus_ops.local.processes import free_port

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
FENCE = re.compile(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LATER_S = 240
#: Who asks more often takes the processor from those who are to answer.
ASK_S = 2
PORT = "8080"  # in the text

pytestmark = [pytest.mark.spark, pytest.mark.airflow, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Command:
    """A line to type, and what is printed then."""

    line: str
    expected: str
    later: bool


def commands(block: str, later: bool) -> list[Command]:
    """The commands of a console block; one ends with a backslash if it goes on in the next line."""
    found = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        length = 1 + next(i for i, line in enumerate(lines) if not line.endswith("\\"))
        found.append(Command("\n".join(lines[:length]), "\n".join(lines[length:]).strip("\n"), later))
    return found


def is_as_expected(printed: str, expected: str) -> bool:
    """Whether an output looks like that; spaces at the ends of lines do not count."""
    printed, expected = ("".join(f"{line.rstrip()}\n" for line in text.splitlines()) for text in (printed, expected))
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE)]
    return bool(re.fullmatch(r"(?:.*\n)*?".join(part.replace(r"\.\.\.", ".*") for part in parts), printed))


def sorted_rows(text: str) -> str:
    """The text with the rows of a table in an order of their own; which one they have, a query does not say."""
    rows = iter(sorted(line.rstrip() for line in text.splitlines() if line.startswith("│")))
    return "\n".join(next(rows) if line.startswith("│") else line.rstrip() for line in text.splitlines())


class Terminal:
    """Runs commands one after the other, in the folder to which the last ``cd`` led."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("CUMULUS", "AIRFLOW"))}
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**keep, "PATH": programs, "CUMULUS": str(ROOT), "CUMULUS_PORT": str(port)}

    def run(self, line: str) -> str:
        """What the command prints; if it fails, its errors and exit code as well."""
        if line.startswith("cd "):
            self.folder /= line.removeprefix("cd ")
            return ""
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        failed = f"{done.stderr}\n[exit code {done.returncode}]\n" if done.returncode else ""
        return (done.stdout + failed).replace(str(self.port), PORT)

    def check(self, command: Command) -> str:
        """Run a command, and see that it prints what it is said to print."""
        deadline = time.monotonic() + (LATER_S if command.later else 0)
        while True:
            printed, expected = self.run(command.line), command.expected
            if command.line.startswith("cumulus query"):
                printed, expected = sorted_rows(printed), sorted_rows(expected)
            if is_as_expected(printed, expected):
                return printed
            if time.monotonic() > deadline:
                pytest.fail(f"$ {command.line}\n--- it printed\n{printed}\n--- and not\n{expected}")
            time.sleep(ASK_S)


def test_the_tutorial_does_what_it_says(tmp_path):
    terminal, outputs = Terminal(tmp_path, free_port()), {}
    try:
        for language, info, text in FENCE.findall(TUTORIAL.read_text(encoding="utf-8")):
            if language == "console":
                for command in commands(text, info == "later"):
                    outputs[command.line] = terminal.check(command)
                    if command.line.startswith("cumulus up"):
                        look_at_the_ui(terminal, outputs[command.line])
            elif info:
                file = tmp_path / info
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    finally:
        terminal.run("cumulus down")
    assert "cumulus down" in outputs
    # what was deployed by hand below is in the snapshot that the page makes, and was proved with it
    assert re.search(r"2 │ +2 - +│.*│ current +│ view bikes: added", outputs["cumulus status"])
    assert "final by epoch 2" in terminal.run("cumulus query bikes")


def look_at_the_ui(terminal, printed):
    """The login that was printed is one; and who has it is asked whether the folder is to be deployed."""
    user, password = re.search(r"login: +(\S+) / (\S+)", printed).groups()
    api = AirflowApi(terminal.port)
    api.log_in(user, password)
    others = ("commit", "validate", "run_epochs", "deploy", "recover")
    assert {"bikes_coordinator_0", *(f"bikes_{name}" for name in others)} == api.dags()
    form = api.call("GET", "/api/v2/dags/bikes_deploy/details")["params"]
    assert form.keys() == {"rollback", "give_up", "replan", "rows"}
    (terminal.folder / "views" / "bikes.sql").write_text("SELECT bike, COUNT(*) AS trips FROM trips GROUP BY bike\n")
    file = terminal.folder / "cumulus.yaml"
    file.write_text(file.read_text().replace("views:\n", "views:\n  bikes: views/bikes.sql\n"))
    assert answer(api, "Reject", {"replan": True}) == {"plan": "success", "approve": "success", "deploy": "skipped"}
    now = json.loads(terminal.run("cumulus status --json"))
    assert (now["revision"], now["has_changed"], now["deployment"], len(now["revisions"])) == (1, True, None, 1)
    assert answer(api, "Approve", {}) == {"plan": "success", "approve": "success", "deploy": "success"}
    now = json.loads(terminal.run("cumulus status --json"))
    assert (now["revision"], now["since"], now["has_changed"], now["deployment"]) == (2, 2, False, None)


def answer(api, option, chosen):
    """Trigger the DAG that deploys, with what is chosen in its form, and answer what it asks; the states of its tasks in the end."""
    run, deadline, is_answered = api.trigger("bikes_deploy", chosen), time.monotonic() + LATER_S, False
    while time.monotonic() < deadline:
        with suppress(OSError):  # busy, or it does not ask yet
            # The question can be read before its task waits; an answer that comes in between wakes nobody up.
            if not is_answered and api.states("bikes_deploy", run)["approve"] == "awaiting_input":
                api.answer("bikes_deploy", run, "approve", option)
                is_answered = True
            if {r["dag_run_id"]: r["state"] for r in api.runs("bikes_deploy")}[run] in ("success", "failed"):
                break
        time.sleep(ASK_S)
    return api.states("bikes_deploy", run)


@pytest.mark.parametrize(
    ("expected", "printed", "is_right"),
    [
        ("a\n...\nb 1.5", "a\nx\ny\nb 1.5", True),
        ("a\n...\nb", "a\nb ", True),
        ("a\n...", "a\nx\ny\n", True),
        ("in ... s", "in 0.3 s", True),
        ("", "", True),
        ("", "x", False),
        ("a\n...\nb", "a\nx", False),
        ("1.5", "1x5", False),
        ("a", "a\nb", False),
    ],
)
def test_outputs_are_compared_strictly(expected, printed, is_right):
    assert is_as_expected(printed, expected) is is_right


def test_commands_are_found_with_what_they_print():
    assert [(c.line, c.expected) for c in commands("$ a \\\n  b\nout\n$ c\n", later=False)] == [
        ("a \\\n  b", "out"),
        ("c", ""),
    ]
