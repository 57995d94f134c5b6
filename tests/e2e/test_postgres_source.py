"""A real PostgreSQL as a source: every type and operation, what is refused, what is lost and found again."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cumulus_ops.cli.main import main
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import Conflict, NotYet, SetupProblem
from cumulus_ops.project.project_file import load_project
from cumulus_ops.query.read import read_view
from cumulus_ops.sources.postgres.connection import connect, open_session
from cumulus_ops.sources.postgres.slot import installation_of, our_slots
from cumulus_ops.sources.postgres.tables import Position
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal
from m3.program import Column
from tests.support.banking import Bank
from tests.support.following import Database, Follower, table
from tests.support.services import PostgreSQL

pytestmark = pytest.mark.postgres
N = STRING.with_null()


@pytest.fixture
def database(logical_server: PostgreSQL) -> Database:
    return Database(logical_server)


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> Follower:
    """A table with whole old rows, and one row."""
    database.execute("CREATE TABLE orders (id bigint PRIMARY KEY, item text)")
    database.execute("ALTER TABLE orders REPLICA IDENTITY FULL; INSERT INTO orders VALUES (1, 'pen')")
    return Follower(database.url, tmp_path, table("orders", {"id": INT, "item": N}))


TYPES = {
    "small": ("int2", INT), "middle": ("int4", INT), "big": ("int8", INT), "exact": ("numeric", decimal(38, 10)),
    "money": ("numeric(15,2)", decimal(15, 2)), "yes": ("bool", BOOL), "body": ("text", STRING), "short": ("varchar(10)", STRING),
    "fixed": ("char(5)", STRING), "day": ("date", DATE), "local": ("timestamp", TIMESTAMP), "moment": ("timestamptz", TIMESTAMP),
    "ratio": ("float8", DOUBLE), "ident": ("uuid", STRING), "doc": ("json", STRING), "docb": ("jsonb", STRING),
    "mood": ("mood", STRING), "age": ("age", INT), "tag": ("name", STRING),
}  # fmt: skip
VALUES = {
    "small": ["-32768", "32767"], "middle": ["-2147483648"], "big": ["-9223372036854775808", "9223372036854775807"],
    "exact": ["NaN", "Infinity", "-12345678901234567890.0123456789", "0.10"], "money": ["-0.01", "9999999999999.99"], "yes": ["t", "f"],
    "body": ["", "é\n\"quoted\", 'and' \\N \\. €𝄞", "x" * 9000], "short": [" a "], "fixed": ["ab"], "day": ["2024-02-29", "infinity", "0044-03-15 BC"],
    "local": ["2024-02-29 23:59:59.999999", "-infinity"], "moment": ["2024-03-31 02:30:00+02", "1969-12-31 23:59:59.5+00"],
    "ratio": ["0.1", "1e308", "NaN", "-Infinity", "5e-324"], "ident": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    "doc": ['{"a":  [1, null]}'], "docb": ['{"a": 1}'], "mood": ["glad"], "age": ["33"], "tag": ["n"],
}  # fmt: skip


def test_every_type_means_the_same_in_the_copy_and_in_the_stream(database: Database, tmp_path: Path) -> None:
    """What follows equals what the database says of its rows: copied, inserted, updated, deleted."""
    database.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN years AS int CHECK (value > 0); CREATE DOMAIN age AS years"
    )
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in TYPES.items())
    database.execute(f"CREATE TABLE t (id int PRIMARY KEY, {columns}); ALTER TABLE t REPLICA IDENTITY FULL")
    wanted = table("t", {"id": INT, **{name: type_.with_null() for name, (_, type_) in TYPES.items()}})

    def insert(first: int) -> None:
        database.execute("INSERT INTO t (id) VALUES (%s)", (first,))
        cases = [(name, value) for name, values in VALUES.items() for value in values]
        for number, (name, value) in enumerate(cases, first + 1):
            database.execute(f"INSERT INTO t (id, {name}) VALUES (%s, %s)", (number, value))

    insert(0)
    follower = Follower(database.url, tmp_path, wanted)
    follower.catch_up()
    assert follower.rows["t"] == database.rows(wanted)
    insert(1000)
    database.execute("UPDATE t SET middle = 7 WHERE id % 2 = 0; DELETE FROM t WHERE id % 3 = 0")
    follower.catch_up()
    assert follower.rows["t"] == database.rows(wanted)
    moments = {row[list(TYPES).index("moment") + 1] for row in follower.rows["t"]}
    assert "2024-03-31 00:30:00" in moments, "moments are those of UTC"


def test_transactions_come_whole_and_in_the_order_of_their_commits(shop: Follower, database: Database) -> None:
    shop.catch_up()
    other = Database.__new__(Database)
    other.url, other._session = database.url, None
    other.session.autocommit = False
    other.execute("INSERT INTO orders VALUES (10, 'begun first')")
    database.execute("INSERT INTO orders VALUES (20, 'one'), (21, 'one')")
    other.execute("UPDATE orders SET item = 'committed last' WHERE id = 10")
    other.session.commit()
    changes = [row for delivery in shop.source().poll(shop.position) for _, row in shop.changes(delivery)]
    assert [(row["id"], row["op"]) for row in changes] == [
        ("20", "I"),
        ("21", "I"),
        ("10", "I"),
        ("10", "D"),
        ("10", "I"),
    ]
    assert len({row["event"] for row in changes}) == 2


def test_a_delivery_is_the_same_whoever_asks_and_whenever(shop: Follower, database: Database) -> None:
    """After a crash of ours a range is read again; it may end elsewhere, but never tears a transaction."""
    shop.catch_up()
    for number in range(2, 40):
        database.execute(
            "INSERT INTO orders VALUES (%s, 'x'); UPDATE orders SET item = 'y' WHERE id = %s", (number, number)
        )
    (first,) = shop.source().poll(shop.position)
    seen = list(shop.changes(first))
    database.execute("INSERT INTO orders VALUES (100, 'z')")
    (again,) = shop.source().poll(shop.position)
    assert again.name == first.name
    assert list(shop.changes(again))[: len(seen)] == seen
    assert list(shop.changes(first)) == seen, "what was read is kept"
    shop.take(first)
    shop.catch_up()
    assert shop.rows["orders"] == database.rows(shop.tables["orders"])


def test_the_slot_follows_the_position_and_never_leads(shop: Follower, database: Database) -> None:
    shop.catch_up()
    database.execute("INSERT INTO orders VALUES (2, 'ink')")
    before = slot_of(shop)
    (delivery,) = shop.source().poll(shop.position)
    list(shop.changes(delivery))
    assert slot_of(shop) == before, "nothing is appended yet"
    shop.take(delivery)
    list(shop.source().poll(shop.position))
    assert slot_of(shop) == Position.parse(shop.position or "").lsn


def slot_of(follower: Follower) -> int:
    session = connect(follower.settings)
    (slot,) = our_slots(session, follower.settings)
    session.close()
    return slot.confirmed


@pytest.mark.parametrize("spoil", ["", "0000000", "00000000", "\ufffd\ufffd"])
def test_a_source_goes_on_without_the_file_that_says_what_its_slots_are_called(
    shop: Follower, database: Database, spoil: str
) -> None:
    shop.catch_up()
    (file,) = shop.settings.folder.glob("*.installation")
    (begin,) = shop.settings.folder.glob("*.begin")
    assert installation_of(shop.settings.name, shop.position) == file.read_text()
    for lost in (file, begin):
        lost.write_text(spoil) if spoil else lost.unlink()
    database.execute("INSERT INTO orders VALUES (2, 'ink')")
    shop.catch_up()
    assert shop.rows["orders"] == database.rows(shop.tables["orders"])


def test_an_idle_source_moves_past_what_does_not_concern_it(shop: Follower, database: Database) -> None:
    shop.settings = replace(shop.settings, idle_bytes=1 << 20)
    shop.catch_up()
    database.execute("CREATE TABLE noise (body text)")
    assert not list(shop.source().poll(shop.position))
    database.execute("INSERT INTO noise SELECT repeat(md5(i::text), 60) FROM generate_series(1, 2000) i")
    (delivery,) = shop.source().poll(shop.position)
    assert not list(delivery.parts())
    before = slot_of(shop)
    shop.take(delivery)
    assert not list(shop.source().poll(shop.position))
    assert slot_of(shop) > before + (1 << 20)


def test_a_large_backlog_comes_in_portions_of_whole_transactions(shop: Follower, database: Database) -> None:
    shop.settings = replace(shop.settings, portion_bytes=1 << 18)
    shop.catch_up()
    for number in range(1, 9):
        database.execute(
            "INSERT INTO orders SELECT %s + i, repeat('x', 500) FROM generate_series(1, 300) i", (number * 1000,)
        )
    deliveries = list(shop.source().poll(shop.position))
    assert len(deliveries) > 3
    for delivery in deliveries:
        counts = Counter(row["event"] for _, row in shop.changes(delivery))
        assert set(counts.values()) <= {300}
        assert delivery.begin == shop.position
        shop.take(delivery)
    assert shop.rows["orders"] == database.rows(shop.tables["orders"])


def test_what_another_process_has_done_meanwhile_is_no_problem(shop: Follower, database: Database) -> None:
    """It asks at the same time, and its turn comes when the other one is done; what that one needs stays."""
    mine, stale = next(shop.source().poll(None)), next(shop.source().poll(None))
    shop.take(mine)
    shop.deliveries.clear()
    del mine
    with pytest.raises(Conflict):
        stale.parts()
    database.execute("INSERT INTO orders VALUES (2, 'ink')")
    shop.catch_up()
    shop.settings = replace(shop.settings, portion_bytes=2000)
    for number in range(20):
        database.execute("INSERT INTO orders VALUES (%s, repeat('x', 500))", (10 + number,))
    first, second, third = (shop.source().poll(shop.position) for _ in range(3))
    old = shop.position
    deliveries = list(first)
    assert len(deliveries) > 3
    stale = next(second)
    for delivery in deliveries[:2]:
        shop.take(delivery)
        next(shop.source().poll(shop.position))  # who only looks lets the server forget what is taken
    for again in (stale.parts, lambda: next(third)):
        with pytest.raises(Conflict):
            again()
    for delivery in deliveries[2:]:
        shop.take(delivery)
        begin = Position.parse(delivery.begin or "").lsn
        with open_session(shop.settings) as session:
            assert [slot.confirmed for slot in our_slots(session, shop.settings)] == [begin], "none is decoded twice"
    assert old != shop.position
    assert shop.rows["orders"] == database.rows(shop.tables["orders"])


def test_an_interrupted_copy_is_made_again_and_leaves_no_slot(shop: Follower, database: Database) -> None:
    (copy,) = shop.source().poll(None)
    copy.parts()
    database.execute("INSERT INTO orders VALUES (2, 'ink')")
    (second,) = shop.source().poll(None)
    with pytest.raises(NotYet, match="another process makes"):
        second.parts()
    del copy  # its process has died: the session is closed
    shop.take(second)
    database.execute("INSERT INTO orders VALUES (3, 'cap')")
    shop.catch_up()
    assert shop.rows["orders"] == database.rows(shop.tables["orders"])
    assert len(database.execute("SELECT 1 FROM pg_replication_slots WHERE database = current_database()")) == 1


REFUSED = {
    "replica-identity": (
        "ALTER TABLE orders REPLICA IDENTITY DEFAULT",
        "ALTER TABLE public.orders REPLICA IDENTITY FULL",
    ),
    "no-column": ("ALTER TABLE orders RENAME item TO thing", "has no column 'item'"),
    "column-type": ("ALTER TABLE orders ALTER item TYPE inet USING NULL", "inet"),
    "generated-column": ("ALTER TABLE orders DROP item, ADD item text GENERATED ALWAYS AS ('x') STORED", "generated"),
    "no-table": ("DROP TABLE orders", "there is no table public.orders"),
    "table-kind": ("ALTER TABLE orders SET UNLOGGED", "no table that can be followed"),
    "publication": (
        "CREATE PUBLICATION cumulus_shop FOR TABLE orders WITH (publish = 'insert')",
        "leaves out some kinds",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_followed_is_refused_before_anything_is_made(
    shop: Follower, database: Database, kind: str
) -> None:
    statement, words = REFUSED[kind]
    database.execute(statement)
    with pytest.raises(SetupProblem, match=words) as refused:
        list(shop.source().poll(None))
    assert refused.value.kind == kind
    assert not database.execute("SELECT 1 FROM pg_replication_slots WHERE database = current_database()")


def test_columns_that_nobody_declared_come_and_go(shop: Follower, database: Database) -> None:
    shop.catch_up()
    database.execute("ALTER TABLE orders ADD extra inet DEFAULT '::1'; INSERT INTO orders VALUES (2, 'ink', '::2')")
    database.execute("ALTER TABLE orders DROP extra; UPDATE orders SET item = 'nib' WHERE id = 2")
    database.execute("ALTER TABLE orders ALTER id TYPE int; INSERT INTO orders VALUES (3, 'cap')")
    shop.catch_up()
    assert shop.rows["orders"] == database.rows(shop.tables["orders"])


def test_a_declared_column_that_goes_stops_the_source_with_words(shop: Follower, database: Database) -> None:
    shop.catch_up()
    database.execute("ALTER TABLE orders RENAME item TO thing; INSERT INTO orders VALUES (2, 'ink')")
    (delivery,) = shop.source().poll(shop.position)
    with pytest.raises(SetupProblem, match="has no column 'item'"):
        delivery.parts()


def test_a_column_that_was_renamed_for_a_while_is_followed_by_both_names(shop: Follower, database: Database) -> None:
    shop.catch_up()
    database.execute("ALTER TABLE orders RENAME item TO thing; INSERT INTO orders VALUES (2, 'ink')")
    database.execute("UPDATE orders SET thing = 'quill' WHERE id = 1")
    database.execute("ALTER TABLE orders RENAME thing TO item; INSERT INTO orders VALUES (3, 'cap')")
    before = shop.position
    with pytest.raises(SetupProblem, match="has no column 'item'") as stuck:
        shop.catch_up()
    assert "write `renamed: {orders: {OTHER_NAME: item}}`" in stuck.value.hint
    assert shop.position == before, "nothing is passed over"
    (orders,) = shop.settings.tables
    shop.settings = replace(shop.settings, tables=(replace(orders, renamed=(("thing", "item"),)),))
    shop.catch_up()
    assert shop.rows["orders"] == Counter({("1", "quill"): 1, ("2", "ink"): 1, ("3", "cap"): 1})
    assert shop.rejected == []
    database.execute("ALTER TABLE orders RENAME item TO thing; DELETE FROM orders WHERE id = 2")
    shop.catch_up()
    assert shop.rows["orders"] == Counter({("1", "quill"): 1, ("3", "cap"): 1}), "it may keep its new name, too"


def test_a_table_says_which_columns_it_has(shop: Follower, database: Database) -> None:
    database.execute("ALTER TABLE orders ADD twice bigint GENERATED ALWAYS AS (id * 2) STORED")
    database.execute("CREATE DOMAIN cents AS numeric(9, 2); CREATE TYPE mood AS ENUM ('sad')")
    database.execute(
        "ALTER TABLE orders ADD price cents NOT NULL DEFAULT 1.50, ADD free numeric, ADD ok bool NOT NULL DEFAULT true, ADD at timestamptz, ADD m mood, ADD p point, "
        "ADD w text NOT NULL DEFAULT 'it''s'"
    )
    found = {c.name: (str(c.type), c.what, c.default) for c in shop.source().columns()["orders"]}
    assert found["id"] == ("INT", "int8", None)
    assert found["price"] == ("DECIMAL(9, 2)", "numeric(9,2)", "1.5")
    assert found["free"][:2] == ("None", "numeric without digits")
    assert found["ok"] == ("BOOL", "bool", "true")
    assert {name: found[name][0] for name in ("at", "m", "p")} == {"at": "TIMESTAMP", "m": "STRING", "p": "None"}
    assert found["w"][2] == "it's"
    assert "twice" not in found


@pytest.mark.parametrize("text", [None, "plain"])
def test_a_column_is_declared_that_came_later_than_rows_that_wait(
    shop: Follower, database: Database, text: str | None
) -> None:
    """A default of the database is what early rows have, in deletes and updates, too, and the project declares the same."""
    shop.catch_up()
    database.execute(
        "INSERT INTO orders VALUES (2, 'ink'); ALTER TABLE orders ADD gone text, ADD kept int; INSERT INTO orders VALUES (3, 'cap', 'x', 7)"
    )
    says = "" if text is None else f" NOT NULL DEFAULT '{text}'"
    database.execute(f"ALTER TABLE orders ADD tag text{says}; INSERT INTO orders VALUES (4, 'hat', 'x', 8, 'new')")
    database.execute(
        "ALTER TABLE orders DROP gone; DELETE FROM orders WHERE id = 2; UPDATE orders SET item = 'pin' WHERE id = 3"
    )
    (orders,) = shop.settings.tables
    columns = (*orders.relation.columns, Column("tag", STRING.with_null(text is None)))
    relation = replace(orders.relation, columns=columns, defaults=() if text is None else (("tag", text),))
    early = shop.rows["orders"]
    shop.rows["orders"] = Counter(
        {(*row, text): count for row, count in early.items()}
    )  # as the log is read from now on
    waits = replace(shop.settings, tables=(replace(orders, waiting=frozenset({"tag"})),))
    before, shop.settings = shop.position, waits
    with pytest.raises(SetupProblem, match="has the column tag, which cumulus") as stuck:
        shop.catch_up()
    assert (stuck.value.kind, shop.position) == ("column-not-deployed", before)
    shop.settings = replace(shop.settings, tables=(replace(orders, relation=relation),))
    shop.tables = {"orders": shop.settings.tables[0]}
    shop.catch_up()
    assert shop.rejected == []
    assert shop.rows["orders"] == Counter({("1", "pen", text): 1, ("3", "pin", text): 1, ("4", "hat", "new"): 1})


def test_a_column_may_have_another_name_from_the_beginning(database: Database, tmp_path: Path) -> None:
    database.execute(
        "CREATE TABLE orders (number bigint PRIMARY KEY, thing text); INSERT INTO orders VALUES (1, 'pen')"
    )
    orders = table("orders", {"id": INT, "item": N}, mode="upsert", key=("id",))
    both = (("number", "id"), ("thing", "item"))
    follower = Follower(database.url, tmp_path, replace(orders, renamed=both))
    follower.catch_up()
    database.execute("UPDATE orders SET thing = 'ink'; INSERT INTO orders VALUES (2, NULL)")
    follower.catch_up()
    assert follower.rows["orders"] == Counter({("1", "ink"): 1, ("2", None): 1})


def test_what_lacks_old_rows_is_rejected_with_words(shop: Follower, database: Database) -> None:
    shop.catch_up()
    database.execute("ALTER TABLE orders REPLICA IDENTITY DEFAULT; UPDATE orders SET item = 'x'; DELETE FROM orders")
    shop.catch_up()
    assert len(shop.rejected) == 2
    assert all("REPLICA IDENTITY FULL" in words for words in shop.rejected)


def test_a_new_partition_without_whole_old_rows_is_noticed(database: Database, tmp_path: Path) -> None:
    """The server marks its old rows as the root says, whole, though they are not."""
    database.execute(
        "CREATE TABLE parted (id int, part int, item text, PRIMARY KEY (id, part)) PARTITION BY LIST (part)"
    )
    database.execute("CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0)")
    follower = Follower(database.url, tmp_path, table("parted", {"id": INT, "part": INT, "item": N}))
    for name in ("parted", "parted_0"):
        with pytest.raises(SetupProblem, match=f"ALTER TABLE public.{name} REPLICA IDENTITY FULL"):
            list(follower.source().poll(None))
        database.execute(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
    follower.catch_up()
    database.execute("CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1)")
    database.execute("INSERT INTO parted VALUES (1, 0, 'pen'), (1, 1, 'ink'); DELETE FROM parted WHERE part = 1")
    follower.catch_up()
    database.execute("ALTER TABLE parted_1 REPLICA IDENTITY FULL; DELETE FROM parted WHERE part = 0")
    follower.catch_up()
    assert follower.rows["parted"] == {("1", "1", "ink"): 1}
    assert [words for words in follower.rejected if "REPLICA IDENTITY FULL" in words]


def test_an_unchanged_large_value_is_taken_from_the_old_row_or_rejected(database: Database, tmp_path: Path) -> None:
    for name, identity in (("whole", "FULL"), ("keyed", "DEFAULT")):
        database.execute(
            f"CREATE TABLE {name} (id int PRIMARY KEY, item text, n int); ALTER TABLE {name} ALTER item SET STORAGE EXTERNAL"
        )
        database.execute(f"ALTER TABLE {name} REPLICA IDENTITY {identity}")
    columns = {"id": INT, "item": N, "n": INT}
    tables = table("whole", columns), table("keyed", columns, mode="upsert", key=("id",))
    follower = Follower(database.url, tmp_path, *tables)
    follower.catch_up()
    for name in ("whole", "keyed"):
        database.execute(f"INSERT INTO {name} VALUES (1, repeat('x', 9000), 1)")
    database.execute("UPDATE whole SET n = 2; UPDATE keyed SET n = 2")
    follower.catch_up()
    assert follower.rows["whole"] == database.rows(tables[0])
    assert [words[:50] for words in follower.rejected] == ["an update that does not send an unchanged large va"]


def test_large_values_that_are_there_need_whole_old_rows(database: Database, tmp_path: Path) -> None:
    database.execute(
        "CREATE TABLE keyed (id int PRIMARY KEY, item text); ALTER TABLE keyed ALTER item SET STORAGE EXTERNAL"
    )
    database.execute("INSERT INTO keyed VALUES (1, repeat('x', 9000))")
    follower = Follower(database.url, tmp_path, table("keyed", {"id": INT, "item": N}, mode="upsert", key=("id",)))
    with pytest.raises(SetupProblem, match=r"large values[\s\S]*ALTER TABLE public.keyed REPLICA IDENTITY FULL"):
        list(follower.source().poll(None))


def test_a_truncated_table_stops_the_source_or_keeps_its_rows(shop: Follower, database: Database) -> None:
    shop.catch_up()
    database.execute("CREATE TABLE other (id int); TRUNCATE other")
    database.execute(
        "INSERT INTO orders VALUES (2, 'ink'); TRUNCATE orders, other; INSERT INTO orders VALUES (3, 'cap')"
    )
    (delivery,) = shop.source().poll(shop.position)
    with pytest.raises(SetupProblem, match="truncates: skip"):
        delivery.parts()
    shop.settings = replace(shop.settings, skips_truncates=True)
    shop.catch_up()
    assert set(shop.rows["orders"]) == {("1", "pen"), ("2", "ink"), ("3", "cap")}


def test_a_lost_slot_is_named(shop: Follower, database: Database) -> None:
    shop.catch_up()
    database.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()"
    )
    assert stopped(shop) == "slot-lost"


def test_another_database_is_refused(shop: Follower, database: Database, logical_server: PostgreSQL) -> None:
    shop.catch_up()
    other = Database(logical_server)
    shop.settings = replace(shop.settings, url=other.url)
    assert stopped(shop) == "other-database"


def test_a_slot_that_somebody_else_read_is_refused(shop: Follower, database: Database) -> None:
    """So is a catalog that was restored from a backup."""
    shop.catch_up()
    database.execute("INSERT INTO orders VALUES (2, 'ink')")
    shop.catch_up()
    database.execute("INSERT INTO orders VALUES (3, 'cap')")
    database.execute(
        "SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) FROM pg_replication_slots WHERE database = current_database()"
    )
    assert stopped(shop) == "slot-elsewhere"


def test_other_tables_are_refused(shop: Follower, database: Database, tmp_path: Path) -> None:
    shop.catch_up()
    shop.settings = replace(shop.settings, tables=(*shop.settings.tables, table("more", {"id": INT})))
    assert stopped(shop) == "other-tables"


def test_a_dropped_publication_is_named(shop: Follower, database: Database) -> None:
    shop.catch_up()
    database.execute("DROP PUBLICATION cumulus_shop")
    assert stopped(shop) == "no-publication"


def stopped(follower: Follower) -> str:
    with pytest.raises(SetupProblem) as problem:
        list(follower.source().poll(follower.position))
    return problem.value.kind


def test_a_server_that_is_away_is_named_without_the_password(tmp_path: Path, database: Database) -> None:
    follower = Follower("postgresql://u:s3cret@127.0.0.1:1/x", tmp_path, table("orders", {"id": INT}))
    follower.settings = replace(follower.settings, patience_s=0.0)
    with pytest.raises(SetupProblem) as problem:
        list(follower.source().poll(None))
    assert problem.value.kind == "source-unreachable"
    assert "s3cret" not in str(problem.value)
    follower.settings = replace(follower.settings, url="postgresql://u:s3cret@[half")
    with pytest.raises(SetupProblem) as problem:
        list(follower.source().poll(None))
    assert "s3cret" not in str(problem.value)


def test_a_user_needs_no_more_than_the_docs_say(shop: Follower, database: Database) -> None:
    """REPLICATION and SELECT; the publication is made by an owner, who is told what to say."""
    database.execute(
        f"CREATE ROLE reader_{database.name} LOGIN REPLICATION; GRANT SELECT ON orders TO reader_{database.name}"
    )
    shop.settings = replace(shop.settings, url=database.url.replace("cumulus@", f"reader_{database.name}@"))
    with pytest.raises(SetupProblem) as problem:
        list(shop.source().poll(None))
    assert problem.value.kind == "source-permission"
    database.execute(problem.value.hint.partition(": ")[2])
    shop.catch_up()
    database.execute("INSERT INTO orders VALUES (2, 'ink')")
    shop.catch_up()
    assert shop.rows["orders"] == database.rows(shop.tables["orders"])


def test_the_command_shows_what_the_server_keeps_and_lets_it_go(
    logical_server: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = Bank(logical_server, tmp_path)
    monkeypatch.setenv("CUMULUS_PROJECT", str(tmp_path))
    project = load_project(tmp_path)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        run_epochs(rt, 1, validating=False)

    def call(*arguments: str) -> Any:
        done = CliRunner().invoke(main, [*arguments, "--json"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    (found,) = call("source", "list")
    (slot,) = found["slots"]
    assert Position.parse(found["position"]).slot == slot["name"]
    assert slot["status"] == "reserved"
    (dropped,) = call("source", "drop", "bank", "--yes")["dropped"]
    assert dropped["name"] == slot["name"]
    assert call("source", "list")[0]["slots"] == []
    assert CliRunner().invoke(main, ["source", "list"]).exit_code == 0
    refused = CliRunner().invoke(main, ["source", "drop", "landing"])
    assert "no source of kind postgres" in refused.output
    bank.database.session.close()


def test_a_transaction_with_a_bad_value_is_set_aside_as_a_whole(logical_server: PostgreSQL, tmp_path: Path) -> None:
    """In all relations; the ones before and after it are in."""
    bank = Bank(logical_server, tmp_path)
    project = load_project(tmp_path)
    initialise(project)
    change = "UPDATE branches SET total = {0} WHERE id = {1}; INSERT INTO journal VALUES ({1}, {1}, {0})"
    with open_runtime(project, "inprocess") as rt:
        run_epochs(rt, 1, validating=False)
        bank.database.execute(change.format(10, 1))
        bank.database.execute(change.format(20, 2) + "; INSERT INTO history VALUES (1, 'NaN', now())")
        bank.database.execute(change.format(30, 3))
        run_epochs(rt, 1, validating=False)
        totals = {row["branch"]: int(row["total"]) for row in read_view(rt, "totals").to_pylist()}
        assert totals == {0: 0, 1: 10, 2: 0, 3: 30}
        assert {row["xid"] for row in read_view(rt, "journal_rows").to_pylist()} == {1, 3}
        assert read_view(rt, "movements").num_rows == 0
        assert rt.catalog.log.batches()[-1].quarantined == 3
    bank.database.session.close()
