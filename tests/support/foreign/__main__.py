"""``python -m tests.support.foreign FILE ..``: what becomes of queries that others wrote.

- ``FILE.sql ..``: statements as PostgreSQL's own tests; they are played on a PostgreSQL, in their order.
- ``--schema SCHEMA.sql FILE.sql ..``: queries over the tables of a schema; rows are planted, and DuckDB says what is right. ``--dialect`` is that of both,
  ``--seed`` takes other rows, ``--replace 100000=4`` another text in the queries.
- ``FILE.sql.out ..``: Spark's own tests with their answers.

A folder stands for its files. What is wrong is printed with what differs, then a table, then what is refused by its cause.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tests.support.foreign import planted, postgres, spark
from tests.support.foreign.judging import Question, judge, print_verdicts


def main() -> None:
    """Ask the files of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.foreign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--schema", type=Path)
    parser.add_argument("--dialect", default="duckdb")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replace", action="append", default=[], metavar="OLD=NEW")
    print_verdicts(map(judge, _questions(parser.parse_args())))


def _questions(given: argparse.Namespace) -> Iterator[Question]:
    files = [file for path in given.paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    answered = [file for file in files if file.name.endswith(".sql.out")]
    statements = [file for file in files if file.suffix == ".sql" and file != given.schema]
    if given.schema:
        replaced = dict(r.split("=", 1) for r in given.replace)
        relations = planted.read_schema(given.schema, given.dialect)
        yield from planted.ask_suite(planted.Suite(relations, statements, given.dialect, replaced, given.seed))
    elif statements:
        yield from postgres.ask_files(statements)
    for file in answered:
        yield from spark.ask(file)


if __name__ == "__main__":
    main()
