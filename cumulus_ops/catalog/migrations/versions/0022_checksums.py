"""Checksums of the files of the log and of the quarantine; key indexes have runs as those of maps."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the columns; files of old have none. Key indexes of old are built anew when the next event comes."""
    op.add_column("log_file", sa.Column("checksums", sa.Text))
    op.add_column("quarantine", sa.Column("checksums", sa.Text))
    with op.batch_alter_table("key_run") as table:
        table.drop_column("rows_bytes")
