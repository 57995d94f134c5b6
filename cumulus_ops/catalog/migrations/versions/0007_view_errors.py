"""Which views are in error in which snapshots, and why."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "view_error",
        sa.Column("view", sa.String(200), primary_key=True),
        sa.Column("epoch", sa.Integer, primary_key=True),
        sa.Column("kind", sa.String(100), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("hint", sa.Text, nullable=False),
    )
