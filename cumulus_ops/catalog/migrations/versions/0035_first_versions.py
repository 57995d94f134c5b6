"""Where the stamps of a log file begin (docs/adr/0093)."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Add the column, unless the table was made with it. Files of old have their stamps whole: they begin at 0."""
    if "first_version" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("log_file")}:
        op.add_column("log_file", sa.Column("first_version", sa.BigInteger, nullable=False, server_default="0"))
