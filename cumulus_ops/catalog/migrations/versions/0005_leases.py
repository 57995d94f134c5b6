"""Leases: who is at work. Announcements from before have none, and hold nobody back; retired runs go when nobody can read them."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

BigKey = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the table and the columns; a retired run's age does not matter any more."""
    op.create_table(
        "lease",
        sa.Column("id", BigKey, primary_key=True, autoincrement=True),
        sa.Column("holder", sa.String(200), nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
        sa.Column("floor", sa.BigInteger, nullable=False),
        sa.Column("first_step", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("batch") as batch:
        batch.add_column(sa.Column("lease", sa.BigInteger, nullable=True))
        batch.add_column(sa.Column("step", sa.BigInteger, nullable=True))
    with op.batch_alter_table("run") as run:
        run.drop_column("retired_at")
