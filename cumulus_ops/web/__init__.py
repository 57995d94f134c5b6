"""Cumulus's own pages: what a project's views, epochs and coordinators are like, made on the server, read-only.

They are a web application that something else serves and guards: Airflow's API server (:mod:`cumulus_ops.orchestration.plugin`).
"""

from cumulus_ops.web.app import create_app

__all__ = ["create_app"]
