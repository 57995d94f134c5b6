"""Alembic environment: runs the migrations on the connection that :func:`cumulus_ops.catalog.catalog.Catalog.migrate` passes."""

from alembic import context

from cumulus_ops.catalog.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
