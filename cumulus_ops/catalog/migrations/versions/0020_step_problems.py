"""Which steps fail, since when; and which maps a correction has changed."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the table, and the column."""
    op.create_table(
        "step_problem",
        sa.Column("step", sa.String(40), primary_key=True),
        sa.Column("coordinator", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(100), nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("log", sa.Text, nullable=False),
        sa.Column("since", sa.Float, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("times", sa.Integer, nullable=False),
    )
    op.add_column("correction", sa.Column("maps", sa.Text))
