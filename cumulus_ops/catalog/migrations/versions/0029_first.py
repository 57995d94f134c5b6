"""All tables as they are now. What has been added since there were projects to go on with has a migration of its own after this one, for their catalogs (decision 70)."""

from alembic import op

from cumulus_ops.catalog.tables import metadata

revision = "0029"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    metadata.create_all(op.get_bind())
