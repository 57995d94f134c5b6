"""Whose a catalog is: an installation, its generation, and the published tables that it has written."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add the tables. The installation is drawn, and the state folder claimed for it, when the project is next initialised."""
    op.create_table(
        "installation",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("home", sa.Text),
    )
    op.create_table(
        "published_table",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("table_id", sa.String(64), nullable=False),
        sa.Column("mark", sa.BigInteger, nullable=False),
    )
    op.add_column("program", sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"))
