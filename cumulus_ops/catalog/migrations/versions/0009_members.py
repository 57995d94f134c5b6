"""Who is a coordinator in which epoch, when epochs end, and who has sealed for whom; the token has a number."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the tables and the columns. So far all coordinators were members of all epochs, which ended as the clock says."""
    op.create_table(
        "member",
        sa.Column("coordinator", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("first_epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("last_epoch", sa.Integer),
        sa.Column("awaited_since", sa.Float),
    )
    op.create_table(
        "boundary",
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("coordinator", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("ends_at", sa.Float, nullable=False),
        sa.Column("reason", sa.String(10), nullable=False),
    )
    with op.batch_alter_table("seal") as seal:
        seal.add_column(sa.Column("fenced_by", sa.Integer))
        seal.add_column(sa.Column("reason", sa.Text))
    with op.batch_alter_table("program") as program:
        program.add_column(sa.Column("token_number", sa.BigInteger, nullable=False, server_default="0"))
    with op.batch_alter_table("program") as program:
        program.alter_column("token_number", server_default=None)
    op.execute('INSERT INTO member (coordinator, first_epoch) SELECT "index", 0 FROM coordinator')
