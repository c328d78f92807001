"""Read a table AS OF one SCN: its SELECT, built from the dictionary, and its rows as Arrow batches.

Types that Arrow cannot hold exactly are fetched as text, as redo SQL shows them: NUMBER without precision and FLOAT, which the
driver would fetch as doubles, fractional seconds beyond six digits, time zones, intervals and ROWIDs. XML, JSON and vectors are
fetched as text too. DATE and TIMESTAMP are where pipelines.yml says so, and where the driver cannot convert a value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from redolake.source.empty_objects import flags_of, with_empty_objects
from redolake.source.oracle import Source
from redolake.source.quoting import quote
from redolake.source.text_check import check_texts
from redolake.values.datatypes import AS_TEXT, DATES, NUMBER_TEXT
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import ROWID_NAME, OracleType, TableId, TypeRule

DATE_TEXT = "TO_CHAR({{0}}, 'SYYYY-MM-DD HH24:MI:SS{fraction}', 'NLS_CALENDAR=GREGORIAN')"
ARROW_FRACTION = 6
LARGE_OBJECT_ROWS = 50  # rows in memory at a time; each value may have up to 1 GB


NO_RULES: Mapping[str, TypeRule] = {}
NO_ITEMS: Mapping[str, str] = {}
DatesAsText = frozenset[str] | Literal["all"]  # names of columns in upper case


def select_item(column: DictionaryColumn, dates_as_text: DatesAsText = frozenset()) -> str:
    """Return the expression that fetches the column without loss, under its own name."""
    name = quote(column.name)
    is_text = dates_as_text == "all" or column.name.upper() in dates_as_text
    text = date_text(column.type) if is_text and column.type.name in DATES else _as_text(column.type)
    return name if text is None else f"{text.format(name)} AS {name}"


def _as_text(kind: OracleType) -> str | None:
    if kind.name == "NUMBER":
        # Oracle allows a scale above the precision, for numbers such as 0.00012. Arrow's decimals do, and Parquet's do not.
        fits = kind.precision is not None and 0 <= (kind.scale or 0) <= kind.precision
        return None if fits else NUMBER_TEXT
    if kind.name == "TIMESTAMP" and (kind.scale or 0) > ARROW_FRACTION:
        return date_text(kind)
    return AS_TEXT.get(kind.name)


def date_text(kind: OracleType) -> str:
    """Return the expression of a DATE or TIMESTAMP as text, which shows every value: also before Christ, or no date at all."""
    digits = 0 if kind.name == "DATE" else 6 if kind.scale is None else kind.scale
    return DATE_TEXT.format(fraction=f".FF{digits}" if digits else "")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the table: the clause that names a partition, the condition, and the condition's binds."""

    partition: str = ""
    condition: str = ""
    binds: Mapping[str, object] = field(default_factory=dict)


WHOLE = Part()


def snapshot_sql(
    table: DictionaryTable,
    *,
    ordered: bool = False,
    rowid: bool = False,
    dates_as_text: DatesAsText = frozenset(),
    part: Part = WHOLE,
    more: Mapping[str, str] = NO_ITEMS,
) -> str:
    """Return the SELECT AS OF SCN :scn, of all rows or of a part, with `more` expressions by name; ordered by key if `ordered`,
    for a row-by-row comparison."""
    items = [*(select_item(c, dates_as_text) for c in table.captured), *(flag.item for flag in flags_of(table.captured))]
    items += [f"{expression} AS {quote(name)}" for name, expression in more.items()]
    if rowid:
        items.append(f"ROWIDTOCHAR(ROWID) AS {quote(ROWID_NAME)}")
    columns = ",\n       ".join(items)
    source = f"{quote(table.in_oracle.owner)}.{quote(table.in_oracle.name)}"
    sql = f"SELECT {columns}\n  FROM {source}{part.partition} AS OF SCN :scn"
    if part.condition:
        sql += f"\n WHERE {part.condition}"
    if ordered and table.key:
        # Ordering by an alias or expression would sort the fetched text.
        sql += "\n ORDER BY " + ", ".join(f"{quote(name)}" for name in table.key)
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
    dates_as_text: DatesAsText = frozenset(),
    rules: Mapping[str, TypeRule] = NO_RULES,
    converted: Collection[str] = (),
    hidden: Collection[str] = (),
    part: Part = WHOLE,
    more: Mapping[str, str] = NO_ITEMS,
) -> Iterator[Any]:
    """Yield objects with the Arrow PyCapsule stream. The first is yielded even for an empty table and contains the columns.

    Raise ValueDoesNotFit when the driver cannot convert a value; with all dates as text it can. Raise TextNotValid for a text
    that is not valid UTF-8, or in which the server replaced bytes of a column `converted`, unless `rules` has one for it. No
    error has values of the columns `hidden`."""
    show_all_rows(source, table, container)
    if table.large_objects or table.documents or table.rereads_rows:
        fetch_rows = min(fetch_rows, LARGE_OBJECT_ROWS)
    sql = snapshot_sql(table, ordered=ordered, rowid=rowid, dates_as_text=dates_as_text, part=part, more=more)
    answers = source.arrow(sql, {"scn": int(scn), **part.binds}, fetch_rows, name=f"snapshot of {table.table}")
    answers = with_empty_objects(answers, flags_of(table.captured))
    shown = (ROWID_NAME,) if rowid else tuple(name for name in table.key if name not in hidden)
    yield from check_texts(answers, table.table, shown, rules, converted)


def counted_rows(source: Source, table: TableId, container: str | None) -> int | None:
    """Return how many rows the table had when its statistics were gathered; None if they never were."""
    source.use_container(container)
    found = source.query("counted_rows", owner=table.owner, table_name=table.name)
    return None if not found or found[0].num_rows is None else int(found[0].num_rows)


def show_all_rows(source: Source, table: DictionaryTable, container: str | None) -> None:
    """Use the container, and let the session read rows that row archival hides."""
    source.use_container(container)
    if any(column.kind == "archive" for column in table.ignored):
        source.call("show_archived_rows")
