"""What Spark's JVM says is logged with its own level, and nothing of it is written to this process's standard error."""

import logging
import logging.config
import os
import time

import pytest
from pyspark import SparkConf

from cumulus_ops.compute.spark import launch_logged, log_lines, quiet_client

pytestmark = pytest.mark.spark

SAID = """WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile
26/11/22 10:45:00 WARN NativeCodeLoader: Unable to load
26/11/22 10:45:01 ERROR Executor: Exception in task
java.lang.Exception: why
\tat some.place

26/11/22 10:45:02 INFO SparkContext: fine
"""


def test_lines_have_the_levels_that_spark_gives_them(caplog):
    with caplog.at_level(logging.DEBUG, "cumulus_ops.spark"):
        log_lines(SAID.splitlines(keepends=True))
    levels = [(record.levelname, record.getMessage().split(":")[0]) for record in caplog.records]
    assert levels == [
        ("INFO", "WARNING"),
        ("INFO", "Using Spark's default log4j profile"),
        ("WARNING", "NativeCodeLoader"),
        ("ERROR", "Executor"),
        ("ERROR", "java.lang.Exception"),
        ("ERROR", "\tat some.place"),
        ("INFO", "SparkContext"),
    ]


def test_a_jvm_says_nothing_on_standard_error(caplog, capfd):
    with caplog.at_level(logging.DEBUG, "cumulus_ops.spark"):
        gateway = launch_logged(SparkConf().set("spark.master", "local[1]"))
        gateway.jvm.System.err.println("26/11/22 10:45:00 WARN Somebody: careful")
        while not any(record.levelname == "WARNING" for record in caplog.records):
            time.sleep(0.01)
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    assert capfd.readouterr().err == ""
    assert "Somebody: careful" in caplog.messages


def test_the_connect_client_logs_as_others_do_once_logging_is_configured(caplog, capfd):
    from pyspark.sql.connect.logging import logger

    quiet_client(remote=True)
    logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})  # as Airflow does for a task
    logger.warning("the server is gone")
    assert capfd.readouterr().err == ""
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [("WARNING", "the server is gone")]


def test_a_query_that_fails_is_an_exception_and_nothing_else(spark, caplog, capfd):
    quiet_client(remote=False)
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql("SELECT 1 / id FROM range(1)").collect()
    assert "QueryContext" not in capfd.readouterr().err
    assert not [record for record in caplog.records if "QueryContext" in record.name]


def test_a_jvm_that_does_not_start_says_why(tmp_path, monkeypatch, caplog):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'no Java here' >&2\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    open_files = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Exception, match="JAVA_GATEWAY_EXITED") as caught:
        launch_logged(SparkConf())
    assert "no Java here" in "".join(caught.value.__notes__)
    assert len(os.listdir("/proc/self/fd")) <= open_files + 1
