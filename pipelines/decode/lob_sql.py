"""Rows about large objects: PL/SQL that selects a locator, and writes through it. Here only the row that it selects is read;
lob_pieces reads the rest."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.redo import LARGE_OBJECT_CHANGES, Operation

# The text begins with the declarations, so a value that looks like a SELECT is not taken for one.
SELECT = re.compile(
    r"""\s*DECLARE\s[^'"]*?BEGIN\s+select\s+"(?P<column>[^"]+)"\s+into\s+loc_(?P<letter>c|b|nc)\s+"""
    r"""(?P<row>from\s+"[^"]+"\."[^"]+"(?:[^']|'[^']*')*?)\s+for\s+update;""",
    re.S,
)


def read_as_deletes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the redo with each row about a large object as the DELETE of the row that it selects: WHERE is all that it has in
    common with a statement. A text without a SELECT stays as it is, and cannot be parsed."""
    is_object = pc.is_in(batch.column("operation_code"), pa.array(LARGE_OBJECT_CHANGES, pa.int32()))
    numbers = np.flatnonzero(is_object.fill_null(False).to_numpy(zero_copy_only=False)).tolist()
    if not numbers:
        return batch
    texts = batch.column("sql_redo").to_pylist()
    for number in numbers:
        found = SELECT.match(texts[number] or "")
        texts[number] = f"delete {found['row']}" if found else texts[number]
    rewritten = {
        "sql_redo": pa.array(texts, batch.schema.field("sql_redo").type),
        "operation_code": pc.if_else(is_object, pa.scalar(int(Operation.DELETE), pa.int32()), batch.column("operation_code")),
        # STATUS 2 says that the text cannot be executed, and not that columns have no names.
        "status": pc.if_else(is_object, pa.scalar(0, pa.int32()), batch.column("status")),
    }
    for name, column in rewritten.items():
        batch = batch.set_column(batch.schema.get_field_index(name), batch.schema.field(name), column)
    return batch
