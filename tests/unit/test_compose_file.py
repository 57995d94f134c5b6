"""What the compose file promises of every service, without Docker."""

import re
from pathlib import Path

from tests.support.compose import COMPOSE, services

PINNED = re.compile(r"@sha256:[0-9a-f]{64}$")


def test_every_service_that_stays_says_whether_it_is_well():
    staying = {name: s for name, s in services().items() if s["restart"] != "no"}
    assert len(staying) == 7
    for name, service in staying.items():
        assert service["healthcheck"]["test"][0] == "CMD", f"{name}: a program, no shell"


def test_services_wait_for_those_that_are_well():
    for name, service in services().items():
        for other, wanted in service.get("depends_on", {}).items():
            assert wanted["condition"] in ("service_healthy", "service_completed_successfully"), f"{name} on {other}"


def test_images_from_elsewhere_are_pinned():
    images = {s["image"] for s in services().values()} - {"cumulus"}
    images |= set(re.findall(r"^FROM (\S+)", Path(COMPOSE.parent, "docker", "Dockerfile").read_text(), re.MULTILINE))
    assert len(images) == 2
    assert all(PINNED.search(image) for image in images)


def test_links_lead_to_where_the_ui_is_published():
    """Reports are linked from logs, which name no host by themselves."""
    (published,) = services()["airflow-api-server"]["ports"]
    here = f"${{AIRFLOW_BASE_URL:-http://localhost:{published.split(':')[1]}}}"
    of_airflow = [s["environment"] for s in services().values() if "AIRFLOW_HOME" in s.get("environment", ())]
    assert {environment["AIRFLOW__API__BASE_URL"] for environment in of_airflow} == {here}
