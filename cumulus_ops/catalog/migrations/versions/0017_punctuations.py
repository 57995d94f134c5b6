"""Values of seals, and who produces into them."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

BIG_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the tables, and the number that grows whenever a coordinator seals a value."""
    op.create_table(
        "seal_value",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("relation", sa.String(200), nullable=False),
        sa.Column("seal", sa.String(200), nullable=False),
        sa.Column("value", sa.String(400), nullable=False),
        sa.Column("columns", sa.Text, nullable=False),
        sa.Column("producers", sa.String(10), nullable=False),
        sa.Column("first_seen", sa.Float, nullable=False),
        sa.Column("closed_at", sa.BigInteger, index=True),
        sa.UniqueConstraint("relation", "seal", "value"),
    )
    op.create_index("ix_seal_value_closed", "seal_value", ["relation", "seal", "closed_at"])
    op.create_table(
        "seal_producer",
        sa.Column("value", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("coordinator", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("registered_at", sa.Float, nullable=False),
        sa.Column("sealed_at", sa.Float),
        sa.Column("sealed_by", sa.String(200)),
    )
    op.add_column("coordinator", sa.Column("sealed_values", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("program", sa.Column("declared", sa.String(64)))
