"""The reports as pages that open anywhere and can do nothing: all that comes from data is text, there are no scripts, and nothing
is loaded, from nowhere."""

from cumulus_ops.validation.pages.html import render_page

__all__ = ["render_page"]
