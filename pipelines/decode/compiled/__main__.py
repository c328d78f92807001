"""Compile the kernels and keep them: `python -m pipelines.decode.compiled`, in an image or after an installation."""

from __future__ import annotations

import sys

import pyarrow as pa

from pipelines.decode.compiled.changes import decode_compiled
from pipelines.decode.compiled.jit import is_kept
from pipelines.values.scn import Scn
from pipelines.values.table import Column, OracleType, TableId, TableVersion


def main() -> int:
    column = Column(1, "ID", OracleType("NUMBER", 22, 9, 0), 1)
    text = """delete from "S"."T" where "ID" = '1';"""
    row = {"sql_redo": text, "status": 0, "info": None, "operation_code": 2, "rollback": 0}
    batch = pa.RecordBatch.from_pylist([row])
    decode_compiled(batch, TableVersion(TableId("S", "T"), Scn(1), 1, 1, (column,), (1,), 2), {})
    if not is_kept():
        sys.stderr.write(
            "the kernels were compiled and could not be kept: set NUMBA_CACHE_DIR to a folder that can be written\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
