"""A bank in PostgreSQL that is followed: many connections, transactions over several tables, and each writes a row into a journal."""

from __future__ import annotations

import os
import subprocess
from bisect import bisect_right
from collections import Counter
from pathlib import Path

from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.opening.runtime import Runtime, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.query.read import read_view
from cumulus_ops.sources.postgres.tables import Position
from tests.support.following import Database
from tests.support.services import LOOPBACK, USER, PostgreSQL

__all__ = ["Bank", "follow"]

ACCOUNTS, BRANCHES = 40, 4
TABLES = f"""
CREATE TABLE accounts (id int PRIMARY KEY, branch int NOT NULL, balance numeric(15,2) NOT NULL, note text);
CREATE TABLE branches (id int PRIMARY KEY, total numeric(15,2) NOT NULL);
CREATE TABLE history (account int NOT NULL, amount numeric(15,2) NOT NULL, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE journal (xid bigint NOT NULL, branch int NOT NULL, amount numeric(15,2) NOT NULL);
CREATE TABLE unpublished (body text);
INSERT INTO branches SELECT i, 0 FROM generate_series(0, {BRANCHES - 1}) i;
INSERT INTO accounts SELECT i, i % {BRANCHES}, 0, repeat('note', 1000) FROM generate_series(0, {ACCOUNTS - 1}) i;
ALTER TABLE accounts REPLICA IDENTITY FULL;
ALTER TABLE history REPLICA IDENTITY FULL;
ALTER TABLE journal REPLICA IDENTITY FULL;
"""
#: One in ten is rolled back, and some move an account to another number and back.
TRANSFER = f"""
\\set account random(0, {ACCOUNTS - 1})
\\set branch :account % {BRANCHES}
\\set amount random(-10000, 10000)
\\set fate random(1, 10)
BEGIN;
UPDATE accounts SET balance = balance + :amount / 100.0 WHERE id = :account;
INSERT INTO history (account, amount) VALUES (:account, :amount / 100.0);
INSERT INTO unpublished VALUES (repeat('x', 100));
UPDATE branches SET total = total + :amount / 100.0 WHERE id = :branch;
INSERT INTO journal VALUES (txid_current(), :branch, :amount / 100.0);
\\if :fate = 1
ROLLBACK;
\\else
COMMIT;
\\endif
"""
PROJECT = """
name: bank
relations:
  accounts: {columns: {id: int, branch: int, balance: "decimal(15,2)", note: text null}, key: [id]}
  branches: {columns: {id: int, total: "decimal(15,2)"}, key: [id], mode: upsert}
  history: {columns: {account: int, amount: "decimal(15,2)", at: timestamp}}
  journal: {columns: {xid: bigint, branch: int, amount: "decimal(15,2)"}}
sources:
  landing: landing
  bank: {kind: postgres, url: "${BANK_URL}", tables: [accounts, branches, history, journal]}
epochs: {length: 1m, start: 2026-01-01T00:00:00Z, retain: 100000}
views: {balances: balances.sql, totals: totals.sql, movements: movements.sql, journal_rows: journal_rows.sql}
executor: {kind: inprocess}
"""
VIEWS = {
    "balances": "SELECT branch, SUM(balance) AS total, COUNT(*) AS n FROM accounts GROUP BY branch",
    "totals": "SELECT id AS branch, SUM(total) AS total, COUNT(*) AS n FROM branches GROUP BY id",
    "movements": """SELECT a.branch, SUM(h.amount) AS total, COUNT(*) AS n
                    FROM history h JOIN accounts a ON a.id = h.account GROUP BY a.branch""",
    "journal_rows": "SELECT xid, branch, SUM(amount) AS total, COUNT(*) AS n FROM journal GROUP BY xid, branch",
}


class Bank:
    """The database, a project that follows it, and a witness: another slot, read by another output plugin, that tells the order of commits."""

    def __init__(self, server: PostgreSQL, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.database = Database(server)
        self.database.execute(TABLES)
        self.witness = f"witness_{self.database.name}"
        self.database.execute("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", (self.witness,))
        (folder / "transfer.sql").write_text(TRANSFER)
        (folder / "cumulus.yaml").write_text(PROJECT)
        for name, text in VIEWS.items():
            (folder / f"{name}.sql").write_text(text)
        os.environ["BANK_URL"] = self.database.url

    def load(self, transactions: int, *, clients: int = 4, rate: int | None = None) -> subprocess.Popen[bytes]:
        """Begin to transfer, over several connections; ``rate`` transactions a second."""
        limit = [] if rate is None else ["--rate", str(rate)]
        where = ["-h", LOOPBACK, "-p", str(self.server.port), "-U", USER, self.database.name]
        how = ["-n", "-c", str(clients), "-t", str(transactions // clients), "-f", str(self.folder / "transfer.sql")]
        with (self.folder / "pgbench.log").open("ab") as log:
            return subprocess.Popen([str(self.server.bin / "pgbench"), *how, *limit, *where], stdout=log, stderr=log)

    def committed(self) -> list[tuple[int, int, object]]:
        """(transaction, branch, amount) of the journal, in the order of the commits; ``ends`` are the ends of their commits in the log."""
        changes = self.database.execute(
            "SELECT data, lsn - '0/0' FROM pg_logical_slot_peek_changes(%s, NULL, NULL, 'skip-empty-xacts', '1')",
            (self.witness,),
        )
        order = [(int(data.split()[1]), int(end)) for data, end in changes if data.startswith("COMMIT")]
        journal = {row[0]: row for row in self.database.execute("SELECT xid, branch, amount FROM journal")}
        self.ends = [end for xid, end in order if xid in journal]
        return [journal[xid] for xid, _ in order if xid in journal]

    def check_epochs(self) -> list[int]:
        """Each epoch's snapshot is the database after so many transactions: returns how many, epoch by epoch."""
        committed = self.committed()
        with open_runtime(load_project(self.folder), "inprocess") as rt:
            counts = [self._check(rt, snapshot.epoch, committed) for snapshot in rt.catalog.snapshots.all()]
        assert counts == sorted(counts)
        return counts

    def _check(self, rt: Runtime, epoch: int, committed: list[tuple[int, int, object]]) -> int:
        views = {name: _rows(rt, name, epoch) for name in VIEWS}
        if not views["totals"]:
            assert not any(views.values()), "the initial copy is not in yet"
            return 0
        journal = views["journal_rows"]
        place = Position.parse(rt.catalog.deliveries.source_positions(epoch)["bank"]).lsn
        if place is not None:  # a position may be inside of a commit's record, which then counts
            assert len(journal) in (count := bisect_right(self.ends, place), count + 1)
        expected = committed[: len(journal)]
        assert sorted((r["xid"], r["branch"], r["total"], r["n"]) for r in journal) == sorted((*t, 1) for t in expected)
        totals: Counter[int] = Counter()
        for _, branch, amount in expected:
            totals[branch] += amount  # type: ignore[assignment, arg-type, operator]
        assert {r["branch"]: r["total"] for r in views["totals"]} == {b: totals[b] for b in range(BRANCHES)}
        assert {r["branch"]: (r["total"], r["n"]) for r in views["balances"]} == {
            b: (totals[b], ACCOUNTS // BRANCHES) for b in range(BRANCHES)
        }
        numbers = Counter(branch for _, branch, _ in expected)
        assert {r["branch"]: (r["total"], r["n"]) for r in views["movements"]} == {
            b: (totals[b], n) for b, n in numbers.items()
        }
        return len(journal)


def _rows(rt: Runtime, view: str, epoch: int) -> list[dict[str, object]]:
    return list(read_view(rt, view, epoch).to_pylist())


def follow(folder: Path, fault: str = "") -> None:
    """Bring epoch after epoch to its snapshot, until the file ``done`` appears and nothing waits; die at ``fault`` if that is reached."""
    os.environ["CUMULUS_FAULT"] = fault
    with open_runtime(load_project(folder), "inprocess") as rt:
        while rt.sources.pending(0) or not (folder / "done").exists():
            run_epochs(rt, 1, validating=False)
        run_epochs(rt, 1, validating=False)
