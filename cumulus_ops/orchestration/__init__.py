"""Cumulus under Airflow: timetable, assets, operators, and the factory that makes a project's DAGs.

Importing this package, and parsing the DAGs, loads neither pyspark nor Great Expectations (a test says so): tasks
import what they need when they run.
"""
