"""The first copy of a table as of one SCN: its SELECT, built from the dictionary, and its rows as Arrow batches.

What Arrow cannot hold exactly is fetched as text: NUMBER without precision (the driver would make it a double), fractions
of a second beyond six digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.scn import Scn
from pipelines.source.oracle import Source
from pipelines.source.quoting import quoted
from pipelines.table import ROWID_NAME, DictionaryColumn, DictionaryTable, OracleType

NUMBER_TEXT = "TO_CHAR({0}, 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,''')"
TIMESTAMP_TEXT = "TO_CHAR({0}, 'YYYY-MM-DD HH24:MI:SS.FF9')"
ARROW_DIGITS, ARROW_FRACTION = 38, 6


def snapshot_columns(table: DictionaryTable) -> tuple[DictionaryColumn, ...]:
    """The columns that redo tells as well: stored ones that a user made."""
    return tuple(c for c in table.columns if not c.virtual and not c.hidden)


def fetched(column: DictionaryColumn) -> str:
    """The expression that brings the column over without loss, under its own name."""
    name = quoted(column.name)
    text = _as_text(column.type)
    return name if text is None else f"{text.format(name)} AS {name}"


def _as_text(kind: OracleType) -> str | None:
    if kind.name == "NUMBER":
        fits = kind.precision is not None and 0 <= (kind.scale or 0) <= ARROW_DIGITS
        return None if fits else NUMBER_TEXT
    if kind.name == "FLOAT":
        return NUMBER_TEXT
    if kind.name == "TIMESTAMP" and (kind.scale or 0) > ARROW_FRACTION:
        return TIMESTAMP_TEXT
    return None


def snapshot_sql(table: DictionaryTable, *, ordered: bool = False, rowid: bool = False) -> str:
    """One SELECT AS OF SCN :scn; by key when `ordered`, for a comparison row by row."""
    wanted = [fetched(c) for c in snapshot_columns(table)]
    if rowid:
        wanted.append(f"ROWIDTOCHAR(ROWID) AS {quoted(ROWID_NAME)}")
    columns = ",\n       ".join(wanted)
    source = f"{quoted(table.table.owner)}.{quoted(table.table.name)}"
    sql = f"SELECT {columns}\n  FROM {source} AS OF SCN :scn"
    if ordered and table.key:
        # Through an alias or an expression the order would be that of the fetched text.
        sql += "\n ORDER BY " + ", ".join(f"{quoted(name)}" for name in table.key)
    return sql


def read_snapshot(
    source: Source,
    table: DictionaryTable,
    scn: Scn,
    fetch_rows: int,
    *,
    container: str | None = None,
    ordered: bool = False,
    rowid: bool = False,
) -> Iterator[Any]:
    """Objects that offer the Arrow PyCapsule stream. The first comes even for an empty table and tells the columns."""
    source.use_container(container)
    sql = snapshot_sql(table, ordered=ordered, rowid=rowid)
    yield from source.arrow(sql, {"scn": int(scn)}, fetch_rows, name=f"snapshot of {table.table}")
