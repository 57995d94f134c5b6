"""Who is at a deployment, and what a revision changes."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Add the columns, unless the tables were made with them."""
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("revision")}
    for column in (sa.Column("worker", sa.BigInteger), sa.Column("changes", sa.Text)):
        if column.name not in there:
            op.add_column("revision", column)
