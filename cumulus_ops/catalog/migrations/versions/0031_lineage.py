"""What runs and files hold, and how the runs of a commit came to be (docs/adr/0085). NULL of those of old."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

ADDED: dict[str, dict[str, Any]] = {
    "commit": {"revision": sa.Integer, "read_at": sa.BigInteger, "recipe": sa.Text},
    "run": {"root": sa.String(32), "content": sa.BigInteger, "total": sa.BigInteger},
    "key_run": {"root": sa.String(32)},
    "net_table": {"total": sa.BigInteger},
}


def upgrade() -> None:
    """Add the columns, unless the tables were made with them."""
    for table, columns in ADDED.items():
        there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
        for name, type_ in columns.items():
            if name not in there:
                op.add_column(table, sa.Column(name, type_))
