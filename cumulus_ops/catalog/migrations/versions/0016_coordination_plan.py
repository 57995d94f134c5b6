"""The coordination plan of a program."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the column; initialising fills it in."""
    op.add_column("program", sa.Column("coordination", sa.Text))
