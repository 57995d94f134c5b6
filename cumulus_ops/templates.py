"""Pages from templates: where Jinja is set up, for the reports of :mod:`cumulus_ops.validation` and the pages of :mod:`cumulus_ops.web`.

Templates are ours, values are anybody's: every value is escaped where it is shown, and a name that a template does not get is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["open_templates"]


def open_templates(package: str, folder: str, *, trim_blocks: bool = False) -> Environment:
    """The templates in a folder of a package.

    >>> open_templates("cumulus_ops.web", "html").from_string("{{ name }}").render(name="<b>")
    '&lt;b&gt;'

    Args:
        package: the package.
        folder: the folder in it, which need not be a package itself.
        trim_blocks: whether a line that has a block's tag alone leaves no empty line on the page.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here, because few processes write pages

    loader = PackageLoader(package, folder)
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=trim_blocks, lstrip_blocks=True
    )
