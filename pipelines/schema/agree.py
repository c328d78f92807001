"""Whether the version derived from the redo is the one that the dictionary tells; the first difference, with its cure.

Left out: column ids, which are ours, lengths of texts, and NOT NULL of columns outside the key.
"""

from __future__ import annotations

from pipelines.errors import SchemaConflict
from pipelines.schema.versions import same_type, stored_columns
from pipelines.table import DictionaryTable, TableVersion


def agree(derived: TableVersion, dictionary: DictionaryTable) -> SchemaConflict | None:
    """None where they agree. `derived` must be the version valid at the SCN at which the dictionary was read."""
    try:
        difference = _difference(derived, dictionary)
    except SchemaConflict as error:  # a hidden column: what the dictionary has, a version cannot say
        return error
    if difference is None:
        return None
    return SchemaConflict(
        f"the table's columns as the redo tells them are not those of the dictionary: {difference}",
        cure=f"`redolake snapshot {derived.table} --replace` takes the table anew under the dictionary's columns",
        table=derived.table,
        scn=dictionary.scn_before,
    )


def _difference(derived: TableVersion, dictionary: DictionaryTable) -> str | None:
    theirs = {column.name: column for column in stored_columns(dictionary)}
    ours = {column.name: column for column in derived.columns}
    for name in theirs:
        if name not in ours:
            return f"the dictionary has column {name}, the redo told of none"
    for name, column in ours.items():
        if name not in theirs:
            return f"column {name} is not in the dictionary"
        other = theirs[name]
        if not same_type(column.type, other.type):
            return f"column {name} is {column.type}, in the dictionary {other.type}"
        if column.segment_id != other.segment_id:
            return f"column {name} has SEGMENT_COLUMN_ID {column.segment_id}, in the dictionary {other.segment_id}"
    key = tuple(column.name for column in derived.key_columns)
    if key != dictionary.key:
        return f"the primary key is ({', '.join(key)}), in the dictionary ({', '.join(dictionary.key)})"
    ids = (
        ("OBJECT_ID", derived.object_id, dictionary.object_id),
        ("DATA_OBJECT_ID", derived.data_object_id, dictionary.data_object_id),
    )
    return next((f"{what} is {old}, in the dictionary {new}" for what, old, new in ids if old != new), None)
