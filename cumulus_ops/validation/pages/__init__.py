"""The reports as pages that open anywhere and can do nothing: all that comes from data is text, there are no scripts, and nothing
is loaded, from nowhere."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["POLICY", "render_page"]


# A page from a template and values. Templates are ours, values are anybody's.
#
# Every value is escaped where it is shown (Jinja's autoescape; a name that a template does not get is an error). Each page brings its
# style along, and a **content security policy** that allows just this one text, by its hash: a browser would run no script and load
# nothing even if some value became markup.


POLICY = "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"


def render_page(template: str, **values: Any) -> str:
    """The page that ``template``, a file of this package, makes of some values.

    >>> "<b>" in render_page("start.html", project="<b>", rows=[])
    False
    """
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here, because few processes write pages
    from markupsafe import Markup

    loader = PackageLoader("cumulus_ops.validation", "pages")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style = files("cumulus_ops.validation.pages").joinpath("style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment.globals.update(style=Markup(style), policy=POLICY.format(digest))  # our own file
    return environment
