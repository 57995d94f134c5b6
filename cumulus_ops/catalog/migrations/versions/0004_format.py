"""Which format a project's runs have (those from before have the first one), and its program in a form that is read fast."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column, and an index by which a process finds the runs that were replaced since it last looked."""
    with op.batch_alter_table("program") as program:
        program.add_column(sa.Column("format", sa.Integer, nullable=False, server_default="1"))
        program.add_column(sa.Column("compiled", sa.Text, nullable=False, server_default=""))
        program.add_column(sa.Column("forgotten", sa.BigInteger, nullable=False, server_default="0"))
        program.add_column(sa.Column("copies", sa.String(64), nullable=False, server_default=""))
    with op.batch_alter_table("program") as program:
        program.alter_column("format", server_default=None)
        program.alter_column("compiled", server_default=None)
        program.alter_column("forgotten", server_default=None)
        program.alter_column("copies", server_default=None)
    op.create_index("ix_run_retired_by", "run", ["retired_by"])
