"""Great Expectations: a checkpoint over small tables, and Data Docs, its pages over the results, made of our own templates.

Its own view escapes some of the values and not others, and its pages load styles, fonts and scripts from other hosts. The site builder here
makes one page of each result. This is the only module that imports Great Expectations as it is imported itself, which takes seconds.

Results and pages are kept in files, each written by one rename. Everything else that Great Expectations keeps (its settings, suites, definitions) is in memory,
as it follows from the suites of a run: it writes such files in place, and of half a one, which a process leaves that is killed, no later run would get past.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import expectations  # noqa: F401  first: it switches usage statistics off

# isort: split
import great_expectations as gx
import pandas as pd
import pyarrow as pa
from great_expectations.checkpoint import Checkpoint, UpdateDataDocsAction
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.store.html_site_store import HtmlSiteStore
from great_expectations.data_context.store.tuple_store_backend import TupleFilesystemStoreBackend
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults
from great_expectations.data_context.types.resource_identifiers import (
    SiteSectionIdentifier,
    ValidationResultIdentifier,
)
from great_expectations.exceptions import ExpectationNotFoundError
from great_expectations.expectations.registry import get_expectation_impl

from cumulus_ops.project.small_files import replace_file
from cumulus_ops.project.verdicts import FAILED, PASSED, UNPROVED
from cumulus_ops.validation.reports import PAGES, SECTION, SITE, SITE_FOLDER, templates

__all__ = [
    "PlainSite",
    "SnapshotCheckpoint",
    "WholeFiles",
    "frame",
    "page_path",
    "result_page",
    "run_checkpoint",
]


SOURCE, CHECKPOINT = "verdicts", "proof"
#: Where results are, in the reports folder.
RESULTS = Path("gx/uncommitted/validations")
#: What the pages say, and where among them that is noted; if it changes, older ones are made anew.
EDITION, EDITION_FILE = "2", "edition"
log = logging.getLogger(__name__)


class WholeFiles(TupleFilesystemStoreBackend):  # type: ignore[misc]  # it has no types
    """Files of which each is there as a whole, or not at all."""

    def _set(self, key: Any, value: str, **_: Any) -> str:
        name = self._convert_key_to_filepath(key if isinstance(key, tuple) else key.to_tuple())
        file = Path(self.full_base_directory, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        return str(replace_file(file, value))


class SnapshotCheckpoint(Checkpoint):
    """A checkpoint whose validation definitions each get their own DataFrame: ``batch_parameters`` is keyed by their
    names, where Great Expectations would hand one DataFrame to all of them."""

    validation_definitions: list[gx.ValidationDefinition]

    def _run_validation_definitions(self, batch_parameters: dict[str, Any], **options: Any) -> Any:
        results: dict[Any, Any] = {}
        everything: list[gx.ValidationDefinition] = self.validation_definitions
        for definition in everything:
            self.validation_definitions = [definition]
            one = {"dataframe": batch_parameters[definition.name]}
            results.update(super()._run_validation_definitions(batch_parameters=one, **options))
        self.validation_definitions = everything
        return results


def frame(rows: pa.Table | Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A table, or rows, as a DataFrame; Arrow's columns stay Arrow's."""
    return rows.to_pandas(types_mapper=pd.ArrowDtype) if isinstance(rows, pa.Table) else pd.DataFrame(list(rows))


@contextmanager
def _quiet() -> Iterator[None]:
    """Great Expectations reports at INFO what our report says better."""
    logger = logging.getLogger("great_expectations")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)


@_quiet()
def run_checkpoint(
    folder: Path, name: str, suites: Mapping[str, tuple[Any, pa.Table | Sequence[Mapping[str, Any]]]]
) -> Any:
    """Run a checkpoint over small tables; its pages are in the folder.

    Args:
        folder: keeps the results of all runs, and their pages.
        name: what the run is called in the reports.
        suites: name -> the suite, and the rows that it judges. The names should be the same for all runs of a folder.
    """
    context = _open_context(folder)
    _make_older_pages_anew(context, folder)
    source = context.data_sources.add_or_update_pandas(SOURCE)
    definitions = []
    for suite_name, (suite, _) in suites.items():
        batch = source.add_dataframe_asset(suite_name).add_batch_definition_whole_dataframe("whole")
        kept = context.suites.add_or_update(suite)
        definition = gx.ValidationDefinition(name=suite_name, data=batch, suite=kept)
        definitions.append(context.validation_definitions.add_or_update(definition))
    checkpoint = SnapshotCheckpoint(
        name=CHECKPOINT, validation_definitions=definitions, actions=[UpdateDataDocsAction(name="data docs")]
    )
    context.checkpoints.add_or_update(checkpoint)
    run = RunIdentifier(run_name=name, run_time=datetime.now(UTC))
    return checkpoint.run(batch_parameters={n: frame(rows) for n, (_, rows) in suites.items()}, run_id=run)


def _open_context(reports: Path) -> Any:
    kept = InMemoryStoreBackendDefaults()
    kept.stores[kept.validation_results_store_name] = {
        "class_name": "ValidationResultsStore",
        "store_backend": _files(reports / RESULTS),
    }
    site = {"class_name": "PlainSite", "module_name": __name__, "store_backend": _files(reports / SITE_FOLDER)}
    config = DataContextConfig(
        store_backend_defaults=kept, data_docs_sites={SITE: site}, progress_bars={"globally": False}
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def _files(folder: Path) -> dict[str, Any]:
    base = str(folder.absolute())
    return {
        "class_name": "WholeFiles",
        "module_name": __name__,
        "base_directory": base,
        "suppress_store_backend_id": True,
    }


# The pages.


def _make_older_pages_anew(context: Any, reports: Path) -> None:
    """Once, if they were made otherwise."""
    site = reports / SITE_FOLDER
    note = site / EDITION_FILE
    if note.exists() and note.read_text(encoding="utf-8") == EDITION:
        return
    shutil.rmtree(site, ignore_errors=True)
    PlainSite(context, _files(site)).build()
    site.mkdir(parents=True, exist_ok=True)
    replace_file(note, EDITION)


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
                try:
                    page = result_page(self._results.get(key), key)
                except Exception:  # of before results were written whole, from somebody who was killed: there is another one of its epoch
                    log.warning("a result cannot be read, and has no page: %s", key)
                    continue
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
    outcomes = []
    for outcome in result.results:
        found: Mapping[str, Any] = outcome.result or {}
        details = found.get("details") or {}
        # what could not be compared was a success for an older version, whose results may lie in the folder
        kind = UNPROVED if details.get("outcome") == UNPROVED else PASSED if outcome.success else FAILED
        outcomes.append(
            {
                "kind": kind,
                "sentence": _sentence(outcome.expectation_config),
                "observed": found.get("observed_value", "it could not be evaluated"),
                "header": details.get("header") or (),
                "table": details.get("table") or (),
            }
        )
    depth = len((*PAGES.parts, *key.to_tuple())) - 1
    return (
        templates()
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


def _sentence(configuration: Any) -> str:
    """What is expected, in words: the expectation's own sentence over its arguments, if it has one."""
    given = {name: value for name, value in configuration.kwargs.items() if name != "batch_id"}
    arguments = {n: ", ".join(map(str, v)) if isinstance(v, list | tuple) else str(v) for n, v in given.items()}
    try:
        sentence = getattr(get_expectation_impl(configuration.type), "sentence", "")
    except ExpectationNotFoundError:
        sentence = ""
    if sentence:
        return Template(sentence).safe_substitute(arguments)
    return f"{configuration.type}({', '.join(f'{name}={value}' for name, value in arguments.items())})"
