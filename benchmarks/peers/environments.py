"""Python environments of peers: made on first use under ``var/bench``, apart from ours."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.contest import Unsupported
from benchmarks.progress import say

__all__ = ["python_of"]


def python_of(home: Path, name: str, requirement: str) -> Path:
    """The interpreter of an environment that has a package.

    Args:
        home: where environments are kept.
        name: the environment's folder.
        requirement: what pip installs.

    Raises:
        Unsupported: it cannot be installed here; nothing is left behind.
    """
    folder = home / name
    marker = folder / f"{requirement}.installed"
    if not marker.exists():
        say(f"installing {requirement} in {folder.name}")
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        done = subprocess.run(_install(folder, requirement), capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            raise Unsupported(f"{requirement} cannot be installed here: {done.stderr.strip()[-120:]}")
        marker.touch()
    return folder / "bin" / "python"


def _install(folder: Path, requirement: str) -> list[str]:
    """With uv, which takes seconds, else with pip."""
    python = str(folder / "bin" / "python")
    has_uv = subprocess.run([sys.executable, "-m", "uv", "--version"], capture_output=True, check=False).returncode == 0
    if has_uv:
        return [sys.executable, "-m", "uv", "pip", "install", "--python", python, requirement]
    return [python, "-m", "pip", "install", "--disable-pip-version-check", requirement]
