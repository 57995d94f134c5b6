"""The Airflow DAGs of the project folder that CUMULUS_PROJECT names; without it, of the TPC-H example.

(Airflow only looks into files that contain the words "airflow" and "dag"; this one does.)
"""

from cumulus_ops.config import load_project
from cumulus_ops.orchestration import build_dags
from cumulus_ops.orchestration.projects import project_folder

globals().update(build_dags(load_project(project_folder())))
