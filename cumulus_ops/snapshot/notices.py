"""What Airflow has to know of a running project without asking its catalog, in files beside the state: what people who look at the
pages are told, and where the coordinators are."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from cumulus_ops.catalog import FencedSeal, InError, LeftOut, left_out, set_aside
from cumulus_ops.engine import Runtime
from cumulus_ops.markdown import code, escaped
from cumulus_ops.names import NOTICES
from cumulus_ops.query import newest_errors
from cumulus_ops.rhythm import Rhythm
from cumulus_ops.timeline import Stay, write_timeline

__all__ = ["tell_where_coordinators_are", "write_notices"]


def tell_where_coordinators_are(rt: Runtime) -> None:
    """Write the file that Airflow plans by (:mod:`cumulus_ops.timeline`) as the catalog has it now. Coordinators that are gone stay in
    it: the run that has sealed a last epoch still has to say so, and what a DAG has done can be looked up as long as there is the DAG."""
    rhythm, membership = Rhythm.of(rt.project), rt.catalog.membership()
    stays = {m.coordinator: rt.catalog.stay(m.coordinator, m.epoch, rhythm) for m in membership.active()}
    for coordinator in {m.coordinator for m in membership.all} - stays.keys():
        last = membership.find(coordinator)
        if last is not None and last.last is not None:
            stays[coordinator] = _last_stay(rt, coordinator, last.last, rhythm)
    write_timeline(rt.project.state, [stays[c] for c in sorted(stays)])


def _last_stay(rt: Runtime, coordinator: int, epoch: int, rhythm: Rhythm) -> Stay:
    left_at = rt.catalog.boundary(coordinator, epoch, rhythm).ends_at
    return Stay(coordinator, epoch, left_at, left_at, left_at, gone=True)


def write_notices(rt: Runtime) -> None:
    """Write the file as the catalog has it now, by one rename; delete it when there is nothing to say."""
    batches = rt.catalog.batches()
    newest = rt.catalog.newest_snapshot()
    text = _text(set_aside(batches), left_out(batches, newest), newest) + _of_views(newest_errors(rt))
    text += _of_intake(*rt.catalog.undecided())
    text += _of_coordinators([seal for seal in rt.catalog.fenced() if seal.epoch >= newest])
    file = rt.project.state / NOTICES
    if not text:
        file.unlink(missing_ok=True)
    elif not file.is_file() or file.read_text(encoding="utf-8") != text:
        fresh = file.with_name(f".{NOTICES}.{uuid.uuid4().hex}")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(file)


def _text(waiting: tuple[LeftOut, ...], missing: tuple[LeftOut, ...], newest: int) -> str:
    lines = [
        f"- **set aside**: {_cell(b)}; {'or ' if b.retry_at else ''}decide by `cumulus batch retry {b.batch}` or `drop {b.batch}`"
        for b in waiting
    ]
    lines += [f"- the snapshot of epoch {newest} is **without** {_cell(b)}" for b in missing]
    return "\n".join(["### Batches that failed", *lines, ""]) if lines else ""


def _cell(batch: LeftOut) -> str:
    """In Markdown nothing of a name or a reason is markup."""
    return f"{code(batch.name)}, {batch.fate}: {code(batch.reason)}"


def _of_views(errors: tuple[InError, ...]) -> str:
    lines = [f"- {code(e.view)} since epoch {e.since}: {code(e.reason)}" for e in errors]
    return "\n".join(["### Views in error", *lines, ""]) if lines else ""


def _of_intake(rows: int, files: int) -> str:
    counts = [f"**{n:,}** {what}" for n, what in ((rows, "rows in the quarantine"), (files, "files set aside")) if n]
    line = f"- {' and '.join(counts)} wait for a decision: `cumulus quarantine list`"
    return "\n".join(["### What was put aside on the way in", line, ""]) if counts else ""


def _of_coordinators(fenced: Sequence[FencedSeal]) -> str:
    lines = [f"- {escaped(seal)}" for seal in fenced]
    return "\n".join(["### Coordinators that others have sealed for", *lines, ""]) if lines else ""
