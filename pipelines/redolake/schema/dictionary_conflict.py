"""Compare the version derived from the redo with the dictionary, and report the first difference with its cure.

Column ids (which are ours), lengths of texts, virtual columns, and NOT NULL of columns outside the key are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redolake.errors import SchemaConflict
from redolake.schema.ddl_statement import ReadingAfter
from redolake.schema.versions import key_indexes, require_known_storage, same_type
from redolake.values.ddl_policies import PolicyName
from redolake.values.delivery import delivery_of
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import IgnoredColumn, TableVersion


def conflict_with_dictionary(derived: TableVersion, dictionary: DictionaryTable) -> SchemaConflict | None:
    """Return the first difference as an error, or None. `derived` must be valid at the SCN of the dictionary reading."""
    if delivery_of(derived).rereads == "rows":
        dictionary = dictionary.with_stored_types()
    dictionary = dictionary.without(derived.left_out)
    try:
        require_known_storage(dictionary)
    except SchemaConflict as error:
        return error
    difference = _difference(derived, dictionary)
    if difference is None:
        return None
    return SchemaConflict(
        f"the table derived from the redo differs from the dictionary: {difference}",
        cure=f"run `redolake snapshot {derived.table} --replace`, which takes the columns from the dictionary",
        table=derived.table,
        scn=dictionary.scn_before,
        policy=_policy(derived, dictionary),
    )


def _policy(derived: TableVersion, dictionary: DictionaryTable) -> PolicyName:
    """Return which setting of `on_ddl` may answer the difference."""
    if derived.object_id not in (0, dictionary.object_id):
        return "recreate"
    return "primary_key" if key_difference(derived, dictionary) else "unknown_ddl"


def _difference(derived: TableVersion, dictionary: DictionaryTable) -> str | None:
    expected = {column.name: column for column in dictionary.captured}
    derived_columns = {column.name: column for column in derived.columns}
    for name in expected:
        if name not in derived_columns:
            return f"the dictionary has column {name}, which no DDL in the redo added"
    for name, column in derived_columns.items():
        if name not in expected:
            return f"column {name} is not in the dictionary"
        other = expected[name]
        if not same_type(column.type, other.type):
            return f"column {name} is {column.type}, in the dictionary {other.type}"
        if column.segment_id != other.segment_id:
            return f"column {name} has SEGMENT_COLUMN_ID {column.segment_id}, in the dictionary {other.segment_id}"
    if altered := _altered_type(derived, dictionary):
        return f"the type of column {altered} was altered: rows that did not change since may have other attributes"
    hidden = _kinds_by_segment(derived.ignored), _kinds_by_segment(dictionary.ignored)
    if hidden[0] != hidden[1]:
        return f"the segment has hidden columns {_list(hidden[0])}, in the dictionary {_list(hidden[1])}"
    ids = (
        ("OBJECT_ID", derived.object_id, dictionary.object_id),
        ("DATA_OBJECT_ID", derived.data_object_id, dictionary.data_object_id),
    )
    # A DATA_OBJECT_ID of 0 is not known: a statement has changed it, and the dictionary was not read since.
    changed = next((f"{what} is {old}, in the dictionary {new}" for what, old, new in ids if old not in (0, new)), None)
    return key_difference(derived, dictionary) or changed


def _altered_type(derived: TableVersion, dictionary: DictionaryTable) -> str | None:
    """Return a column whose type ALTER TYPE has changed since the version. The redo of the table shows no DDL of it."""
    now = dict(dictionary.definitions)
    named = ((derived.column(id_).name, text) for id_, text in derived.definitions)
    return next((name for name, text in named if now.get(name, text) != text), None)


def guard_conflict(derived: TableVersion, reading_after: ReadingAfter) -> SchemaConflict | None:
    """Return an error if the derived version has a guard column and a later dictionary has none.

    No DDL text says whether Oracle drops the guard with the last column that it guards. A table has one or none, so a later
    DDL does not explain its absence.
    """
    guard = next((column for column in derived.ignored if column.kind == "guard"), None)
    later = None if guard is None else reading_after(derived.from_scn)
    if guard is None or later is None or later.object_id != derived.object_id:
        return None
    if any(column.kind == "guard" for column in later.ignored):
        return None
    return SchemaConflict(
        f"the hidden guard column with SEGMENT_COLUMN_ID {guard.segment_id} is no longer in the dictionary: rows that LogMiner "
        "shows as COL n could be read wrongly",
        cure=f"run `redolake snapshot {derived.table} --replace`, which takes the columns from the dictionary",
        table=derived.table,
        scn=later.scn_before,
        policy="unknown_ddl",
    )


def _kinds_by_segment(ignored: Iterable[IgnoredColumn]) -> dict[int, str]:
    return {column.segment_id: column.kind for column in ignored if column.segment_id}


def _list(hidden: Mapping[int, str]) -> str:
    return ", ".join(f"{segment_id} ({kind})" for segment_id, kind in sorted(hidden.items())) or "none"


def key_difference(version: TableVersion, dictionary: DictionaryTable) -> str | None:
    """Return why the version's key is no longer valid by the dictionary, or None. A ROWID depends on DATA_OBJECT_ID instead."""
    if version.key_kind in ("rowid", "append"):
        return None
    key = tuple(version.column(i).name for i in version.key)
    names = ", ".join(key)
    if version.key_kind == "primary":
        return (
            None if key == dictionary.key else f"the primary key is ({names}), in the dictionary ({', '.join(dictionary.key)})"
        )
    ids = {index.object_id for index in key_indexes(dictionary, key)}
    if not ids:
        return f"the dictionary no longer has a valid unique index on ({names})"
    if version.key_index is not None and ids.isdisjoint((version.key_index, None)):
        return f"the unique index on ({names}) was created again: in between, two rows may have had the same key"
    return None
