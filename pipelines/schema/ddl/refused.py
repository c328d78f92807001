"""Statements that are known and not followed: each stops its table and says why. What no form knows stops it as well."""

from __future__ import annotations

from typing import NoReturn

from pipelines.schema.ddl_statement import DdlStatement
from pipelines.table import TableVersion

STATEMENTS = {
    "TRUNCATE": "TRUNCATE removes rows without redo of them and is not followed",
    "DROP TABLE": "the table was dropped",
    "RENAME": "the table was renamed, which is not followed",
    "CREATE TABLE": "a table of this name was created anew",
    "CREATE": "CREATE that is not understood",
    "FLASHBACK": "FLASHBACK TABLE changes rows and is not followed",
    "PURGE": "PURGE is not followed",
}
ALTERATIONS = {
    "MODIFY PARTITION": "partition operations are not followed",
    "MODIFY CONSTRAINT": "a constraint that may be the primary key was changed",
    "MODIFY": "MODIFY of a column is not followed",
    "RENAME COLUMN": "RENAME COLUMN is not followed",
    "RENAME TO": "the table was renamed, which is not followed",
    "SET UNUSED": "SET UNUSED leaves a hidden column in the segment and is not followed",
    "DROP UNUSED": "DROP UNUSED COLUMNS renumbers the segment and is not followed",
    "DROP SUPPLEMENTAL": "supplemental logging was taken away, so later redo may not tell which row it changes",
    "DROP PRIMARY": "DDL that changes the primary key is not followed",
    "DROP CONSTRAINT": "a constraint that may be the primary key was dropped",
    "DROP UNIQUE": "a constraint that the key may lean on was dropped",
    "DISABLE": "a constraint that may be the primary key, or another property, was disabled",
    "ENABLE PRIMARY": "DDL that changes the primary key is not followed",
    "MOVE": "MOVE gives the rows new places and the segment a new id, and is not followed",
    "SHRINK": "SHRINK gives rows new places and is not followed",
    "NOLOGGING": "NOLOGGING lets rows be written without redo",
}
PARTITION_OPERATIONS = ("ADD", "DROP", "TRUNCATE", "EXCHANGE", "SPLIT", "MERGE", "COALESCE", "MOVE", "RENAME")


def read(statement: DdlStatement, version: TableVersion) -> NoReturn:
    raise statement.refuse(_why(statement))


def _why(statement: DdlStatement) -> str:
    if not statement.alter_table():
        known = statement.take_any(*STATEMENTS)
        return STATEMENTS[known] if known else "DDL that is not understood"
    for word in PARTITION_OPERATIONS:
        if statement.sees(word, "PARTITION") or statement.sees(word, "SUBPARTITION"):
            return "partition operations are not followed"
    known = statement.take_any(*ALTERATIONS)
    return ALTERATIONS[known] if known else "ALTER TABLE that is not understood"
