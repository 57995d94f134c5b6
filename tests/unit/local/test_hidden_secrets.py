"""Odd secrets in every place that takes a URL: no message, log, row, page or traceback shows one, or a part of one."""

from __future__ import annotations

import logging
import os
import random
import re
import sqlite3
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from fastapi import Request
from fastapi.testclient import TestClient

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.epochs import Failure
from cumulus_ops.cli.main import main
from cumulus_ops.cli.scaffold import write_project
from cumulus_ops.compute.spark import spark_session
from cumulus_ops.local.doctor import examine
from cumulus_ops.local.processes import free_port
from cumulus_ops.opening import resuming
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.orchestration import steps
from cumulus_ops.project.names import hide, shown_url
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.publishing.telling import describe_failure
from cumulus_ops.sources.postgres.connection import PostgresSettings, connect
from cumulus_ops.web import create_app

SEED = random.randrange(10_000)
#: Parts that stand in no message by themselves, with all that may be between them.
ODD = "@:/?#[]%&=+ ;,!$'()*\"\\<>^`{|}~é表"
PLACE = "h0st"


def secrets(count: int) -> Iterator[tuple[str, list[str]]]:
    """Secrets and their parts: each odd character once in the middle, then several."""
    draw = random.Random(SEED)
    for i in range(count):
        parts = [
            f"{draw.choice('qxz')}{draw.randrange(10**6):06}{draw.choice('qxz')}" for _ in range(draw.choice((2, 3)))
        ]
        between = ODD[i] if i < len(ODD) else draw.choice(ODD) + draw.choice(ODD)
        yield between.join(parts), parts


SECRETS = list(secrets(len(ODD) + 15))
#: For how many of them all commands are run, which takes long.
COUNT = int(os.environ.get("SECRETS", "1"))


def require_hidden(parts: list[str], *said: object) -> None:
    for text in map(str, said):
        found = [part for part in parts if part in text]
        assert not found, f"seed {SEED}: {found} in {text[:2000]}"


def urls(secret: str, port: int) -> list[str]:
    """The ways to write it: as it is, and encoded; as the password of servers that do not answer."""
    login = [f"me:{secret}", f"me:{quote(secret, safe='')}"]
    return [f"postgresql://{who}@127.0.0.1:{port}/{PLACE}" for who in login]


def told(action: Callable[[], object]) -> str:
    """All that an exception tells."""
    try:
        action()
    except Exception:
        return traceback.format_exc()
    return ""


def test_what_is_shown_of_urls() -> None:
    for secret, parts in SECRETS:
        for url in urls(secret, 5432):
            require_hidden(parts, shown_url(url), hide(f"could not reach {url} as me/{secret} {secret!r}", [url]))
        for parameter in (secret, quote(secret, safe="")):
            require_hidden(parts, shown_url(f"sc://{PLACE}:15002/;token={parameter};use_ssl=true"))
            require_hidden(parts, shown_url(f"postgresql://me@{PLACE}/x?sslpassword={parameter}"))


def test_catalogs_that_do_not_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    for secret, parts in SECRETS:
        for url in urls(secret, port):
            said = told(lambda url=url: Catalog(url).database.check_schema())
            assert said, url
            require_hidden(parts, last_error(said), caplog.text)


def last_error(trace: str) -> str:
    """Without the lines of code, of which this file's have no secrets but in their names."""
    return "\n".join(line for line in trace.splitlines() if not line.startswith("    "))


def test_sources_that_do_not_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    for secret, parts in SECRETS:
        for url in urls(secret, port):
            settings = PostgresSettings("shop", url, (), "p", tmp_path, patience_s=0.0)
            said = told(lambda settings=settings: connect(settings))
            assert said, url
            require_hidden(parts, last_error(said), caplog.text)


def test_spark_servers_that_cannot_be(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for secret, parts in SECRETS:
        for url in (
            f"sc://{PLACE}:1x/;token={secret}",
            f"sc://{PLACE}:15002/{secret};token={secret}",
            f"sc://{secret}@{PLACE}/",
        ):
            said = told(lambda url=url: spark_session(ExecutorSettings(kind="spark", remote=url)))
            assert said, url
            require_hidden(parts, last_error(said), caplog.text, ExecutorSettings(remote=url))


async def anyone(request: Request, project: str) -> None:
    """Lets everybody in."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose catalog, source and Spark have URLs from the environment."""
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    write_project(tmp_path, "shop")
    file = tmp_path / "cumulus.yaml"
    text = file.read_text().replace("kind: spark", "kind: inprocess")
    source = "\n  bank: {kind: postgres, url: '${BANK}', tables: [orders]}"
    file.write_text(re.sub(r"(\nsources:\n)", rf"\1{source[1:]}\n", text) + "\ncatalog: ${CATALOG}\n")
    return tmp_path


def test_everybody_who_tells_of_a_project(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    monkeypatch.setattr(resuming, "WAIT_S", 0.0)
    for secret, parts in random.Random(SEED).sample(SECRETS, COUNT):
        for url in urls(secret, port):
            monkeypatch.setenv("CATALOG", url)
            monkeypatch.setenv("BANK", url)
            monkeypatch.setenv("CUMULUS_SPARK_REMOTE", f"sc://{PLACE}/;token={secret}")
            project = load_project(folder)
            client = TestClient(create_app(lambda project=project: [project], anyone))
            require_hidden(parts, repr(project), client.get("/shop/").text, *examine(folder, free_port()))
            for command in ("status", "status --json", "doctor", "doctor --json", "source list", "batch list"):
                arguments = command.split()
                place = [str(folder)] if arguments[0] == "doctor" else ["--project", str(folder)]
                answer = CliRunner().invoke(main, [*arguments, *place])
                assert answer.exit_code == 2, answer.output
                require_hidden(parts, answer.output, answer.stderr)
            require_hidden(parts, last_error(told(lambda: steps.publish_committed(str(folder)))), caplog.text)


def test_what_the_catalog_keeps_of_a_source_that_does_not_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a catalog that works are without the secrets, too: of a source that stands still, of a step that fails."""
    port = free_port()
    monkeypatch.setenv("CATALOG", f"sqlite:///{folder}/catalog.db")
    monkeypatch.setenv("BANK", urls("plain", port)[0])
    landing_only = replace(load_project(folder), sources=())
    initialise(landing_only)
    for secret, parts in random.Random(SEED).sample(SECRETS, 1):
        for url in urls(secret, port):
            monkeypatch.setenv("BANK", url)
            project = load_project(folder)
            with open_runtime(landing_only) as rt:
                said = describe_failure(project, OSError(f"no route to {url}, {secret}"))
                rt.catalog.problems.step_fails("apply", 0, Failure("kind", said))
            with closing(sqlite3.connect(folder / "catalog.db")) as database:
                require_hidden(parts, "\n".join(database.iterdump()))
