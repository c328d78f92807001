"""Captured tables as the dictionary tells them, read so that no DDL can have fallen between the parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from pipelines.errors import SourceBusy
from pipelines.scn import Scn
from pipelines.source.facts import read_current_scn
from pipelines.source.oracle import Source
from pipelines.table import DictionaryColumn, DictionaryTable, OracleType, TableId, UniqueIndex

READINGS = 5
IN_CHARACTERS = frozenset({"CHAR", "VARCHAR2", "NCHAR", "NVARCHAR2"})
IN_BYTES = frozenset({"RAW"})
SIZED = re.compile(r"\((\d+)\)")

_Reading = tuple[Any, Any, list[Any], list[Any], list[Any], list[Any]]
_Readings = dict[TableId, _Reading | None]
Moment = TypeVar("Moment")


def read_tables(source: Source, ids: Iterable[TableId], container: str | None = None) -> dict[TableId, DictionaryTable]:
    """Those of `ids` that exist and may be seen; the others are left out of the answer."""
    source.use_container(container)
    found = ((table, read_table(source, table)) for table in ids)
    return {table: read for table, read in found if read is not None}


def read_table(source: Source, table: TableId) -> DictionaryTable | None:
    """As of one SCN, that between two readings that agree."""
    scn, found = read_tables_over(source, [table], read_current_scn)
    return found(scn).get(table)


def read_tables_over(
    source: Source, ids: Sequence[TableId], between: Callable[[Source], Moment], container: str | None = None
) -> tuple[Moment, Callable[[Scn], dict[TableId, DictionaryTable]]]:
    """What `between` found, and the tables as of any SCN it read: they are read before and after it until both readings agree.

    LAST_DDL_TIME is part of a reading, for a column added and dropped in between leaves the same columns. `between` may change
    the container.
    """
    before = _readings(source, ids, container)
    for _ in range(READINGS):
        moment = between(source)
        after = _readings(source, ids, container)
        if before == after:
            return moment, partial(_tables, after)
        before = after
    names = ", ".join(str(table) for table in ids)
    raise SourceBusy(
        "a captured table is being altered again and again", cure="let the DDL end; it is tried again", table=names
    )


def _readings(source: Source, ids: Sequence[TableId], container: str | None) -> _Readings:
    if container is not None:
        source.use_container(container)
    return {table: _read(source, table) for table in ids}


def _tables(readings: _Readings, scn: Scn) -> dict[TableId, DictionaryTable]:
    return {table: _table(table, reading, scn, scn) for table, reading in readings.items() if reading is not None}


def _read(source: Source, table: TableId) -> _Reading | None:
    binds = {"owner": table.owner, "name": table.name}
    objects, kinds = source.query("table_object", **binds), source.query("table_kind", **binds)
    if not objects or not kinds:
        return None
    columns, indexes = source.query("table_columns", **binds), source.query("table_unique_indexes", **binds)
    key, groups = source.query("table_key", **binds), source.query("table_log_groups", **binds)
    return objects[0], kinds[0], columns, key, groups, indexes


def _table(table: TableId, reading: _Reading, before: Scn, after: Scn) -> DictionaryTable:
    about, kind, columns, key, groups, indexes = reading
    return DictionaryTable(
        table=table,
        object_id=int(about.object_id),
        # A partitioned, temporary or external table has no segment of its own.
        data_object_id=int(about.data_object_id or about.object_id),
        columns=tuple(map(_column, columns)),
        key=tuple(row.column_name for row in key),
        log_groups=frozenset(row.log_group_type for row in groups),
        scn_before=before,
        scn_after=after,
        partitioned=kind.partitioned == "YES",
        iot=kind.iot_type is not None,
        temporary=kind.temporary == "Y",
        unique=_unique(indexes),
        clustered=kind.cluster_name is not None,
        external=kind.external == "YES",
        logging=kind.logging != "NO",
    )


def _unique(rows: list[Any]) -> tuple[UniqueIndex, ...]:
    """One row per column, those of an index beside each other."""
    return tuple(
        UniqueIndex(name, _number(object_id), tuple(row.column_name for row in columns))
        for (name, object_id), columns in groupby(rows, key=lambda row: (row.index_name, row.object_id))
    )


def _column(row: Any) -> DictionaryColumn:
    return DictionaryColumn(
        name=row.column_name,
        type=oracle_type(row.data_type, row.data_length, row.char_length, row.data_precision, row.data_scale),
        segment_id=_number(row.segment_column_id),
        column_id=_number(row.column_id),
        nullable=row.nullable == "Y",
        hidden=row.hidden_column == "YES",
        virtual=row.virtual_column == "YES",
        has_default=bool(row.default_length),
    )


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def oracle_type(
    data_type: str, data_length: int | None, char_length: int | None, precision: int | None, scale: int | None
) -> OracleType:
    """DATA_TYPE's bare word with what ALL_TAB_COLS says about its size.

    TIMESTAMP(p) and the intervals carry their digits in the word itself; NUMBER(*, s) has a scale but no precision.
    """
    name = SIZED.sub("", data_type)
    if name in IN_CHARACTERS:
        return OracleType(name, length=_number(char_length))
    if name in IN_BYTES:
        return OracleType(name, length=_number(data_length))
    if name == "NUMBER":
        if precision is None and scale is None:
            return OracleType(name)
        return OracleType(name, precision=38 if precision is None else int(precision), scale=int(scale or 0))
    if name == "FLOAT":
        return OracleType(name, precision=_number(precision))
    digits = SIZED.findall(data_type)
    if name.startswith("INTERVAL"):
        return OracleType(name, precision=_number(precision), scale=int(digits[-1]) if "SECOND" in name and digits else None)
    return OracleType(name, scale=int(digits[0]) if digits else None)
