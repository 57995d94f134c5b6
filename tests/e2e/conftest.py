"""What several tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.services import PostgreSQL, postgresql


@pytest.fixture(scope="session")
def logical_server() -> Iterator[PostgreSQL]:
    """A PostgreSQL server whose changes can be followed."""
    with postgresql(
        "wal_level=logical", "max_replication_slots=40", "max_wal_senders=20", "wal_sender_timeout=0"
    ) as server:
        yield server
