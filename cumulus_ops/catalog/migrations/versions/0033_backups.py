"""The newest backup (docs/adr/0083)."""

import sqlalchemy as sa
from alembic import op

from cumulus_ops.catalog.tables import backup

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Make its table, unless that is there."""
    if not sa.inspect(op.get_bind()).has_table("backup"):
        backup.create(op.get_bind())
