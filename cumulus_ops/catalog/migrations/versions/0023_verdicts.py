"""What was found of each view, and what could not be compared."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

#: An earlier version called a snapshot right although some view could not be recomputed, and said so in words alone.
OUTCOMES = (
    "UPDATE validation SET outcome = 'failed' WHERE NOT success",
    "UPDATE validation SET outcome = 'unproved' WHERE success AND failures LIKE '%: not proved, %'",
    "UPDATE validation SET outcome = 'passed' WHERE outcome IS NULL",
)


def upgrade() -> None:
    """Keep verdicts; final partitions that were right, or could not be compared, which was not told apart, are validated again."""
    op.add_column("validation", sa.Column("outcome", sa.String(10)))
    op.add_column("validation", sa.Column("verdicts", sa.Text))
    op.add_column("validation", sa.Column("views", sa.Integer))
    for statement in OUTCOMES:
        op.execute(statement)
    with op.batch_alter_table("validation") as validation:
        validation.alter_column("outcome", existing_type=sa.String(10), nullable=False)
        validation.drop_column("success")
    op.add_column("final_partition", sa.Column("verdict", sa.String(10)))
    op.execute("UPDATE final_partition SET verdict = 'differs' WHERE validated IS NOT NULL AND NOT validated")
    op.drop_index("ix_final_partition_validated", "final_partition")
    with op.batch_alter_table("final_partition") as final:
        final.drop_column("validated")
    op.create_index("ix_final_partition_verdict", "final_partition", ["verdict"])
