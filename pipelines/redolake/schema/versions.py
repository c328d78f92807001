"""Table versions: the first one from the dictionary, the one that is valid at an SCN, and their form as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redolake.errors import SchemaConflict
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import (
    ALL_COLUMNS,
    PRIMARY,
    ROWID_COLUMN,
    Column,
    ColumnChoice,
    KeyPolicy,
    OracleType,
    TableVersion,
    UniqueIndex,
    valid_of,
)


def baseline(
    table: DictionaryTable,
    scn: Scn,
    previous: TableVersion | None = None,
    policy: KeyPolicy = PRIMARY,
    choice: ColumnChoice = ALL_COLUMNS,
) -> TableVersion:
    """Return the version that the dictionary describes, valid from `scn`. The table is without the columns that `choice`
    leaves out.

    With `previous`, columns of the same name and type keep their ids, and new ones get ids that were never used. Raises
    SchemaConflict for a table that a version cannot describe.
    """
    require_known_storage(table)
    next_id = 1 if previous is None else previous.next_column_id
    columns = []
    for column in table.captured:
        kept = None if previous is None else previous.named(column.name)
        if kept is not None and same_type(kept.type, column.type):
            id_ = kept.id
        else:
            id_, next_id = next_id, next_id + 1
        columns.append(Column(id_, column.name, column.type, column.segment_id or 0, column.nullable, column.has_default))
    ids = {column.name: column.id for column in columns}
    return TableVersion(
        table=table.table,
        from_scn=scn,
        object_id=table.object_id,
        data_object_id=table.data_object_id,
        columns=tuple(columns),
        key=_key(table, ids, policy),
        next_column_id=next_id,
        key_kind=policy.kind,
        key_index=next((index.object_id for index in key_indexes(table, policy.columns)), None),
        ignored=table.ignored,
        parts=table.parts,
        organization=table.organization,
        key_constraint=table.key_constraint,
        choice=choice,
        renamed_to=table.renamed_to,
        definitions=tuple((ids[name], text) for name, text in table.definitions if name in ids),
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


def require_known_storage(table: DictionaryTable) -> None:
    """Raise SchemaConflict for a hidden stored column of a kind that a version cannot describe."""
    for column in table.unknown_storage:
        raise SchemaConflict(
            f"the segment contains hidden column {column.name} ({column.type}), which may store another column's value",
            cure=f"leave the object or XMLTYPE column out (`exclude_columns`, or `unsupported_columns: exclude`), or remove "
            f"{table.table} from `tables`",
            table=table.table,
        )


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
    valid = valid_of(versions, scn)
    if valid is None:
        table = versions[0].table if versions else None
        raise SchemaConflict(
            "no version of the table is known for this SCN",
            cure=f"run `redolake snapshot {table} --replace`" if table else "capture the table first",
            table=table,
            scn=scn,
        )
    return valid


def version_as_of(versions: Sequence[TableVersion], scn: int) -> TableVersion:
    """Return the version that a table has AS OF an SCN. The first counts from the beginning: rows are older than it."""
    return valid_at(versions, max(scn, versions[0].from_scn))


def versions_before(versions: Sequence[TableVersion], scn: int) -> tuple[TableVersion, ...]:
    """Return the versions below `scn`, or the first one if there is none."""
    before = tuple(version for version in versions if version.from_scn < scn)
    return before or tuple(versions[:1])
