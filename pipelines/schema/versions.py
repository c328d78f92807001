"""Table versions: the first one from the dictionary, the one that is valid at an SCN, and their form as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipelines.errors import SchemaConflict
from pipelines.scn import Scn
from pipelines.table import (
    PRIMARY,
    ROWID_COLUMN,
    Column,
    DictionaryColumn,
    DictionaryTable,
    KeyPolicy,
    OracleType,
    TableVersion,
    UniqueIndex,
)

# Names that Oracle generates: unused columns (SYS_C00005_19021211:12:13$), guard columns of ADD .. DEFAULT and attributes of
# objects (SYS_NC00009$), row archival, object-relational storage.
SYSTEM_COLUMN = re.compile(r"SYS_\w.*\$|SYS_ST\w+|ORA_ARCHIVE_STATE|M_ROW\$\$")


def baseline(
    table: DictionaryTable, scn: Scn, previous: TableVersion | None = None, policy: KeyPolicy = PRIMARY
) -> TableVersion:
    """Return the version that the dictionary describes, valid from `scn`.

    With `previous`, columns of the same name and type keep their ids, and new ones get ids that were never used. Raises
    SchemaConflict for a table that a version cannot describe.
    """
    stored = stored_columns(table)
    next_id = 1 if previous is None else previous.next_column_id
    columns = []
    for column in stored:
        kept = None if previous is None else previous.named(column.name)
        if kept is not None and same_type(kept.type, column.type):
            id_ = kept.id
        else:
            id_, next_id = next_id, next_id + 1
        columns.append(Column(id_, column.name, column.type, column.segment_id or 0, column.nullable, column.has_default))
    return TableVersion(
        table=table.table,
        from_scn=scn,
        object_id=table.object_id,
        data_object_id=table.data_object_id,
        columns=tuple(columns),
        key=_key(table, {column.name: column.id for column in columns}, policy),
        next_column_id=next_id,
        key_kind=policy.kind,
        key_index=next((index.object_id for index in key_indexes(table, policy.columns)), None),
    )


def _key(table: DictionaryTable, ids: Mapping[str, int], policy: KeyPolicy) -> tuple[int, ...]:
    if policy.kind == "rowid":
        return (ROWID_COLUMN,)
    names = {"primary": table.key, "columns": policy.columns, "append": ()}[policy.kind]
    missing = [name for name in names if name not in ids]
    if missing:
        raise SchemaConflict(
            f"the key ({policy}) contains a column that is not stored: {', '.join(missing)}",
            cure="leave the table out, or give it a key of stored columns",
            table=table.table,
        )
    return tuple(ids[name] for name in names)


def key_indexes(table: DictionaryTable, columns: Sequence[str]) -> list[UniqueIndex]:
    """Return the unique indexes on exactly these columns, in any order, none of which may be NULL."""
    return [index for index in table.key_candidates if set(index.columns) == set(columns)]


def stored_columns(table: DictionaryTable) -> list[DictionaryColumn]:
    """Return the columns in the segment, in its order: without virtual ones, with invisible ones of users.

    Raises SchemaConflict for a hidden column that Oracle generated.
    """
    stored = [column for column in table.columns if not column.virtual and column.segment_id is not None]
    for column in stored:
        if SYSTEM_COLUMN.fullmatch(column.name) and (column.hidden or column.column_id is None):
            raise SchemaConflict(
                f"the segment contains hidden column {column.name}, which is not supported yet",
                cure="drop it (for unused columns: ALTER TABLE .. DROP UNUSED COLUMNS) and run "
                f"`redolake snapshot {table.table} --replace`; or remove the table from `tables`",
                table=table.table,
            )
    return sorted(stored, key=lambda column: column.segment_id or 0)


def same_type(a: OracleType, b: OracleType) -> bool:
    """Return whether two types have the same values in the same form.

    The maximum length of a text is not compared: the dictionary may report it in bytes or in characters.
    """
    return _comparable(a) == _comparable(b)


def _comparable(type_: OracleType) -> tuple[object, ...]:
    if type_.name == "NUMBER":
        if type_.precision is None and type_.scale is None:
            return (type_.name,)
        return (type_.name, 38 if type_.precision is None else type_.precision, type_.scale or 0)
    if type_.name == "FLOAT":
        return (type_.name, 126 if type_.precision is None else type_.precision)
    if type_.name.startswith("TIMESTAMP"):
        return (type_.name, 6 if type_.scale is None else type_.scale)
    return (type_.name,)


def valid_at(versions: Sequence[TableVersion], scn: int) -> TableVersion:
    """Return the version for a change of that SCN. Raises SchemaConflict for a change that is older than every version."""
    valid = [version for version in versions if version.from_scn <= scn]
    if not valid:
        table = versions[0].table if versions else None
        raise SchemaConflict(
            "no version of the table is known for this SCN",
            cure=f"run `redolake snapshot {table} --replace`" if table else "capture the table first",
            table=table,
            scn=scn,
        )
    return max(valid, key=lambda version: version.from_scn)


def versions_before(versions: Sequence[TableVersion], scn: int) -> tuple[TableVersion, ...]:
    """Return the versions below `scn`, or the first one if there is none."""
    before = tuple(version for version in versions if version.from_scn < scn)
    return before or tuple(versions[:1])
