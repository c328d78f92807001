"""Read a table AS OF one SCN: its SELECT, built from the dictionary, and its rows as Arrow batches.

Types that Arrow cannot hold exactly are fetched as text: NUMBER without precision, which the driver would fetch as a double,
and fractional seconds beyond six digits.
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


def select_item(column: DictionaryColumn) -> str:
    """Return the expression that fetches the column without loss, under its own name."""
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
    """Return the SELECT AS OF SCN :scn; ordered by key if `ordered`, for a row-by-row comparison."""
    items = [select_item(c) for c in table.captured]
    if rowid:
        items.append(f"ROWIDTOCHAR(ROWID) AS {quoted(ROWID_NAME)}")
    columns = ",\n       ".join(items)
    source = f"{quoted(table.table.owner)}.{quoted(table.table.name)}"
    sql = f"SELECT {columns}\n  FROM {source} AS OF SCN :scn"
    if ordered and table.key:
        # Ordering by an alias or expression would sort the fetched text.
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
    """Yield objects with the Arrow PyCapsule stream. The first is yielded even for an empty table and contains the columns."""
    source.use_container(container)
    if any(column.kind == "archive" for column in table.ignored):
        source.call("show_archived_rows")
    sql = snapshot_sql(table, ordered=ordered, rowid=rowid)
    yield from source.arrow(sql, {"scn": int(scn)}, fetch_rows, name=f"snapshot of {table.table}")
