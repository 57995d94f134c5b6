"""Files of statements that others wrote are played on PostgreSQL and on the engine, and what differs is told."""

from __future__ import annotations

from pathlib import Path

import psycopg2
import pytest

from tests.support.foreign import judge, play, read_tables
from tests.support.services import PostgreSQL

pytestmark = pytest.mark.postgres

FILE = r"""
\set unread 'x;'
CREATE TABLE t (a int, b text, n numeric(8, 2)); -- a comment;
INSERT INTO t VALUES (1, 'x;y', 1.5), (2, $q$a;'b$q$, 2.25), (3, NULL, 0), (1, E'z\'', 7);
SELECT b, AVG(n) FROM t GROUP BY b;
SELECT * FROM t x JOIN t y USING (a) /* ; */ WHERE x.n > 0;
SELECT ROW(a, b) FROM t;
SELECT a FROM t WHERE 1 / (a - 3) = 0 OR TRUE;
SELECT oid FROM pg_class;
SELECT a FROM nowhere;
"""


def test_a_file_is_played_and_a_wrong_answer_is_told(logical_server: PostgreSQL, tmp_path: Path) -> None:
    file = tmp_path / "file.sql"
    file.write_text(FILE, encoding="utf-8")
    connection = psycopg2.connect(logical_server.create_database("foreign").replace("+psycopg2", ""))
    connection.autocommit = True
    with connection.cursor() as cursor:
        assert [verdict for verdict, _, _ in play(cursor, file)] == ["right", "right", "refused", "right"]
        tables = read_tables(cursor, "SELECT a FROM t")
    connection.close()
    assert tables is not None
    assert judge("SELECT a FROM t", tables, [(1,), (2,), (3,), (1,)])[0] == "right"
    assert judge("SELECT a FROM t", tables, [(1,), (2,), (3,)])[0] == "wrong"
