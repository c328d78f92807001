"""ALTER TABLE on partitions: ADD, RENAME, MOVE, SPLIT, MERGE, COALESCE, MODIFY, and the table's interval, which keep every row;
DROP and TRUNCATE, which remove some; EXCHANGE, which brings some in.

Oracle adds partitions by itself, too; whether LogMiner shows a DDL then does not matter. The OBJECT_IDs of new partitions come
from the dictionary. No redo shows which rows a DROP, TRUNCATE or EXCHANGE has moved.
"""

from __future__ import annotations

from redolake.records.batches.spec import ColumnChange
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl.large_object_storage import take_parameters
from redolake.schema.ddl.new_segment import take_shrink
from redolake.schema.ddl.properties import take_property
from redolake.schema.ddl.segment import check_readable
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.ddl_policies import SNAPSHOT_OR_IGNORE
from redolake.values.table import TableVersion

SAME_ROWS = (
    "RENAME PARTITION", "RENAME SUBPARTITION", "SET INTERVAL", "SET STORE IN", "SET PARTITIONING", "SET SUBPARTITION TEMPLATE",
    "MODIFY DEFAULT ATTRIBUTES",
)  # fmt: skip
ADDED = ("ADD PARTITION", "ADD SUBPARTITION")
MOVED = (
    "MOVE PARTITION", "MOVE SUBPARTITION", "SPLIT PARTITION", "SPLIT SUBPARTITION", "MERGE PARTITIONS", "MERGE SUBPARTITIONS",
    "COALESCE PARTITION", "COALESCE SUBPARTITION",
)  # fmt: skip
OF_PARTITION = (
    "REBUILD UNUSABLE LOCAL INDEXES", "UNUSABLE LOCAL INDEXES", "INDEXING ON", "INDEXING OFF", "INDEXING FULL",
    "INDEXING PARTIAL",
)  # fmt: skip
INDEXES = ("UPDATE INDEXES", "UPDATE GLOBAL INDEXES", "INVALIDATE GLOBAL INDEXES", "ONLINE")
REMOVED = (
    "DROP PARTITION", "DROP PARTITIONS", "DROP SUBPARTITION", "DROP SUBPARTITIONS",
    "TRUNCATE PARTITION", "TRUNCATE PARTITIONS", "TRUNCATE SUBPARTITION", "TRUNCATE SUBPARTITIONS",
)  # fmt: skip
EXCHANGED = ("EXCHANGE PARTITION", "EXCHANGE SUBPARTITION")
COLUMNAR = (("COLUMN", "STORE"), ("FOR", "QUERY"), ("FOR", "ARCHIVE"))


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if not statement.alter_table():
        return None
    if statement.take_any("MODIFY PARTITION", "MODIFY SUBPARTITION"):
        return _modify(statement, version)
    if statement.take_any(*SAME_ROWS):
        _check_rest(statement)
        return Effect(version)
    removed = statement.take_any(*REMOVED)
    if removed:
        return _remove_rows(statement, version, removed)
    if statement.take_any(*EXCHANGED):
        why = "EXCHANGE PARTITION brought rows in from another table, or took them there, which no redo shows"
        raise statement.refuse(why, "drop_partition", SNAPSHOT_OR_IGNORE)
    added = statement.take_any(*ADDED)
    if not added and not statement.take_any(*MOVED):
        return None
    with_values = _check_rest(statement)
    if added and with_values:
        return Effect(version)
    return _renumber(statement, version)


def _modify(statement: DdlStatement, version: TableVersion) -> Effect:
    """Follow MODIFY PARTITION p or FOR (..): its indexes, list values and properties, or the place of its rows."""
    if statement.take("FOR"):
        statement.skip_parentheses()
    else:
        statement.name()
    if statement.take("SHRINK", "SPACE"):
        if take_shrink(statement):
            return Effect(version)
        if statement.done:
            return _renumber(statement, version)
    elif statement.take_any("ADD SUBPARTITION", "COALESCE SUBPARTITION"):
        return Effect(version) if _check_rest(statement) else _renumber(statement, version)
    elif statement.take_any("ADD VALUES", "DROP VALUES"):
        statement.skip_parentheses()
        while statement.take_any(*INDEXES):
            pass
    else:
        while statement.take_any(*OF_PARTITION) or take_property(statement) or _take_large_object(statement):
            pass
    if statement.sees("NOLOGGING"):
        raise statement.refuse("NOLOGGING allows rows to be written without redo")
    if not statement.done:
        raise statement.refuse("MODIFY PARTITION that is not understood")
    return Effect(version)


def _take_large_object(statement: DdlStatement) -> bool:
    """Take LOB (c) (parameters)."""
    if not statement.take("LOB"):
        return False
    take_parameters(statement, statement.names_in_parentheses())
    return True


def _remove_rows(statement: DdlStatement, version: TableVersion, what: str) -> Effect:
    """Delete the rows of the partitions in Delta too, or keep them there, where the policy says so."""
    _check_rest(statement)
    policy = statement.policies.drop_partition
    if policy not in ("keep", "follow"):
        raise statement.refuse(f"{what} removed rows, and `on_ddl: drop_partition` is `{policy}`", "drop_partition")
    if statement.row.object_id not in version.object_ids:  # by its text alone it may be a table of another owner
        why = f"{what} of object {statement.row.object_id}, and not certainly of this table"
        raise statement.refuse(why, "drop_partition", SNAPSHOT_OR_IGNORE)
    if policy == "follow":
        check_readable(statement, version, what)
        return Effect(version, (ColumnChange(statement.row.scn, "remove_rows", version.columns[0]),))
    if version.key_kind == "rowid":
        raise statement.refuse(
            f"{what}: later rows may get the ROWIDs of rows that are kept, and ROWID is the key", "drop_partition"
        )
    return _step(statement, version)


def _renumber(statement: DdlStatement, version: TableVersion) -> Effect:
    # A partition that is added to a hash takes rows from another one.
    if version.key_kind == "rowid":
        raise statement.refuse("it gives rows new ROWIDs, and ROWID is the key")
    if version.key_kind == "append":
        raise statement.refuse("it writes rows again, which redo might show as INSERTs, and the table is declared append-only")
    return _step(statement, version)


def _step(statement: DdlStatement, version: TableVersion) -> Effect:
    return Effect(version, (ColumnChange(statement.row.scn, "renumber", version.columns[0]),))


def _check_rest(statement: DdlStatement) -> bool:
    """Refuse what may remove rows or leave them out of the redo. Return whether the partition has VALUES."""
    with_values = False
    while not statement.done:
        if statement.sees("NOLOGGING"):
            raise statement.refuse("NOLOGGING allows rows to be written without redo")
        if statement.sees("EXTERNAL"):
            raise statement.refuse("an external partition has rows that are in no redo")
        if statement.sees("INCLUDING", "ROWS"):
            raise statement.refuse("INCLUDING ROWS removes rows")
        if any(statement.sees(*words) for words in COLUMNAR):
            raise statement.refuse("hybrid columnar compression may give updated rows new ROWIDs and is not supported")
        with_values = with_values or statement.sees("VALUES")
        statement.skip()
    return with_values
