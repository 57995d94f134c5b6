"""What it costs to make lost files again: the section of the summary."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report.figures import measured, ratio
from benchmarks.report.tables import number, seconds, table, times
from benchmarks.rows import Row

__all__ = ["LOST", "lost_kinds", "lost_maps", "programs_of", "recovery_section", "scales_of"]

#: What is lost, as the case calls it; but for the largest map, which it gives a number.
LOST = (
    "one run of a live batch",
    "all runs of a live batch",
    "one run of a committed epoch",
    "all runs of a committed epoch",
    "the largest map",
    "its backfill",
    "all maps",
)


TARGETS = (
    "Targets: a lost run of a batch takes at SF 1 at most 1.5x what it takes at SF 0.1, and all maps 50x of it; a lost map at most 2x its backfill, and all maps 5x of it;"
    " hashes and recipes take at most 3 % of a batch."
)


def recovery_section(rows: Sequence[Row]) -> list[str]:
    """CPU seconds by what is lost, by program and scale factor; of whole maps; by the number of batches; of other files; and of normal operation."""
    found = measured(rows)
    lines = [
        "CPU seconds of one process. What is made again is proved by its hashes; `all maps` is recomputing everything downstream.",
        "",
    ]
    programs = programs_of(found)
    for query in programs:
        lines += [*_by_scale(query, measured(found, query=query)), ""]
    for query in programs[-1:]:
        lines += [*_maps(query, measured(found, query=query)), *_by_batches(query, measured(found, query=query))]
    return [*lines, *_files(measured(found, query="files")), *_normal(found), TARGETS]


def lost_kinds(rows: Sequence[Row], scale: float) -> dict[str, Row]:
    """What is lost -> its row, of as few live batches as were measured, or, where all maps are filled, as many."""
    kinds: dict[str, Row] = {}
    for row in sorted(measured(rows, scale_factor=scale), key=_live, reverse=True):
        what = row.variant.partition(";")[0]
        if what.startswith("a map, "):
            place, _, count = what.removeprefix("a map, ").partition(" of ")
            what = (
                {"cumulus": "the largest map", "cumulus-fill": "its backfill"}[row.contestant] if place == count else ""
            )
        if what in LOST:
            kinds[what] = row
    return {what: kinds[what] for what in LOST if what in kinds}


def _live(row: Row) -> int:
    """How many batches are live."""
    said = row.variant.partition("; ")[2].removesuffix(" live batches")
    return int(said) if said.isdigit() else 0


def programs_of(rows: Sequence[Row]) -> list[str]:
    """The programs that have lost runs, the one of all queries last."""
    return sorted(
        {row.query for row in rows} - {"files"}, key=lambda query: int(query[1:]) if query[1:].isdigit() else 99
    )


def scales_of(rows: Sequence[Row]) -> list[float]:
    """The scale factors."""
    return sorted({row.scale_factor for row in rows})


def _by_scale(query: str, rows: Sequence[Row]) -> list[str]:
    scales = scales_of(rows)
    by_scale = {scale: lost_kinds(rows, scale) for scale in scales}
    body = []
    for what in LOST:
        own = [by_scale[scale].get(what) for scale in scales]
        if not any(own):
            continue
        growth = ratio(_seconds(own[-1]), _seconds(own[-2])) if len(own) > 1 else None
        everything = ratio(_seconds(by_scale[scales[-1]].get("all maps")), _seconds(own[-1]))
        body.append([what, *("–" if row is None else seconds(row) for row in own), times(growth), times(everything)])
    note = next((kinds["all maps"].note.partition(";")[0] for kinds in by_scale.values() if "all maps" in kinds), "")
    last = [
        f"SF {scales[-1]:g} / SF {scales[-2]:g}" if len(scales) > 1 else "growth",
        f"all maps / it, SF {scales[-1]:g}",
    ]
    return table([f"{query} ({note})", *(f"SF {scale:g}" for scale in scales), *last], body)


def _seconds(row: Row | None) -> float | None:
    return None if row is None else row.seconds


def lost_maps(rows: Sequence[Row], scale: float) -> list[tuple[Row, Row]]:
    """Lost maps and their backfills, of as few live batches as were measured, the small ones first."""
    own = [row for row in measured(rows, scale_factor=scale) if row.variant.startswith("a map, ")]
    fewest = min(map(_live, own), default=0)
    fills = {row.variant: row for row in measured(own, contestant="cumulus-fill")}
    lost = [row for row in measured(own, contestant="cumulus") if _live(row) == fewest and row.variant in fills]
    return [(row, fills[row.variant]) for row in sorted(lost, key=lambda row: row.events)]


def _maps(query: str, rows: Sequence[Row]) -> list[str]:
    scale = scales_of(rows)[-1]
    everything = _seconds(lost_kinds(rows, scale).get("all maps"))
    body = [
        [lost.note.partition(" of ")[2].partition(",")[0], number(lost.events), seconds(lost), seconds(fill),
         times(ratio(lost.seconds, fill.seconds)), times(ratio(everything, lost.seconds))]
        for lost, fill in lost_maps(rows, scale)
    ]  # fmt: skip
    head = [f"a lost map of {query}, SF {scale:g}", "rows", "made again", "its backfill", "ratio", "all maps / it"]
    return [*table(head, body), ""] if body else []


def _by_batches(query: str, rows: Sequence[Row]) -> list[str]:
    """By the number of batches since the checkpoint."""
    body = []
    for scale in scales_of(rows):
        own = [row for row in measured(rows, scale_factor=scale, contestant="cumulus") if _live(row)]
        largest = lost_maps(rows, scale)[-1:]
        names = ["all runs of a live batch", "all live runs", *(row.variant.partition(";")[0] for row, _ in largest)]
        for live in sorted({_live(row) for row in own}):
            by_name = {row.variant.partition(";")[0]: row for row in own if _live(row) == live}
            body.append([f"SF {scale:g}, {live}", *(seconds(by_name[n]) if n in by_name else "–" for n in names)])
    head = [f"batches since the checkpoint, {query}", "the newest batch's runs", "all runs since", "the largest map"]
    return [*table(head, body), ""] if body else []


def _files(rows: Sequence[Row]) -> list[str]:
    body = [
        [f"{row.variant}, SF {row.scale_factor:g}", number(row.events), seconds(row), row.note.partition(";")[0]]
        for row in sorted(rows, key=lambda row: (row.scale_factor, row.variant))
    ]
    return (
        [*table(["a lost file, of Q3 with strict keys", "rows read", "CPU seconds", "size"], body), ""] if body else []
    )


def _normal(rows: Sequence[Row]) -> list[str]:
    """What of batches hashes and recipes take."""
    body = []
    for row in measured(rows, contestant="cumulus-hashes"):
        same = measured(rows, contestant="cumulus", variant=row.variant, batch_events=row.batch_events)
        for ours in measured(same, query=row.query, scale_factor=row.scale_factor):
            share = ratio(row.seconds, ours.seconds) or 0.0
            batches = f"{row.variant.partition(', ')[2]} of {number(row.batch_events)} events"
            body.append(
                [f"{row.query}, SF {row.scale_factor:g}, {batches}", seconds(ours), seconds(row), f"{share:.1%}"]
            )
    head = ["normal operation", "CPU seconds", "in hashes and recipes", "share"]
    return [*table(head, sorted(body)), ""] if body else []
