"""What people who look at the project's pages have to know: a file beside the state, which the DAGs' documentation shows."""

from __future__ import annotations

import uuid

from cumulus_ops.catalog import InError, LeftOut, left_out, set_aside
from cumulus_ops.engine import Runtime
from cumulus_ops.names import NOTICES
from cumulus_ops.query import newest_errors

__all__ = ["write_notices"]


def write_notices(rt: Runtime) -> None:
    """Write the file as the catalog has it now, by one rename; delete it when there is nothing to say."""
    batches = rt.catalog.batches()
    newest = max((s.epoch for s in rt.catalog.snapshots()), default=-1)
    text = _text(set_aside(batches), left_out(batches, newest), newest) + _of_views(newest_errors(rt))
    file = rt.project.state / NOTICES
    if not text:
        file.unlink(missing_ok=True)
    elif not file.is_file() or file.read_text(encoding="utf-8") != text:
        fresh = file.with_name(f".{NOTICES}.{uuid.uuid4().hex}")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(file)


def _text(waiting: tuple[LeftOut, ...], missing: tuple[LeftOut, ...], newest: int) -> str:
    lines = [
        f"- **set aside**: {_cell(b)}; decide by `cumulus batch retry {b.batch}` or `drop {b.batch}`" for b in waiting
    ]
    lines += [f"- the snapshot of epoch {newest} is **without** {_cell(b)}" for b in missing]
    return "\n".join(["### Batches that failed", *lines, ""]) if lines else ""


def _cell(batch: LeftOut) -> str:
    """In Markdown nothing of a reason is markup."""
    return f"{batch.name}, {batch.fate}: {_plain(batch.reason)}"


def _of_views(errors: tuple[InError, ...]) -> str:
    lines = [f"- **{e.view}** since epoch {e.since}: {_plain(e.reason)}" for e in errors]
    return "\n".join(["### Views in error", *lines, ""]) if lines else ""


def _plain(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"
