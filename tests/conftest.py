"""Settings for all tests."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers must find this environment's packages
