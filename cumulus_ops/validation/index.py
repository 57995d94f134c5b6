"""One page for people over all validations: what was proved, what failed and how, with links to the detailed pages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cumulus_ops.catalog import Validation
from cumulus_ops.validation.pages import render_page
from cumulus_ops.verdicts import UNPROVED

__all__ = ["INDEX", "report_pages", "write_index"]

INDEX = "index.html"
PAGES = Path("gx/uncommitted/data_docs/local_site/validations")
EXPIRED = "not compared: validation came too late for this snapshot"


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
    found = {epoch: _row(Validation(epoch, "expired", (EXPIRED,), "", 0.0)) for epoch in expired}
    for v in validations:
        links = [{"text": suite, "href": quote(page)} for suite, page in report_pages(folder, project, v.epoch).items()]
        found[v.epoch] = _row(v, (remarks or {}).get(v.epoch, ()), links)
    text = render_page("start.html", project=project, rows=[found[epoch] for epoch in sorted(found, reverse=True)])
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{INDEX}.{os.getpid()}"
    fresh.write_text(text, encoding="utf-8")
    return fresh.replace(folder / INDEX)


def _row(v: Validation, remarks: Sequence[str] = (), links: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
    unproved = [said for found, said in v.verdicts.values() if found == UNPROVED]
    return {
        "epoch": v.epoch,
        "result": v.outcome,
        "summary": v.summary,
        "seconds": f"{v.seconds:.1f}" if v.outcome != "expired" else "",
        "remarks": remarks,
        "unproved": unproved,
        "failures": [said for said in v.findings if said not in unproved],
        "links": links,
    }


def report_pages(folder: Path, project: str, epoch: int) -> dict[str, str]:
    """Suite -> the page of its newest result for an epoch, relative to the reports folder."""
    return dict(_pages(folder, f"{project}, epoch {epoch}"))


def _pages(folder: Path, run: str) -> Iterator[tuple[str, str]]:
    for suite in sorted((folder / PAGES).glob("*")):
        pages = sorted((suite / run).glob("*/*.html"))
        if pages:
            yield suite.name, str(pages[-1].relative_to(folder))
