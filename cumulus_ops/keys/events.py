"""The columns of checked events, as :mod:`cumulus_ops.eventlog.types` has them; this package is below it."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["OFFSET", "REJECTED_SCHEMA", "ROW", "SIGN"]

SIGN, OFFSET, ROW = "_sign", "_offset", "_row"
REJECTED_SCHEMA = pa.schema(
    [("kind", pa.string()), ("reason", pa.string()), ("row", pa.int64()), ("record", pa.string())]
)
