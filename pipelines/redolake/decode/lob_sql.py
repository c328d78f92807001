"""Rows about large objects: PL/SQL that selects a locator, and writes through it; and the first row of a document.

Here only the row that it selects is read; lob_pieces reads the rest."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.values.logminer import LARGE_OBJECT_CHANGES, PARTS_OF_VALUES, Mined
from redolake.values.redo import Operation

# The text begins with the declarations, so a value that looks like a SELECT is not taken for one.
SELECT = re.compile(
    r"""\s*DECLARE\s[^'"]*?BEGIN\s+select\s+"(?P<column>[^"]+)"\s+into\s+loc_(?P<letter>c|b|nc)\s+"""
    r"""(?P<row>from\s+"[^"]+"\."[^"]+"(?:[^']|'[^']*')*?)\s+for\s+update;""",
    re.S,
)

# Of a document stored in binary form, or as text.
_ROW = r"""(?P<row>{table}(?: where (?:[^']|'[^']*')*)?)"""
DOCUMENT = re.compile(r'XML DOC BEGIN:\s+select "(?P<column>[^"]+)" ' + _ROW.format(table=r'from "[^"]+"\."[^"]+"'), re.S)
TEXT_DOCUMENT = re.compile(
    r'update (?P<table>"[^"]+"\."[^"]+" a) set a\."(?P<column>[^"]+)" = XMLType\(:1\) ?' + _ROW.format(table=""),
    re.S,
)
# The text of the statement is in a literal: quotes inside are doubled once more.
LONG_VALUE = re.compile(r"\s*DECLARE\s[^']*?BEGIN\s[^']*?Stmt := '(?P<statement>(?:[^']|'')*)';\s*", re.S)
_OF_LONG_VALUE = re.compile(
    r'update (?P<table>"[^"]+"\."[^"]+"(?: a)?) set (?:a\.)?"(?P<column>[^"]+)" = :\S+' + _ROW.format(table="") + ";?", re.S
)


def row_of(code: int, sql: str | None) -> str | None:
    """Return the table and the condition of the row that the text selects; None without one."""
    if sql is None or code in PARTS_OF_VALUES:
        return None
    if code == Mined.LONG_VALUE_BEGIN:
        literal = LONG_VALUE.fullmatch(sql)
        found = _OF_LONG_VALUE.fullmatch(literal["statement"].replace("''", "'")) if literal else None
        return f"from {found['table']}{found['row']}" if found else None
    if code != Mined.XML_DOC_BEGIN:
        found = SELECT.match(sql)
        return found["row"] if found else None
    if found := DOCUMENT.fullmatch(sql):
        return found["row"]
    found = TEXT_DOCUMENT.fullmatch(sql)
    return f"from {found['table']}{found['row']}" if found else None


def read_as_deletes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the redo with each row about a large object as the DELETE of the row that it selects: WHERE is all that it has in
    common with a statement. A text without a SELECT is left out."""
    is_object = pc.is_in(batch.column("operation_code"), pa.array(LARGE_OBJECT_CHANGES, pa.int32()))
    numbers = np.flatnonzero(is_object.fill_null(False).to_numpy(zero_copy_only=False)).tolist()
    if not numbers:
        return batch
    texts, codes = (batch.column(name).to_pylist() for name in ("sql_redo", "operation_code"))
    for number in numbers:
        row = row_of(codes[number], texts[number])
        texts[number] = None if row is None else f"delete {row}"
    rewritten = {
        "sql_redo": pa.array(texts, batch.schema.field("sql_redo").type),
        "operation_code": pc.if_else(is_object, pa.scalar(int(Operation.DELETE), pa.int32()), batch.column("operation_code")),
        # STATUS 2 says that the text cannot be executed, and not that columns have no names.
        "status": pc.if_else(is_object, pa.scalar(0, pa.int32()), batch.column("status")),
    }
    for name, column in rewritten.items():
        batch = batch.set_column(batch.schema.get_field_index(name), batch.schema.field(name), column)
    return batch
