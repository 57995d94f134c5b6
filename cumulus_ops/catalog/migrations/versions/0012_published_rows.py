"""How many rows each published version of a view has."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the column; of what was published before it is not known."""
    op.add_column("published", sa.Column("rows", sa.BigInteger))
