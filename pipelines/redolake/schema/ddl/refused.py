"""Statements that are known and not supported. Each stops its table with a reason, as does any unknown statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from redolake.schema.ddl_statement import DdlStatement
from redolake.values.ddl_policies import SNAPSHOT_OR_IGNORE, PolicyName
from redolake.values.table import TableVersion

CREATED = (
    "CREATE TABLE", "CREATE GLOBAL TEMPORARY TABLE", "CREATE PRIVATE TEMPORARY TABLE", "CREATE SHARDED TABLE",
    "CREATE DUPLICATED TABLE", "CREATE BLOCKCHAIN TABLE", "CREATE IMMUTABLE TABLE", "CREATE IMMUTABLE BLOCKCHAIN TABLE",
    "CREATE JSON COLLECTION TABLE",
)  # fmt: skip
STATEMENTS = {
    **dict.fromkeys(CREATED, "a table of this name was created again"),
    "CREATE": "CREATE that is not understood",
    "FLASHBACK": "FLASHBACK TABLE that is not understood",
    "TRUNCATE CLUSTER": "the rows of all tables of a cluster were removed, and this table is in that cluster or in another",
    "DROP CLUSTER": "all tables of a cluster were dropped, and this table was in that cluster or is in another",
}
ALTERATIONS = {
    "MODIFY LOB": "MODIFY LOB changes how a large object is stored, in a way that is not supported",
    "MODIFY VARRAY": "MODIFY VARRAY changes how an array is stored, in a way that is not supported",
    "MODIFY NESTED TABLE": "MODIFY NESTED TABLE is not supported",
    "MODIFY OPAQUE TYPE": "MODIFY OPAQUE TYPE is not supported",
    "MODIFY DEFAULT ATTRIBUTES": "partition operations are not supported",
    "MODIFY": "MODIFY that is not understood",
    "ADD PERIOD": "ADD PERIOD may add hidden columns, which redo of later rows contains",
    "UPGRADE": "UPGRADE rewrites the objects in the rows",
    "DROP SUPPLEMENTAL": "supplemental logging was dropped, so later redo may not contain the key of the row",
    "DISABLE LOGICAL REPLICATION": "supplemental logging of the database no longer applies to the table",
    "DISABLE": "a property was disabled that may change what redo contains",
    "NOLOGGING": "NOLOGGING allows rows to be written without redo",
}
PARTITION_OPERATIONS = ("ADD", "DROP", "TRUNCATE", "EXCHANGE", "SPLIT", "MERGE", "COALESCE", "MOVE", "MODIFY", "RENAME")
POLICIES: Mapping[str, PolicyName] = {**dict.fromkeys(CREATED, "recreate"), "DROP CLUSTER": "recreate"}


def read(statement: DdlStatement, version: TableVersion) -> NoReturn:
    policy = _policy(statement.from_start())
    answers = SNAPSHOT_OR_IGNORE if statement.from_start().take("DROP", "CLUSTER") else None
    raise statement.refuse(_why(statement.from_start()), policy, answers)


def _policy(statement: DdlStatement) -> PolicyName:
    """Return which setting of `on_ddl` may answer the statement."""
    return POLICIES.get(statement.from_start().take_any(*POLICIES) or "", "unknown_ddl")


def _why(statement: DdlStatement) -> str:
    if not statement.alter_table():
        known = statement.take_any(*STATEMENTS)
        return STATEMENTS[known] if known else "DDL that is not understood"
    for word in PARTITION_OPERATIONS:
        if statement.sees(word, "PARTITION") or statement.sees(word, "SUBPARTITION"):
            return "partition operations are not supported"
    known = statement.take_any(*ALTERATIONS)
    return ALTERATIONS[known] if known else "ALTER TABLE that is not understood"
