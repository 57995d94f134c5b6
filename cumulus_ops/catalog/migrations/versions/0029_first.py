"""All tables. As long as no version is released this is the only migration, and changes with the tables; from then on, each change has one of its own."""

from alembic import op

from cumulus_ops.catalog.tables import metadata

revision = "0029"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    metadata.create_all(op.get_bind())
