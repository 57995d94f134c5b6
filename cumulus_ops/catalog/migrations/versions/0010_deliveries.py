"""Deliveries: when they arrived, where their sources are, which of their files were set aside; what was quarantined, by reason."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the tables and the columns."""
    op.create_table(
        "delivery",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("coordinator", sa.Integer, nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("arrived_at", sa.Float, nullable=False),
        sa.Column("identity", sa.String(200), nullable=False),
        sa.Column("files", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), index=True),
        sa.UniqueConstraint("coordinator", "name"),
    )
    op.create_table(
        "source_position",
        sa.Column("source", sa.String(200), primary_key=True),
        sa.Column("position", sa.Text, nullable=False),
    )
    op.create_table(
        "file_aside",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("coordinator", sa.Integer, nullable=False),
        sa.Column("batch", sa.BigInteger, index=True),
        sa.Column("delivery", sa.String(200), nullable=False),
        sa.Column("relation", sa.String(200)),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("kind", sa.String(100), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("hint", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger),
        sa.Column("recorded_at", sa.Float, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
    )
    with op.batch_alter_table("quarantine") as quarantine:
        quarantine.add_column(sa.Column("state", sa.String(10), nullable=False, server_default="kept"))
        quarantine.add_column(sa.Column("reasons", sa.Text, nullable=False, server_default="{}"))
        quarantine.add_column(sa.Column("source", sa.String(400), nullable=False, server_default=""))
        quarantine.add_column(sa.Column("transactional", sa.Boolean, nullable=False, server_default=sa.false()))
    with op.batch_alter_table("quarantine") as quarantine:
        quarantine.alter_column("state", server_default=None)
        quarantine.alter_column("reasons", server_default=None)
        quarantine.alter_column("source", server_default=None)
        quarantine.alter_column("transactional", server_default=None)
