"""The Airflow DAGs of the project folder that CUMULUS_PROJECT names.

(Airflow only looks into files that contain the words "airflow" and "dag"; this one does.)
"""

import os
from pathlib import Path

from cumulus_ops.orchestration.factory import build_dags
from cumulus_ops.project.project_file import load_project

globals().update(build_dags(load_project(Path(os.environ["CUMULUS_PROJECT"]))))
