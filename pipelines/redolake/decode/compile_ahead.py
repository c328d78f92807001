"""Compile the kernels before a batch needs them, and keep them."""

from __future__ import annotations

import pyarrow as pa

from redolake.decode.choice import why_plain
from redolake.errors import ConfigurationError, Finding
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion


def compile_ahead() -> str:
    """Compile the kernels unless they are kept already; return the folder. Raises ConfigurationError where they can't be."""
    if (reason := why_plain()) is not None:
        cure = "pip install 'redolake[compiled]', and leave NUMBA_DISABLE_JIT unset"
        raise ConfigurationError([Finding("compiled loops", reason, cure)])
    from redolake.decode.compiled.changes import decode_compiled
    from redolake.decode.compiled.jit import kept_in

    column = Column(1, "ID", OracleType("NUMBER", 22, 9, 0), 1)
    text = """delete from "S"."T" where "ID" = '1';"""
    row = {"sql_redo": text, "status": 0, "info": None, "operation_code": 2, "rollback": 0}
    batch = pa.RecordBatch.from_pylist([row])
    decode_compiled(batch, TableVersion(TableId("S", "T"), Scn(1), 1, 1, (column,), (1,), 2), {})
    folder = kept_in()
    if folder is None:
        what = "they were compiled and could not be kept: no folder for them can be written"
        raise ConfigurationError([Finding("compiled loops", what, "set NUMBA_CACHE_DIR to a folder that can be written")])
    return folder
