"""The clock of the maps that depend on derivations; programs registered before have none."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; NULL says that no map depends on a derivation."""
    op.add_column("program", sa.Column("refreshed", sa.BigInteger, nullable=True))
