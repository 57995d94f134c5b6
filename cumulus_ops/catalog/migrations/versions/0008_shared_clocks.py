"""Batches share reading clocks, which never change: who corrects moves them to another one."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

BigKey = sa.BigInteger().with_variant(sa.Integer, "sqlite")
SHARE = (
    "INSERT INTO reading_clock (prefix, exceptions) SELECT DISTINCT prefix, exceptions FROM clock_of_batch",
    "UPDATE batch SET clock = (SELECT k.id FROM reading_clock k JOIN clock_of_batch o"
    " ON o.prefix = k.prefix AND o.exceptions = k.exceptions WHERE o.batch = batch.id)",
)


def upgrade() -> None:
    """A clock for each that differs, and which one a batch has."""
    op.rename_table("reading_clock", "clock_of_batch")
    op.create_table(
        "reading_clock",
        sa.Column("id", BigKey, primary_key=True, autoincrement=True),
        sa.Column("prefix", sa.BigInteger, nullable=False),
        sa.Column("exceptions", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("batch") as batch:
        batch.add_column(sa.Column("clock", sa.BigInteger))
        batch.create_index("ix_batch_clock", ["clock"])
    for statement in SHARE:
        op.execute(statement)
    op.drop_table("clock_of_batch")
