"""The plugin's check of Host headers, in front of a small application."""

import asyncio

import pytest

from cumulus_ops.orchestration.plugin import host_check


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def status(application, host):
    """The status of an answer to a request for ``host``."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host)], "scheme": "http"}
    asyncio.run(application(scope, None, send))
    return sent[0]["status"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (b"127.0.0.1:8080", 200),
        (b"localhost", 200),
        (b"evil.example", 400),
        (b"127.0.0.1.evil.example:8080", 400),
        (b"", 400),
    ],
)
def test_only_the_listed_names_are_answered(host, expected):
    (check,) = host_check({"CUMULUS_UI_HOSTS": "127.0.0.1, localhost"})
    application = check["middleware"](hello, **check["kwargs"])
    assert status(application, host) == expected


def test_without_a_list_nothing_is_checked():
    assert host_check({}) == host_check({"CUMULUS_UI_HOSTS": " "}) == []
