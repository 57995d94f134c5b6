"""The physical plan: access paths, prepared statements and derivations; and how a large batch is spread over tasks."""
