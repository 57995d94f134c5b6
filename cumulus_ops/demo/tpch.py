"""TPC-H tables by the ``tpchgen-cli`` program, identical to the official generator's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.project.errors import InputProblem, SetupProblem

__all__ = ["TABLES", "generate_tables", "plain_schema", "read_table"]

TABLES = ("region", "nation", "customer", "supplier", "part", "partsupp", "orders", "lineitem")
MARKER = "tables.json"


def generate_tables(folder: Path, scale_factor: float) -> Path:
    """Makes ``<folder>/<table>.parquet`` for all eight tables, unless they are there already.

    The folder appears by one rename, complete.

    Returns:
        ``folder``.

    Raises:
        SetupProblem: ``tpchgen-cli`` is not installed, or fails.
        InputProblem: the folder holds something else, e.g. tables of another scale factor.
    """
    if folder.exists():
        marker = folder / MARKER
        found = json.loads(marker.read_text())["scale_factor"] if marker.is_file() else None
        if found == scale_factor:
            return folder
        what = f"tables of scale factor {found}" if found is not None else "something else"
        raise InputProblem(
            f"holds {what}, not tables of scale factor {scale_factor}",
            kind="other-tables",
            place=str(folder),
            hint="remove the folder or choose another",
        )
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        beside = Path(sys.executable).with_name("tpchgen-cli")
        program = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
        if program is None:
            raise SetupProblem("tpchgen-cli is not installed", kind="no-tpchgen", hint="pip install tpchgen-cli")
        command = [program, "parquet", "--scale-factor", str(scale_factor), "--output-dir", str(temporary)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not all((temporary / f"{table}.parquet").is_file() for table in TABLES):
            raise SetupProblem(
                f"tpchgen-cli failed: {done.stderr.strip()[-500:]}",
                kind="tpchgen-failed",
                place=str(temporary),
                hint="check the scale factor and the free space on the disk",
            )
        (temporary / MARKER).write_text(json.dumps({"scale_factor": scale_factor}))
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The generator's types as sources deliver them: int64, DECIMAL(15, 2), string, date32."""
    fields = []
    for name, type_ in ((field.name, field.type) for field in schema):
        plain = pa.string() if pa.types.is_string_view(type_) else type_
        fields.append((name, pa.int64() if pa.types.is_integer(type_) else plain))
    return pa.schema(fields)


def read_table(folder: Path, table: str) -> pa.Table:
    """One table in :func:`plain_schema`."""
    raw = pq.read_table(folder / f"{table}.parquet")
    return raw.cast(plain_schema(raw.schema))
