"""Where each source was at the end of each epoch."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the table. Of earlier epochs that is not known."""
    op.create_table(
        "source_epoch",
        sa.Column("source", sa.String(200), primary_key=True),
        sa.Column("epoch", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Text, nullable=False),
    )
