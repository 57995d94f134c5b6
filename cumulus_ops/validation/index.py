"""One page for people over all validations: what was proved, what failed and how, with links to the detailed pages.

Great Expectations' own start page is built by scripts from the web; this one is plain HTML and opens anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from cumulus_ops.catalog import Validation

__all__ = ["INDEX", "write_index"]

INDEX = "index.html"
PAGES = Path("gx/uncommitted/data_docs/local_site/validations")
STYLE = (
    "body{font:15px system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.5em .8em;"
    "border-bottom:1px solid #ccc}.passed{color:#17692d}.failed{color:#b00020;font-weight:bold}"
    ".expired{color:#8a5a00}pre{white-space:pre-wrap;margin:.3em 0}"
)
EXPIRED = '<tr><td>{}<td class="expired">expired<td><td>not compared: validation came too late for this snapshot</tr>'


def write_index(
    folder: Path,
    project: str,
    validations: Iterable[Validation],
    expired: Iterable[int] = (),
    remarks: Mapping[int, Sequence[str]] | None = None,
) -> Path:
    """Write the start page of a reports folder, replacing an older one by one rename.

    Args:
        folder: the reports folder.
        project: the project's name, by which the detailed pages are filed.
        validations: the outcomes to list.
        expired: the epochs for whose snapshots validation came too late.
        remarks: epoch -> what else is to be known of its snapshot.

    Returns:
        the page's path.
    """
    found = {epoch: EXPIRED.format(epoch) for epoch in expired}
    found |= {v.epoch: _row(folder, project, v, (remarks or {}).get(v.epoch, ())) for v in validations}
    rows = "\n".join(row for _, row in sorted(found.items(), reverse=True))
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(project)}: snapshots</title>'
        f"<style>{STYLE}</style><h1>{escape(project)}: snapshots</h1>"
        "<p>Every committed snapshot is compared, value by value and in both directions, with the views' SQL run from "
        "scratch on Spark over the event log up to the end of its epoch.</p>"
        f"<table><tr><th>Epoch<th>Result<th>Seconds<th>Details</tr>\n{rows}\n</table></html>\n"
    )
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{INDEX}.{os.getpid()}"
    fresh.write_text(page, encoding="utf-8")
    return fresh.replace(folder / INDEX)


def _row(folder: Path, project: str, validation: Validation, remarks: Sequence[str]) -> str:
    word = "passed" if validation.success else "failed"
    notes = "".join(f'<pre class="expired">{escape(remark)}</pre>' for remark in remarks)
    failures = notes + "".join(f"<pre>{escape(failure)}</pre>" for failure in validation.failures)
    links = " · ".join(_links(folder, f"{project}, epoch {validation.epoch}"))
    return f'<tr><td>{validation.epoch}<td class="{word}">{word}<td>{validation.seconds:.1f}<td>{failures}{links}</tr>'


def _links(folder: Path, run: str) -> Iterable[str]:
    """A link to the newest page of each suite in a run."""
    for suite in sorted((folder / PAGES).glob("*")):
        pages = sorted((suite / run).glob("*/*.html"))
        if pages:
            yield f'<a href="{quote(str(pages[-1].relative_to(folder)))}">{escape(suite.name)}</a>'
