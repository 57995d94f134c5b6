"""The Airflow DAGs of the project folder that CUMULUS_PROJECT names; without it, of the TPC-H example.

(Airflow only looks into files that contain the words "airflow" and "dag"; this one does.)
"""

from cumulus_ops.orchestration.assets import project_folder
from cumulus_ops.orchestration.factory import build_dags
from cumulus_ops.project.project_file import load_project

globals().update(build_dags(load_project(project_folder())))
