"""The Airflow DAGs of the project folder that CUMULUS_PROJECT names.

(Airflow only looks into files that contain the words "airflow" and "dag"; this one does.)
"""

import os
from pathlib import Path

from cumulus_ops.config import load_project
from cumulus_ops.orchestration import build_dags

globals().update(build_dags(load_project(Path(os.environ["CUMULUS_PROJECT"]))))
