"""Drops and the deliveries of sources have names of their own each; who had which before is told by where the rows came from."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

#: The tenth migration left naming its constraint to the database; this is PostgreSQL's name.
NAMES = {"uq": "%(table_name)s_%(column_0_N_name)s_key"}


def upgrade() -> None:
    """Add the columns, find out what they are, and make names unique together with them."""
    for table, columns in (("batch", ["drop", "part"]), ("delivery", ["name"])):
        before, after = ["coordinator", *columns], ["coordinator", "space", *columns]
        with op.batch_alter_table(table, naming_convention=NAMES) as changed:
            changed.add_column(sa.Column("space", sa.String(200), nullable=False, server_default=""))
            changed.drop_constraint("_".join([table, *before, "key"]), type_="unique")
            changed.create_unique_constraint("_".join([table, *after, "key"]), after)
        with op.batch_alter_table(table) as changed:
            changed.alter_column("space", server_default=None)
    _fill()


def _fill() -> None:
    """Rows say which source they are of. A delivery without any is a drop if it was taken from a folder, or else of the source whose name its
    own begins with, as the names of deliveries did."""
    catalog = op.get_bind()
    batch, delivery = (
        _table("batch", "id", "coordinator", "drop", "space"),
        _table("delivery", "coordinator", "name", "space", "identity"),
    )
    sources = [row[0] for row in catalog.execute(sa.select(_table("source_position", "source").c.source))]
    folders = {
        (row[0], row[1])
        for row in catalog.execute(sa.select(delivery.c.coordinator, delivery.c.name).where(delivery.c.identity != ""))
    }
    of_rows: dict[int, str] = {}
    for name in ("quarantine", "log_file"):
        rows = _table(name, "batch", "source")
        of_rows |= {
            row[0]: row[1]
            for row in catalog.execute(sa.select(rows.c.batch, sa.func.max(rows.c.source)).group_by(rows.c.batch))
        }
    for number, coordinator, drop in catalog.execute(sa.select(batch.c.id, batch.c.coordinator, batch.c["drop"])).all():
        space = "/" if "/" in drop else of_rows.get(number, "").partition("/")[0]
        if not space and (coordinator, drop) not in folders:
            space = next((s for s in sources if drop.startswith((f"{s}-", f"{s}."))), "")
        if space not in ("", str(coordinator)):
            catalog.execute(sa.update(batch).where(batch.c.id == number).values(space=space))
            mine = (delivery.c.coordinator == coordinator, delivery.c.name == drop)
            catalog.execute(sa.update(delivery).where(*mine).values(space=space))


def _table(name: str, *columns: str) -> sa.TableClause:
    return sa.table(name, *map(sa.column, columns))
