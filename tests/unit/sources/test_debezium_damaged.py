"""Messages that were damaged at random: whatever they say, nothing crashes, and what is accepted fits its columns."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from cumulus_ops.project.errors import CumulusError
from tests.support.debezium import Connector, text_of
from tests.support.debezium_stream import CHANGES, SECOND, take

SEEDS = int(os.environ.get("EXAMPLES", "25"))
BYTES = b'0123456789"{}[],:enul-.\\\x00\xff'
TEXTS = [
    b"null",
    b"1",
    b'"1"',
    b"{}",
    b"[]",
    b"true",
    b"1.5",
    b'""',
    b"1e400",
    b"1e-999999999",
    b"99999999999999999999",
    b'"\\ud800"',
]
VALUES = re.compile(rb':("[^"]*"|-?\d+|null)')


def damaged(seed: int) -> bytes:
    chance = random.Random(seed)
    kind = chance.choice(["postgresql", "mysql"])
    metadata, schemas, keys = (chance.random() < 0.5 for _ in range(3))
    connector = Connector(kind, metadata, schemas, keys)
    text = bytearray(
        text_of(connector.transaction(CHANGES) + connector.transaction([("d", "orders", SECOND, None)])).encode()
    )
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text))
        match chance.randrange(4):
            case 0:
                text[at] = chance.choice(BYTES)
            case 1:
                del text[at : at + chance.randint(1, 20)]
            case 2:
                text[at:at] = chance.choice(TEXTS)
            case _:
                value = chance.choice(list(VALUES.finditer(bytes(text))))
                text[value.start() + 1 : value.end()] = chance.choice(TEXTS)
    return bytes(text)


@pytest.mark.parametrize("upserts", [frozenset[str](), frozenset({"orders"})], ids=["trusted", "upsert"])
def test_damaged_messages_are_rejected_or_stop_the_source(tmp_path: Path, upserts: frozenset[str]) -> None:
    ends = {"taken": 0, "stopped": 0}
    for seed in range(SEEDS):
        (tmp_path / "a.json").write_bytes(damaged(seed))
        try:
            take(tmp_path, upserts=upserts)
            ends["taken"] += 1
        except CumulusError:
            ends["stopped"] += 1
    assert ends["taken"] > ends["stopped"]
