"""All that a step has failed for when it was tried last."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Add the column, unless the table was made with it."""
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("step_problem")}
    if "failures" not in there:
        op.add_column("step_problem", sa.Column("failures", sa.Text))
