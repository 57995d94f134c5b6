"""Batches that are set aside for deaths alone are tried again by themselves; those of before wait for somebody who decides."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the columns."""
    with op.batch_alter_table("batch") as batch:
        batch.add_column(sa.Column("deaths", sa.Integer, nullable=False, server_default="0"))
        batch.add_column(sa.Column("retry_at", sa.Float))
    with op.batch_alter_table("batch") as batch:
        batch.alter_column("deaths", server_default=None)
