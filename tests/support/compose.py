"""docker-compose.yaml without Docker: each service's command and environment, moved to the loopback address."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cumulus_ops.local.processes import LOOPBACK, free_port
from cumulus_ops.local.spark_service import spark_home

__all__ = ["COMPOSE", "Loopback", "services"]

COMPOSE = Path(__file__).resolve().parents[2] / "docker-compose.yaml"
VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")
PORTS = ("8080", "7077", "8081", "8082", "15002")


def services() -> dict[str, dict[str, Any]]:
    """The services as the file has them."""
    loaded: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
    return loaded


@dataclass
class Loopback:
    """Where the containers' names, ports and paths are on this machine.

    Args:
        state: stands for the volume.
        postgres: the port of a running PostgreSQL.
        secrets: values of the variables that the file demands.
    """

    state: Path
    postgres: int
    secrets: Mapping[str, str]
    ports: dict[str, int] = field(default_factory=lambda: {port: free_port() for port in PORTS})

    def command(self, service: str) -> list[str]:
        """The service's command with its program's full path."""
        program, *arguments = [self.translate(str(part)) for part in services()[service]["command"]]
        return [str(find_program(program)), *arguments]

    def environment(self, service: str) -> dict[str, str]:
        """The service's environment."""
        return {name: self.translate(str(value)) for name, value in services()[service]["environment"].items()}

    def translate(self, text: str) -> str:
        """One value of the file, moved to this machine."""
        root = COMPOSE.parent
        text = VARIABLE.sub(self._variable, text).replace("/opt/cumulus", str(root)).replace("/state", str(self.state))
        text = text.replace("@postgres/", f"@{LOOPBACK}:{self.postgres}/").replace("0.0.0.0", LOOPBACK)
        for host in (name for name in services() if name != "postgres"):
            text = re.sub(rf"(?<![\w-]){host}(?![\w-])", LOOPBACK, text)
        for port, here in self.ports.items():
            text = re.sub(rf"(?<!\d){port}(?!\d)", str(here), text)
        return text

    def _variable(self, match: re.Match[str]) -> str:
        name, kind, default = match.groups()
        if name in self.secrets:
            return self.secrets[name]
        assert kind == "-", f"the test gives no {name}"
        return str(default)


def find_program(name: str) -> Path:
    """A program of this environment, of Spark's package, or of the system."""
    for folder in (Path(sys.executable).parent, spark_home() / "bin"):
        if (folder / name).exists():
            return folder / name
    for server in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")):
        return server
    found = shutil.which(name)
    assert found, f"no program {name}"
    return Path(found)
