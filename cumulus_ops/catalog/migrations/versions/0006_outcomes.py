"""Who has dealt with which snapshot, and from which epoch on snapshots can be read; batches that fail are set aside."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

#: What an earlier version has published and validated, and what it let go without a word: that is not known any more.
DONE = (
    "INSERT INTO consumption SELECT epoch, 'validate', 'done', validated_at FROM validation",
    "INSERT INTO consumption SELECT s.epoch, 'publish', 'done', s.committed_at FROM snapshot s"
    " WHERE s.epoch < (SELECT max(epoch) FROM snapshot) OR s.epoch IN (SELECT epoch FROM published)",
    "INSERT INTO consumption SELECT s.epoch, 'validate', 'expired', s.committed_at FROM snapshot s"
    " WHERE s.epoch < (SELECT max(epoch) FROM snapshot) AND s.epoch NOT IN (SELECT epoch FROM validation)",
    "UPDATE program SET oldest_readable = coalesce((SELECT max(epoch) FROM snapshot), 0)",
)


def upgrade() -> None:
    """Add the table and the columns. How many snapshots were retained is not in the catalog: only the newest is surely readable."""
    op.create_table(
        "consumption",
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("consumer", sa.String(20), primary_key=True),
        sa.Column("outcome", sa.String(10), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
    )
    with op.batch_alter_table("program") as program:
        program.add_column(sa.Column("oldest_readable", sa.Integer, nullable=False, server_default="0"))
    with op.batch_alter_table("program") as program:
        program.alter_column("oldest_readable", server_default=None)
    with op.batch_alter_table("batch") as batch:
        batch.add_column(sa.Column("failures", sa.Integer, nullable=False, server_default="0"))
        batch.add_column(sa.Column("unended", sa.Integer, nullable=False, server_default="0"))
        batch.add_column(sa.Column("reason", sa.Text))
        batch.add_column(sa.Column("retry_of", sa.BigInteger))
        batch.add_column(sa.Column("retracted_by", sa.BigInteger))
    with op.batch_alter_table("batch") as batch:
        batch.alter_column("failures", server_default=None)
        batch.alter_column("unended", server_default=None)
    for statement in DONE:
        op.execute(statement)
