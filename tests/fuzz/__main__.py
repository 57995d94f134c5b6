"""``python -m tests.fuzz --seed N [--count M]``: queries, verdicts, and a summary by feature."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from tests.fuzz import replay
from tests.fuzz.checker import OK, UNSUPPORTED, Verdict, check
from tests.fuzz.database import Database
from tests.fuzz.lookups import looked_up
from tests.fuzz.queries import Made, make_query
from tests.fuzz.report import failure_text, summary_text, verdict_text
from tests.fuzz.schema import RELATIONS, make_batches


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="how many seeds")
    parser.add_argument("--only", action="append", default=[], help="only queries that use this feature (repeatable)")
    parser.add_argument(
        "--without", action="append", default=[], help="switch a feature, or its group, off (repeatable)"
    )
    parser.add_argument("--looked-up", action="store_true", help="read every join table by table, without joined maps")
    parser.add_argument("--quiet", action="store_true", help="print only failures (and the summary)")
    parser.add_argument("--refused", action="store_true", help="with --quiet: print what is unsupported, too")
    parser.add_argument("--list", action="store_true", help="only print the queries; nothing is compiled")
    parser.add_argument(
        "--shrink", type=float, default=0, metavar="SECONDS", help="make each failure small for so long"
    )
    parser.add_argument("--sql", help="check this query on the seed's events instead of the seed's query")
    return parser.parse_args()


def results(args: argparse.Namespace, database: Database) -> Iterator[tuple[Made, Verdict]]:
    """Query after query, each with its verdict."""
    for seed in range(args.seed, args.seed + args.count):
        made = replay.make(args.sql) if args.sql else make_query(seed, args.without)
        if set(args.only) <= made.features:
            yield made, Verdict(OK) if args.list else check(made, make_batches(seed, made.tables), database)


def show(made: Made, verdict: Verdict, args: argparse.Namespace, database: Database) -> None:
    """One query and what came of it."""
    if verdict.failed and args.shrink:
        batches = make_batches(made.seed if made.seed >= 0 else args.seed, made.tables)
        print("\n" + failure_text(made, batches, verdict, database, args.shrink))
    elif not args.quiet or verdict.failed or (args.refused and verdict.outcome == UNSUPPORTED):
        print("\n" + verdict_text(made, verdict))


def main() -> None:
    """Run the command."""
    args, done, started = arguments(), [], time.perf_counter()
    database = Database(RELATIONS)
    with looked_up(args.looked_up):
        for made, verdict in results(args, database):
            show(made, verdict, args, database)
            done.append((made, verdict))
    print("\n" + summary_text(done, time.perf_counter() - started))


if __name__ == "__main__":
    main()
