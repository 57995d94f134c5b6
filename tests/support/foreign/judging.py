"""What becomes of a query that others wrote: rows come, change and go, and the view has to be what another database says."""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from cumulus_ops.epochs.checkpoint import refresh
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import ViewInError
from cumulus_ops.query.read import read_view
from m3 import M3Error
from m3.program import Relation
from tests.fuzz.compare import same_rows
from tests.support.planting import Batch, Row, finds
from tests.support.projects import append_events, make_project

__all__ = ["VERDICTS", "Question", "Verdict", "judge", "print_verdicts", "rows_that_come_and_go"]

VERDICTS = ("right", "wrong", "empty", "refused", "in error", "failing")
DIGITS = 6  # decimals that are compared exactly; averages have more there and fewer here
SHOWN = 3  # rows of a wrong answer


@dataclass(frozen=True)
class Question:
    """A query, batches of events, and the rows that it has to have after each; None where the other database does not say.

    ``ordered`` says that they are what is shown, and not all rows in spite of a LIMIT.
    """

    file: str
    text: str
    dialect: str
    relations: Sequence[Relation]
    batches: Sequence[Batch]
    expected: Sequence[Sequence[Row] | None]
    ordered: bool = True


@dataclass(frozen=True)
class Verdict:
    """What became of a question: one of :data:`VERDICTS`, and why."""

    question: Question
    outcome: str
    details: str = ""


def judge(question: Question) -> Verdict:
    """Play a question on the engine."""
    try:
        return Verdict(question, *_play(question))
    except M3Error as problem:
        return Verdict(question, "refused", _one_line(str(problem)))
    except Exception as problem:  # whatever it is, it is the engine's failure
        return Verdict(question, "failing", f"{type(problem).__name__}: {_one_line(str(problem))}")


def _play(question: Question) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), question.relations, views={"v": question.text}, coordinators=1)
        project = replace(project, dialect=question.dialect)
        initialise(project)
        found = False
        with open_runtime(project) as rt:
            for number, (batch, expected) in enumerate(zip(question.batches, question.expected, strict=True)):
                apply_batch(
                    rt, append_events(rt, 0, [(relation, sign, row) for sign, relation, row in batch], f"d{number}")
                )
                refresh(rt)
                if expected is None:
                    continue
                try:
                    table = read_view(rt, "v", tentative=True, ordered=question.ordered)
                except ViewInError as problem:
                    return "in error", problem.message
                ours = list(zip(*(c.to_pylist() for c in table.columns), strict=True))
                theirs = [tuple(map(_shorten, row)) for row in expected]
                if not same_rows(ours, theirs):
                    return "wrong", f"after batch {number}: {_differing(ours, theirs)}"
                found = found or finds(theirs)
    return ("right" if found else "empty"), ""


def _differing(ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    mine, others = Counter(map(repr, ours)), Counter(map(repr, theirs))
    extra, missing = list((mine - others).elements()), list((others - mine).elements())
    return f"{len(extra)} such as {', '.join(extra[:SHOWN])} instead of {len(missing)} such as {', '.join(missing[:SHOWN])}"


def _shorten(value: Any) -> Any:
    many = isinstance(value, Decimal) and (not value.is_finite() or -int(value.as_tuple().exponent) > DIGITS)
    return float(value) if many else value


def rows_that_come_and_go(tables: Mapping[str, Sequence[Row]], seed: int = 0) -> list[Batch]:
    """Batches after which the tables have these rows: more than half of them, and mixtures of two; the others; then what is too much goes, and some go and come back."""
    rnd = random.Random(seed)
    first, second, third = Batch(), Batch(), Batch()
    for table, rows in tables.items():
        for row in rows:
            (first if rnd.random() < 0.6 else second).append((1, table, row))
        pairs = [(rnd.choice(rows), rnd.choice(rows)) for _ in range(-(-len(rows) // 5))]
        mixed = [tuple(rnd.choice(values) for values in zip(*pair, strict=True)) for pair in pairs]
        first += [(1, table, row) for row in mixed]
        back = [row for row in rows if rnd.random() < 0.15]
        third += [(-1, table, row) for row in mixed + back] + [(1, table, row) for row in back]
    return [batch for batch in (first, second, third) if batch]


def print_verdicts(verdicts: Iterator[Verdict]) -> None:
    """Print what is not right as soon as it is known, then a table by file, then the causes of what is refused."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    refused: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        table[verdict.question.file][verdict.outcome] += 1
        if verdict.outcome == "refused":
            refused[_cause(verdict.details)].append(verdict)
        elif verdict.outcome != "right":
            print(
                f"{verdict.question.file}: {verdict.outcome}: {verdict.details}\n    {_one_line(verdict.question.text)}",
                flush=True,
            )
    table["all"] = sum(table.values(), Counter())
    width = max(map(len, table))
    print("\n" + " ".join([" " * width, *(f"{v:>8}" for v in VERDICTS)]))
    for file, counts in table.items():
        print(" ".join([f"{file:{width}}", *(f"{counts[v] or '':>8}" for v in VERDICTS)]))
    for cause, its in sorted(refused.items(), key=lambda r: -len(r[1])):
        print(
            f"\n{len(its)} refused: {cause}, such as\n    {its[0].question.file}: {_one_line(its[0].question.text)}\n    {its[0].details}"
        )


def _cause(message: str) -> str:
    """The message without its place, and without what is in quotes."""
    return re.sub(r"'[^']*'|`[^`]*`", "..", re.sub(r"^\S+?(:\d+)*: ", "", message.split("  hint:")[0])).strip()


def _one_line(text: str) -> str:
    return " ".join(text.split("\n"))[:600]
