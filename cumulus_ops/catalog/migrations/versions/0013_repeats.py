"""Snapshots of epochs without events repeat the one before them; what a program was compiled from."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the columns. What is there has been committed one by one, and counts as its own."""
    op.add_column("snapshot", sa.Column("repeats", sa.Integer))
    op.add_column("program", sa.Column("source", sa.String(64)))
