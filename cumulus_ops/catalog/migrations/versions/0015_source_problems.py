"""Which sources stand still, and why."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "source_problem",
        sa.Column("source", sa.String(200), primary_key=True),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("since", sa.Float, nullable=False),
    )
