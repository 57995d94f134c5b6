"""What Spark says, as log records of this process like all others.

A Java process that PySpark starts writes to this process's standard error: greetings, warnings, and the errors of its Python workers, all
alike. Airflow logs as an error whatever a task writes there. So the stream is read, and each line is logged with the level that
Spark's own pattern gives it. The Connect client has a logger, which is silent until somebody configures logging, as Airflow does for each
task; then it writes to standard error, too.
"""

from __future__ import annotations

import logging
import os
import re
from collections import deque
from collections.abc import Iterable
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkConf

__all__ = ["launch_logged", "log_lines", "quiet_client"]

log = logging.getLogger("cumulus_ops.spark")
#: Spark's pattern: date, time, level, class: message.
PATTERN = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (.*)")
LEVELS = {"TRACE": logging.DEBUG, "WARN": logging.WARNING, "FATAL": logging.CRITICAL}
QUERIES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
ASKED = "SPARK_CONNECT_LOG_LEVEL"
JOIN_S = 5.0
REMEMBERED = 20  # lines, for when it does not start


def quiet_client(*, remote: bool) -> None:
    """Have nothing of PySpark write to standard error by itself. The Connect client's records go where all others go, with their levels,
    unless somebody has asked for them where they are, by SPARK_CONNECT_LOG_LEVEL. Each failing query is an exception already, of
    which whoever catches it says what is to be said: it need not be logged when it is made."""
    from pyspark.logger import PySparkLogger

    if remote and ASKED not in os.environ:
        from pyspark.sql.connect.logging import logger as client

        _without_handlers(client)
    for name in QUERIES:
        logger = PySparkLogger.getLogger(name)
        _without_handlers(logger)
        logging.Logger.addHandler(logger, logging.NullHandler())


def _without_handlers(logger: logging.Logger) -> None:
    for handler in list(logger.handlers):
        logger.removeHandler(handler)


def launch_logged(conf: SparkConf) -> Any:
    """Start the JVM of a classic session, and give the gateway to it; what it says from now on is logged.

    Raises:
        PySparkRuntimeError: it did not start, with what it said as a note.
    """
    from pyspark.java_gateway import launch_gateway

    reading, writing = os.pipe()
    last: deque[str] = deque(maxlen=REMEMBERED)
    reader = Thread(target=_read, args=(os.fdopen(reading, errors="replace"), last), name="spark log", daemon=True)
    reader.start()
    try:
        gateway = launch_gateway(conf, popen_kwargs={"stderr": writing})
    except Exception as error:
        os.close(writing)
        reader.join(JOIN_S)
        error.add_note("\n".join(last))
        raise
    os.close(writing)  # the JVM has its own
    return gateway


def _read(stream: IO[str], last: deque[str]) -> None:
    with stream:
        log_lines(_remembered(stream, last))


def _remembered(lines: Iterable[str], last: deque[str]) -> Iterable[str]:
    for line in lines:
        last.append(line.rstrip())
        yield line


def log_lines(lines: Iterable[str]) -> None:
    """Log lines with their levels; one without a level belongs to the line before, and what comes before all levels is no news."""
    level = logging.INFO
    for line in lines:
        found = PATTERN.match(line)
        if found is not None:
            level = LEVELS.get(found[1]) or logging.getLevelNamesMapping()[found[1]]
        text = found[2] if found else line.rstrip()
        if text:
            log.log(level, "%s", text)
