"""Under which names the UI answers: a page of another site, whose name is made to lead to this machine, is refused.

``CUMULUS_UI_HOSTS`` lists the names, separated by commas; without it all are answered, as Airflow does by itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

__all__ = ["host_check"]

VARIABLE = "CUMULUS_UI_HOSTS"


def host_check(environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The plugin's middlewares for the API server: one that answers other Host headers with 400, if names are listed.

    >>> host_check({})
    []
    """
    listed = (os.environ if environment is None else environment).get(VARIABLE, "")
    hosts = [name.strip() for name in listed.split(",") if name.strip()]
    return [{"middleware": trusted_hosts, "kwargs": {"hosts": hosts}, "name": "hosts"}] if hosts else []


def trusted_hosts(app: Any, hosts: list[str]) -> Any:
    """The app behind Starlette's check; imported only where there is a server."""
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    return TrustedHostMiddleware(app, allowed_hosts=hosts, www_redirect=False)
