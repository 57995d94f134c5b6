"""Cumulus: SQL aggregates over changing data, always fresh, periodically consistent, proven right."""

import os

# Before pyarrow is imported, which looks at it then; for the processes of Spark that this one starts, too (decision 0099).
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

from cumulus_ops import regexes
from m3.functions import search_with

search_with(regexes)
