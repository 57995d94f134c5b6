"""A drop may be several batches; those from before are their drop's only one."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

#: The first migration left naming the constraint to the database; this is PostgreSQL's name.
NAMES = {"uq": "%(table_name)s_%(column_0_N_name)s_key"}


def upgrade() -> None:
    """Add the column; a drop's name is unique together with it."""
    with op.batch_alter_table("batch", naming_convention=NAMES) as batch:
        batch.add_column(sa.Column("part", sa.Integer, nullable=False, server_default="0"))
        batch.drop_constraint("batch_coordinator_drop_key", type_="unique")
        batch.create_unique_constraint("batch_coordinator_drop_part_key", ["coordinator", "drop", "part"])
    with op.batch_alter_table("batch") as batch:
        batch.alter_column("part", server_default=None)
