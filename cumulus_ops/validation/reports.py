"""Reports for people: one page over all validations, and where its links lead: to the pages of :mod:`.data_docs`, one of each result.

They open anywhere and can do nothing: all that comes from data is text, there are no scripts, and nothing is loaded, from nowhere.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cumulus_ops.catalog.records import Validation
from cumulus_ops.project.small_files import replace_file
from cumulus_ops.project.verdicts import UNPROVED
from cumulus_ops.templates import open_templates

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["INDEX", "PAGES", "POLICY", "SECTION", "SITE", "SITE_FOLDER", "report_pages", "templates", "write_index"]


INDEX = "index.html"
SITE, SECTION = "local_site", "validations"
#: The site within the reports folder; its pages are one level below it, in folders of their own.
SITE_FOLDER = Path("gx/uncommitted/data_docs") / SITE
PAGES = SITE_FOLDER / SECTION
EXPIRED = "not compared: validation came too late for this snapshot"
#: Each page brings its style along, and allows just this one text, by its hash: a browser would run no script and load nothing even if some
#: value became markup.
POLICY = "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"


@cache
def templates() -> Environment:
    """Those of all reports."""
    from markupsafe import Markup

    made = open_templates("cumulus_ops.validation", "pages", trim_blocks=True)
    style = files("cumulus_ops.validation").joinpath("pages", "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    made.globals.update(style=Markup(style), policy=POLICY.format(digest))  # our own file
    return made


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
    text = (
        templates()
        .get_template("start.html")
        .render(project=project, rows=[found[epoch] for epoch in sorted(found, reverse=True)])
    )
    folder.mkdir(parents=True, exist_ok=True)
    return replace_file(folder / INDEX, text)


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
    found = {}
    for suite in sorted((folder / PAGES).glob("*")):
        pages = sorted((suite / f"{project}, epoch {epoch}").glob("*/*.html"))
        if pages:
            found[suite.name] = str(pages[-1].relative_to(folder))
    return found
