"""The first schema.

It is written out, not taken from the current table definitions, because a migration must stay what it was.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BigKey = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create all tables."""
    _control()
    _log()
    _state()
    _results()


def _col(name: str, kind: Any, nullable: bool = False, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable, **options)


def _control() -> None:
    op.create_table(
        "program",
        _col("id", sa.Integer, primary_key=True),
        _col("name", sa.String(200)),
        _col("digest", sa.String(64)),
        _col("text", sa.Text),
        _col("granularity", sa.String(10)),
        _col("last_commit", sa.BigInteger),
        _col("next_ticket", sa.BigInteger),
        _col("merge_horizon", sa.BigInteger),
        _col("token", sa.Integer),
        _col("coordinators", sa.Integer),
    )
    op.create_table(
        "coordinator",
        _col("index", sa.Integer, primary_key=True),
        _col("epoch", sa.Integer),
        _col("next_sequence", sa.BigInteger),
    )
    op.create_table(
        "seal",
        _col("coordinator", sa.Integer, primary_key=True),
        _col("epoch", sa.Integer, primary_key=True),
        _col("sealed_at", sa.DateTime(timezone=True)),
    )


def _log() -> None:
    op.create_table(
        "batch",
        _col("id", BigKey, primary_key=True, autoincrement=True),
        _col("coordinator", sa.Integer),
        _col("drop", sa.String(200)),
        _col("epoch", sa.Integer),
        _col("first_sequence", sa.BigInteger),
        _col("next_sequence", sa.BigInteger),
        _col("inserts", sa.BigInteger),
        _col("deletes", sa.BigInteger),
        _col("quarantined", sa.BigInteger),
        _col("duplicates", sa.BigInteger),
        _col("ticket", sa.BigInteger, nullable=True),
        _col("read_at", sa.BigInteger, nullable=True),
        _col("state", sa.String(10)),
        _col("commit", sa.BigInteger, nullable=True),
        _col("seconds", sa.Float),
        sa.UniqueConstraint("coordinator", "drop"),
    )
    op.create_table(
        "log_file",
        _col("id", BigKey, primary_key=True, autoincrement=True),
        _col("batch", sa.BigInteger, index=True),
        _col("relation", sa.String(200)),
        _col("path", sa.Text),
        _col("rows", sa.BigInteger),
        _col("source", sa.String(400)),
        _col("min_offset", sa.BigInteger),
        _col("max_offset", sa.BigInteger),
    )
    op.create_table(
        "quarantine",
        _col("id", BigKey, primary_key=True, autoincrement=True),
        _col("batch", sa.BigInteger, index=True),
        _col("relation", sa.String(200)),
        _col("path", sa.Text),
        _col("rows", sa.BigInteger),
    )


def _state() -> None:
    op.create_table(
        "commit",
        _col("number", sa.BigInteger, primary_key=True, autoincrement=False),
        _col("kind", sa.String(10)),
        _col("committed_at", sa.DateTime(timezone=True)),
        _col("rows", sa.BigInteger),
    )
    op.create_table(
        "correction",
        _col("commit", sa.BigInteger, primary_key=True, autoincrement=False),
        _col("epoch", sa.Integer, primary_key=True, autoincrement=False),
        _col("rows", sa.BigInteger),
    )
    op.create_table(
        "run",
        _col("id", BigKey, primary_key=True, autoincrement=True),
        _col("map", sa.String(400)),
        _col("access_path", sa.String(200)),
        _col("path", sa.Text, index=True),
        _col("offset", sa.BigInteger),
        _col("commit", sa.BigInteger, index=True),
        _col("origin", sa.BigInteger),
        _col("min_version", sa.BigInteger),
        _col("max_version", sa.BigInteger),
        _col("rows", sa.BigInteger),
        _col("bytes", sa.BigInteger),
        _col("retired_by", sa.BigInteger, nullable=True),
        _col("retired_at", sa.DateTime(timezone=True), nullable=True),
    )
    op.create_table(
        "reading_clock",
        _col("batch", sa.BigInteger, primary_key=True, autoincrement=False),
        _col("prefix", sa.BigInteger),
        _col("exceptions", sa.Text),
        _col("revision", sa.BigInteger),
    )


def _results() -> None:
    op.create_table(
        "snapshot",
        _col("epoch", sa.Integer, primary_key=True, autoincrement=False),
        _col("version", sa.BigInteger),
        _col("commit", sa.BigInteger),
        _col("entries", sa.BigInteger),
        _col("seconds", sa.Float),
        _col("committed_at", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "published",
        _col("view", sa.String(200), primary_key=True),
        _col("epoch", sa.Integer, primary_key=True),
        _col("delta_version", sa.BigInteger),
    )
    op.create_table(
        "validation",
        _col("epoch", sa.Integer, primary_key=True, autoincrement=False),
        _col("success", sa.Boolean),
        _col("failures", sa.Text),
        _col("report", sa.Text),
        _col("seconds", sa.Float),
        _col("validated_at", sa.DateTime(timezone=True)),
    )
