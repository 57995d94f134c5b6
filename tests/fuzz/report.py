"""What the fuzzer prints."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from tests.fuzz import replay
from tests.fuzz.checker import CRASH, INVALID, OK, UNSUPPORTED, WRONG, Verdict
from tests.fuzz.database import Database
from tests.fuzz.draw import FEATURES
from tests.fuzz.queries import Made
from tests.fuzz.schema import Batch
from tests.fuzz.shrink import Failure, Shrinker

Result = tuple[Made, Verdict]


def verdict_text(made: Made, verdict: Verdict) -> str:
    """One query and what came of it."""
    size = f", {verdict.maps} maps, {verdict.statements} statements" if verdict.maps else ""
    times = f", compiled in {verdict.compile_s:.2f} s, {verdict.total_s:.2f} s in all" if verdict.total_s else ""
    lines = [f"-- seed {made.seed}: {verdict.outcome} {verdict.kind}{size}{times}"]
    lines += [f"-- {' '.join(sorted(made.features))}", made.sql]
    if verdict.detail:
        lines += [f"after batch {verdict.batch}:"] if verdict.batch >= 0 else []
        lines.append(verdict.detail)
    return "\n".join(lines)


def failure_text(
    made: Made, batches: Sequence[Batch], verdict: Verdict, database: Database, limit_s: float = 20.0
) -> str:
    """A failure made small, ready to be kept as a regression."""
    small = Shrinker(database, limit_s).shrink(Failure(made, tuple(batches), verdict))
    lines = [verdict_text(made, verdict), "", "made small:", verdict_text(small.made, small.verdict)]
    name = f"{replay.FOLDER.name}/seed_{made.seed}"
    lines += ["", f"{name}.sql:", small.made.sql, f"{name}.json:", replay.events_text(small.batches)]
    return "\n".join(lines)


def summary_text(done: Sequence[Result], seconds: float) -> str:
    """A line per feature, then the totals."""
    lines = [f"{'feature':22}{'ok':>6}{'unsup.':>8}{'WRONG':>7}{'crash':>7}{'invalid':>9}  kinds of what is not ok"]
    by_feature: dict[str, list[Verdict]] = defaultdict(list)
    for made, verdict in done:
        for feature in made.features:
            by_feature[feature].append(verdict)
    lines += [_feature_line(feature, by_feature[feature]) for feature in FEATURES]
    total = Counter(v.outcome for _, v in done)
    lines.append(f"\n{len(done)} queries in {seconds:.1f} s ({len(done) / seconds:.1f}/s): {dict(total)}")
    for outcome in (UNSUPPORTED, CRASH, WRONG, INVALID):
        kinds = _kinds([v for _, v in done if v.outcome == outcome], 20)
        lines += [f"{outcome}: {kinds}"] if kinds else []
    slow = sorted(done, key=lambda result: -result[1].total_s)[:3]
    lines.append(
        "slowest: " + ", ".join(f"seed {m.seed} {v.total_s:.2f} s, {v.statements} statements" for m, v in slow)
    )
    lines.append(f"failing seeds: {[m.seed for m, v in done if v.failed][:40]}")
    return "\n".join(lines)


def _feature_line(feature: str, verdicts: Sequence[Verdict]) -> str:
    counts = Counter(v.outcome for v in verdicts)
    cells = f"{counts[OK]:6}{counts[UNSUPPORTED]:8}{counts[WRONG]:7}{counts[CRASH]:7}{counts[INVALID]:9}"
    return f"{feature:22}{cells}  {_kinds([v for v in verdicts if v.outcome != OK], 4)}"


def _kinds(verdicts: Sequence[Verdict], most: int) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in Counter(v.kind for v in verdicts).most_common(most))
