"""What is damaged, and who repairs it (docs/adr/0087)."""

import sqlalchemy as sa
from alembic import op

from cumulus_ops.catalog import tables

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Make the tables, unless they were made with the others."""
    there = set(sa.inspect(op.get_bind()).get_table_names())
    for table in (tables.damage, tables.recovery):
        if table.name not in there:
            table.create(op.get_bind())
