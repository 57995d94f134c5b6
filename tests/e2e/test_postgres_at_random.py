"""Random transactions on a real PostgreSQL: what follows from its deliveries is what its tables have.

``TRANSACTIONS=5000 SEED=7 pytest tests/e2e/test_postgres_at_random.py`` plays more.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from m3.datatypes import INT, STRING, decimal
from tests.support.following import Database, Follower, table
from tests.support.services import PostgreSQL

pytestmark = pytest.mark.postgres
N = STRING.with_null()
NAMES = ["whole", "keyed", '"Odd one"."Té,st"', "parted", "other"]


def test_random_transactions(logical_server: PostgreSQL, tmp_path: Path) -> None:
    """Tables of all kinds, random statements in transactions with savepoints and rollbacks, looked at now and then."""
    count = int(os.environ.get("TRANSACTIONS", "150"))
    draw = random.Random(int(os.environ.get("SEED", "1")))
    database = Database(logical_server)
    make_tables(database)
    columns = {"id": INT, "part": INT, "body": N, "amount": decimal(12, 2).with_null()}
    key = ("id", "part")
    tables = (
        table("whole", columns, mode="strict"),
        table("keyed", columns, mode="upsert", key=key),
        table("odd", columns, mode="upsert", key=key, place="Odd one.Té,st"),
        table("parted", columns),
    )
    follower = Follower(database.url, tmp_path, *tables)
    for number in range(count):
        database.session.autocommit = False
        for _ in range(draw.randrange(1, 6)):
            change(database, draw, number)
        (database.session.rollback if draw.random() < 0.15 else database.session.commit)()
        database.session.autocommit = True
        if draw.random() < 0.2:
            follower.catch_up()
            for t in tables:
                name, rows = t.relation.name, database.rows(t)
                assert follower.rows[name] == rows, (number, follower.rows[name] - rows, rows - follower.rows[name])
        if number == count // 2:
            database.session.close()
            logical_server.crash()
    follower.catch_up()
    assert follower.rows == {t.relation.name: database.rows(t) for t in tables}
    assert not follower.rejected


def make_tables(database: Database) -> None:
    """With whole old rows and with keys, with an odd name, with partitions; and one that nobody follows."""
    shape = "(id int, part int, body text, amount numeric(12,2), PRIMARY KEY (id, part))"
    database.execute(f"CREATE TABLE whole {shape}; ALTER TABLE whole REPLICA IDENTITY FULL; CREATE TABLE keyed {shape}")
    database.execute(f'CREATE SCHEMA "Odd one"; CREATE TABLE "Odd one"."Té,st" {shape}')
    database.execute(f"CREATE TABLE parted {shape} PARTITION BY LIST (part); CREATE TABLE other {shape}")
    database.execute("ALTER TABLE parted REPLICA IDENTITY FULL")
    for part in range(3):
        database.execute(f"CREATE TABLE parted_{part} PARTITION OF parted FOR VALUES IN ({part})")
        database.execute(f"ALTER TABLE parted_{part} REPLICA IDENTITY FULL")


def change(database: Database, draw: random.Random, number: int) -> None:
    """A random statement, which may be rolled back."""
    name = draw.choice(NAMES)
    value = draw.choice([None, "", "é", "large" * 1000 + str(number)])
    row = (draw.randrange(12), draw.randrange(3), value, draw.randrange(1000) / 4)
    has_large = name not in ("whole", "parted")  # without whole old rows, large values have to be sent anew
    database.execute("SAVEPOINT s")
    match draw.randrange(8):
        case 0 | 1 | 2:
            database.execute(f"INSERT INTO {name} VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING", row)
        case 3 | 4:
            body = ", body = %s" if has_large else ""
            values = (row[3], row[2], row[0]) if has_large else (row[3], row[0])
            database.execute(f"UPDATE {name} SET amount = %s{body} WHERE id = %s", values)
        case 5:
            free = f"NOT EXISTS (SELECT FROM {name} n WHERE n.id = o.id + 100)"
            database.execute(f"UPDATE {name} o SET id = id + 100, body = %s WHERE id = %s AND {free}", (value, row[0]))
        case 6:
            database.execute(f"DELETE FROM {name} WHERE id %% 100 = %s", (row[0],))
        case 7:
            database.execute(
                f"INSERT INTO {name} SELECT i, 0, 'many', i FROM generate_series(50, 60) i ON CONFLICT DO NOTHING"
            )
    if draw.random() < 0.2:
        database.execute("ROLLBACK TO s")
