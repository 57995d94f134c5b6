"""How our expectations look in Data Docs: a sentence, a verdict, and a table of what is wrong."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.render import (
    LegacyDiagnosticRendererType,
    LegacyRendererType,
    RenderedStringTemplateContent,
    RenderedTableContent,
)
from great_expectations.render.renderer.renderer import renderer

__all__ = ["ReadableExpectation", "verdict"]


def verdict(
    success: bool, observed: str, header: Sequence[str] = (), table: Sequence[Sequence[str]] = (), **details: Any
) -> dict[str, Any]:
    """An expectation's result.

    Args:
        success: whether it holds.
        observed: what was found, in a few words.
        header: the table's columns, shown when there are rows.
        table: what is wrong, as text.
        details: numbers for programs.
    """
    shown = {"header": list(header), "table": [list(row) for row in table]}
    return {"success": success, "result": {"observed_value": observed, "details": {**details, **shown}}}


class ReadableExpectation(BatchExpectation, ABC):
    """Base of the expectations here: ``sentence`` is a template over the expectation's arguments (``$name``)."""

    sentence: ClassVar[str] = ""

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)  # type: ignore[untyped-decorator]
    def _prescriptive_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> Any:
        configuration = configuration or (result and result.expectation_config)
        params = {key: _readable(value) for key, value in (configuration.kwargs if configuration else {}).items()}
        template = {"template": cls.sentence, "params": params}
        return [RenderedStringTemplateContent(content_block_type="string_template", string_template=template)]

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: Any) -> Any:
        renderer_configuration.template_str = cls.sentence.replace("$", "")
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)  # type: ignore[untyped-decorator]
    def _diagnostic_unexpected_table_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> Any:
        details = ((result.result if result is not None else None) or {}).get("details") or {}
        if not details.get("table"):
            return None
        return [
            RenderedTableContent(
                content_block_type="table",
                table=details["table"],
                header_row=details["header"],
                styling={"body": {"classes": ["table-bordered", "table-sm", "mt-3"]}},
            )
        ]


def _readable(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "(all rows are one group)"
    return str(value)
