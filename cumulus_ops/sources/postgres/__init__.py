"""PostgreSQL as a source: an initial copy, then logical replication by its built-in output plugin."""

from cumulus_ops.sources.postgres.settings import PostgresSettings, TableSettings
from cumulus_ops.sources.postgres.source import PostgresSource

__all__ = ["PostgresSettings", "PostgresSource", "TableSettings"]
