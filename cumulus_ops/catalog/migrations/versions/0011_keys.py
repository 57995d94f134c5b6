"""Key indexes: what is known of the keys of relations whose keys mean something."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the tables; the indexes are built when the next event comes."""
    op.create_table(
        "key_index",
        sa.Column("relation", sa.String(200), primary_key=True),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("signature", sa.String(64), nullable=False),
        sa.Column("covers", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "key_run",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("relation", sa.String(200), nullable=False, index=True),
        sa.Column("path", sa.Text, nullable=False, index=True),
        sa.Column("offset", sa.BigInteger, nullable=False),
        sa.Column("rows_bytes", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("lowest", sa.BigInteger, nullable=False),
        sa.Column("highest", sa.BigInteger, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.Column("retired_by", sa.BigInteger, index=True),
    )
