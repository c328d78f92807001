"""How large objects are stored: what is not logged, or not logged as it is, cannot be assembled from the redo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redolake.errors import Finding
from redolake.source.dictionary import query_tables
from redolake.source.oracle import Source
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import ColumnChoice, TableId

OPTIONS = {"compression": "compressed", "deduplication": "deduplicated", "encrypt": "encrypted"}  # of a SecureFile


@dataclass(frozen=True, slots=True)
class StoredObject:
    column: str
    is_securefile: bool
    is_logged: bool
    options: tuple[str, ...] = ()
    is_ever_in_row: bool = True


def read_stored_objects(source: Source, tables: Sequence[TableId]) -> dict[TableId, tuple[StoredObject, ...]]:
    """Return how the large objects of the tables are stored."""
    return {
        table: tuple(
            StoredObject(
                row.column_name,
                row.securefile == "YES",
                row.logging != "NO",
                tuple(word for name, word in OPTIONS.items() if getattr(row, name) not in ("NO", "NONE", None)),
                row.in_row != "NO",
            )
            for row in rows
        )
        for table, rows in (query_tables(source, "table_lobs", tables) if tables else {}).items()
    }


def stored_findings(
    table: DictionaryTable, choice: ColumnChoice, stored: Sequence[StoredObject], *, forces_logging: bool
) -> Iterator[Finding]:
    """Check that the redo contains the large objects that are assembled, as they are, and say what will happen with each."""
    captured = {column.name for column in table.large_objects if choice.assembles and not choice.excludes(column.name)}
    for one in stored:
        subject = f"{table.table}.{one.column}"
        unlogged = () if one.is_logged or forces_logging else ("stored NOLOGGING",)
        # LogMiner shows no locator of these, so their writes name no row (redpanda-data/connect #4430).
        nameless = () if one.is_securefile or one.is_ever_in_row else ("BasicFiles with DISABLE STORAGE IN ROW",)
        if one.column not in captured:
            continue
        if reasons := (*unlogged, *nameless, *one.options):
            what = f"large objects are {' and '.join(reasons)}, and LogMiner may not show their changes as they are"
            yield Finding(subject, what, "`large_objects: reread` of the table, or leave the column out")
        else:
            kind = "SecureFile" if one.is_securefile else "BasicFile"
            what = f"assembled from the redo: INSERT, UPDATE, and each write, trim and erase of the {kind}"
            yield Finding(subject, what, severity="note")
