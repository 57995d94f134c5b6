"""Every form of PostgreSQL's dialect is what PostgreSQL says, on random rows; a wrong row is noticed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg2
import pytest
from psycopg2.extensions import UNICODE, string_types

from tests.support.forms import (
    FAILED,
    TABLE,
    UNREADABLE,
    Ask,
    Asked,
    all_rows,
    answer_forms,
    compare_forms,
    insert,
    judge,
    planted,
)
from tests.support.services import PostgreSQL
from tests.support.wrong_kernels import judge_mistakes

pytestmark = pytest.mark.postgres
ROWS = all_rows(60)
#: A form's values as texts, an error for rows that have one; forms that are none here are errors of the whole.
ATTEMPT = f"""
CREATE FUNCTION attempt(form text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE found text[] := '{{}}'; one text;
BEGIN
  FOR i IN 0..{len(ROWS) - 1} LOOP
    BEGIN
      EXECUTE 'SELECT (' || form || ')::text FROM r WHERE k = $1' INTO one USING i;
    EXCEPTION WHEN OTHERS THEN
      IF SQLSTATE LIKE '42%' THEN RAISE; END IF;
      one := '{FAILED}';
    END;
    found := found || one;
  END LOOP;
  RETURN found;
END $$"""


@pytest.fixture(scope="module")
def session(logical_server: PostgreSQL) -> Iterator[Any]:
    session = psycopg2.connect(logical_server.create_database("forms").replace("+psycopg2", ""))
    session.autocommit = True
    with session.cursor() as cursor:
        cursor.execute("SET TimeZone = 'UTC'")
        cursor.execute(TABLE)
        cursor.execute("ALTER TABLE r ADD PRIMARY KEY (k)")
        cursor.execute(ATTEMPT)
        cursor.execute(*insert(ROWS, "%s"))
    yield session
    session.close()


def asker(session: Any) -> Ask:
    """Asks PostgreSQL for a form's values."""

    def ask_one(asked: Asked) -> Sequence[Any] | None:
        with session.cursor() as cursor:
            try:
                cursor.execute(f"SELECT {asked.written} FROM r LIMIT 0")
                read = string_types.get(cursor.description[0].type_code, UNICODE)
                cursor.execute("SELECT attempt(%s)", (asked.written,))
            except psycopg2.Error:
                return None
            return [FAILED if text == FAILED else _read(read, text, cursor) for text in cursor.fetchone()[0]]

    return lambda all_asked: [ask_one(asked) for asked in all_asked]


def _read(read: Any, text: str | None, cursor: Any) -> Any:
    try:
        return read(text, cursor)
    except (ValueError, OverflowError):  # a year beyond 9999, or BC
        return UNREADABLE


#: Mistakes that the values of PostgreSQL cannot tell from what the dictionary says of it.
BLIND = {("sign", "NaN as 0")}


def test_every_form_is_postgresqls_and_mistakes_of_kernels_are_noticed(session: Any) -> None:
    answered = answer_forms("postgres", ROWS, asker(session))
    assert not judge("postgres", ROWS, answered)
    assert len(answered) > 350
    found = judge_mistakes("postgres", ROWS, answered)
    assert {(op, m) for op, mistakes in found.items() for m, noticed in mistakes.items() if not noticed} == BLIND
    assert sum(map(len, found.values())) > 500


def test_a_wrong_row_is_noticed(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with planted("extract", "(year(m) - 1) DIV 100 + 1", "year(m) DIV 100 + 1", monkeypatch):
        wrong, _ = compare_forms("postgres", ROWS, asker(session), ["extract"])
        assert list(wrong) == ["EXTRACT(CENTURY FROM m)", "EXTRACT(CENTURY FROM m) of m DATE"]
