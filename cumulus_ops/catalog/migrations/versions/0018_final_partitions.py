"""Rows of views that are final before their epoch is."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the table; and what says that a closed value is done with."""
    op.add_column("seal_value", sa.Column("finalised", sa.Boolean))
    op.create_index("ix_seal_value_not_finalised", "seal_value", ["finalised", "closed_at"])
    op.create_table(
        "final_partition",
        sa.Column("view", sa.String(200), primary_key=True),
        sa.Column("value", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("commit", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("delta_version", sa.BigInteger, index=True),
        sa.Column("recorded_at", sa.Float, nullable=False),
        sa.Column("validated", sa.Boolean, index=True),
        sa.Column("report", sa.Text),
    )
