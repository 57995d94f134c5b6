"""Reports for people: Data Docs, Great Expectations' pages over its results, made of our own templates; and one page over all validations.

Its own view escapes some of the values and not others, and its pages load styles, fonts and scripts from other hosts. Ours open anywhere
and can do nothing: all that comes from data is text, there are no scripts, and nothing is loaded, from nowhere. The site builder here, which
a reports folder's ``great_expectations.yml`` names, makes one page of each result.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from great_expectations.data_context.store.html_site_store import HtmlSiteStore
from great_expectations.data_context.types.resource_identifiers import (
    SiteSectionIdentifier,
    ValidationResultIdentifier,
)
from great_expectations.exceptions import ExpectationNotFoundError
from great_expectations.expectations.registry import get_expectation_impl

from cumulus_ops.catalog.records import Validation
from cumulus_ops.project.small_files import replace_file
from cumulus_ops.project.verdicts import FAILED, PASSED, UNPROVED
from cumulus_ops.templates import open_templates

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["INDEX", "POLICY", "PlainSite", "page_path", "report_pages", "use_plain_site", "write_index"]


#: Each page brings its style along, and allows just this one text, by its hash: a browser would run no script and load nothing even if some
#: value became markup.
POLICY = "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"


@cache
def _templates() -> Environment:
    from markupsafe import Markup

    templates = open_templates("cumulus_ops.validation", "pages", trim_blocks=True)
    style = files("cumulus_ops.validation").joinpath("pages", "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    templates.globals.update(style=Markup(style), policy=POLICY.format(digest))  # our own file
    return templates


SITE = "local_site"
#: The site within the reports folder; its pages are one level below it, in folders of their own.
FOLDER = Path("gx/uncommitted/data_docs") / SITE
SECTION = "validations"
PAGES = FOLDER / SECTION
STORE = {"class_name": "TupleFilesystemStoreBackend", "base_directory": f"uncommitted/data_docs/{SITE}/"}
#: What the pages say; if it changes, older ones are made anew.
EDITION = 2
CONFIGURATION = {"class_name": "PlainSite", "module_name": __name__, "store_backend": STORE, "edition": EDITION}


def use_plain_site(context: Any, reports: Path) -> None:
    """Have the context's pages made by :class:`PlainSite`. Pages that were made otherwise are made anew, once."""
    sites = context.variables.data_docs_sites or {}
    if sites.get(SITE) == CONFIGURATION:
        return
    shutil.rmtree(reports / FOLDER, ignore_errors=True)
    PlainSite(context, STORE, {"root_directory": context.root_directory}).build()
    context.variables.data_docs_sites = {SITE: CONFIGURATION}
    context.variables.save()


class PlainSite:
    """What Great Expectations calls to build its site.

    Args:
        data_context: where results are read.
        store_backend: where pages are written.
        runtime_environment: what the store needs to know besides.
        options: what else a site builder is told, of no concern here.
    """

    def __init__(
        self,
        data_context: Any,
        store_backend: Mapping[str, Any],
        runtime_environment: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._results = data_context.stores[data_context.validation_results_store_name]
        self._pages = HtmlSiteStore(dict(store_backend), runtime_environment)

    def build(self, resource_identifiers: Sequence[Any] | None = None, build_index: bool = True) -> None:
        """Write the pages of some results; of all when None. The index is the start page of the reports, see
        :mod:`cumulus_ops.validation.reports`."""
        keys = self._results.list_keys() if resource_identifiers is None else resource_identifiers
        for key in keys:
            if isinstance(key, ValidationResultIdentifier):
                page = result_page(self._results.get(key), key)
                self._pages.set(SiteSectionIdentifier(SECTION, key), page)

    def get_resource_url(self, resource_identifier: Any = None, only_if_exists: bool = True) -> str | None:
        """Where a result's page is."""
        url: str | None = self._pages.get_url_for_resource(resource_identifier, only_if_exists)
        return url


def page_path(reports: Path, key: ValidationResultIdentifier) -> Path:
    """Where the page of a result is, in a reports folder."""
    *folders, name = key.to_tuple()
    return Path(reports, PAGES, *folders, f"{name}.html")


def result_page(result: Any, key: ValidationResultIdentifier) -> str:
    """The page of one suite's result."""
    outcomes = [_outcome(outcome) for outcome in result.results]
    depth = len((*PAGES.parts, *key.to_tuple())) - 1
    return (
        _templates()
        .get_template("suite.html")
        .render(
            start=quote("../" * depth + "index.html"),
            suite=result.suite_name,
            run=key.run_id.run_name,
            time=key.run_id.run_time.strftime("%Y-%m-%d %H:%M:%S UTC"),
            counts={kind: sum(outcome["kind"] == kind for outcome in outcomes) for kind in (PASSED, UNPROVED, FAILED)},
            outcomes=outcomes,
        )
    )


def _outcome(outcome: Any) -> dict[str, Any]:
    found: Mapping[str, Any] = outcome.result or {}
    details = found.get("details") or {}
    return {
        "kind": _kind(outcome, details),
        "sentence": _sentence(outcome.expectation_config),
        "observed": found.get("observed_value", "it could not be evaluated"),
        "header": details.get("header") or (),
        "table": details.get("table") or (),
    }


def _kind(outcome: Any, details: Mapping[str, Any]) -> str:
    """Whether an expectation holds, does not, or could not be looked at. What could not be compared was a success for an older version."""
    if details.get("outcome") == UNPROVED:
        return UNPROVED
    return PASSED if outcome.success else FAILED


def _sentence(configuration: Any) -> str:
    """What is expected, in words: the expectation's own sentence over its arguments, if it has one."""
    arguments = {name: _readable(value) for name, value in configuration.kwargs.items() if name != "batch_id"}
    try:
        sentence = getattr(get_expectation_impl(configuration.type), "sentence", "")
    except ExpectationNotFoundError:
        sentence = ""
    if sentence:
        return Template(sentence).safe_substitute(arguments)
    return f"{configuration.type}({', '.join(f'{name}={value}' for name, value in arguments.items())})"


def _readable(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# One page for people over all validations: what was proved, what failed and how, with links to the detailed pages.


INDEX = "index.html"
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
    text = (
        _templates()
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
    return dict(_pages(folder, f"{project}, epoch {epoch}"))


def _pages(folder: Path, run: str) -> Iterator[tuple[str, str]]:
    for suite in sorted((folder / PAGES).glob("*")):
        pages = sorted((suite / run).glob("*/*.html"))
        if pages:
            yield suite.name, str(pages[-1].relative_to(folder))
