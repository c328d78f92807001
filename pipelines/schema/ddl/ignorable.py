"""Statements that name a captured table and change neither its columns, nor its key, nor its rows.

NOLOGGING is not ignorable, as it changes what redo contains.
DROP SUPPLEMENTAL LOG and DISABLE LOGICAL REPLICATION may change that too. They are ignored if there is a primary key: another
level may still log it, and apply checks each row for its key.
"""

from __future__ import annotations

import re

from pipelines.schema.ddl.effect import Effect
from pipelines.schema.ddl_statement import DdlStatement
from pipelines.table import TableVersion

ABOUT_IT = (
    "COMMENT ON", "GRANT", "REVOKE", "AUDIT", "NOAUDIT", "ANALYZE TABLE", "ANALYZE INDEX",
    "CREATE INDEX", "CREATE UNIQUE INDEX", "CREATE BITMAP INDEX", "ALTER INDEX", "DROP INDEX",
    "CREATE MULTIVALUE INDEX", "CREATE SEARCH INDEX", "CREATE VECTOR INDEX", "ALTER TRIGGER", "DROP TRIGGER",
    "ALTER SYNONYM", "ALTER PUBLIC SYNONYM", "DROP SYNONYM", "DROP PUBLIC SYNONYM",
    "CREATE MATERIALIZED VIEW LOG", "DROP MATERIALIZED VIEW LOG",
)  # fmt: skip
CREATED = ("TRIGGER", "SYNONYM", "PUBLIC SYNONYM")  # after CREATE [OR REPLACE] [EDITIONABLE]
ALTERATIONS = ("ENABLE ALL TRIGGERS", "DISABLE ALL TRIGGERS")
STATISTICS = ("VIRTUAL BY USER FOR STATISTICS", "VIRTUAL BY SYSTEM FOR STATISTICS", "VIRTUAL FOR STATISTICS")
_STATISTICS_NAME = re.compile(r"SYS_ST[US][#$\w]{5,}")


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    statement.from_start()
    # Without an OBJECT_ID, an index cannot be distinguished from a later one: the key may have been without one in between.
    if version.key_kind == "columns" and version.key_index is None and statement.take("DROP", "INDEX"):
        raise statement.refuse("an index was dropped that may have been that of the declared key", "primary_key")
    if statement.take_any(*ABOUT_IT) or _creates(statement):
        return Effect(version)
    if not statement.alter_table():
        return None
    known = (
        _is_logging(statement, has_key=version.key_kind == "primary")
        or bool(statement.take_any(*ALTERATIONS))
        or _is_extended_statistics(statement, version)
    )
    return Effect(version) if known and statement.done else None


def _is_logging(statement: DdlStatement, *, has_key: bool) -> bool:
    """Take ADD or DROP SUPPLEMENTAL LOG: DATA (ALL, ..) COLUMNS, or GROUP g (..), one or more; ENABLE or DISABLE LOGICAL
    REPLICATION, which decides whether the table follows the logging of the database."""
    if statement.take("ENABLE", "LOGICAL", "REPLICATION") or (has_key and statement.take("DISABLE", "LOGICAL", "REPLICATION")):
        statement.take_any("ALL KEYS", "ALLOW NOVALIDATE KEYS", "NO PARTIAL JSON", "PARTIAL JSON")
        return True
    followed = ("ADD SUPPLEMENTAL LOG", "DROP SUPPLEMENTAL LOG") if has_key else ("ADD SUPPLEMENTAL LOG",)
    if not statement.take_any(*followed):
        return False
    while True:
        if statement.take("GROUP"):
            statement.name()
            if statement.sees("("):
                statement.skip_parentheses()
            statement.take("ALWAYS")
        else:
            statement.need("DATA")
            statement.skip_parentheses()
            statement.need("COLUMNS")
        if not statement.take(","):
            return True
        statement.take("SUPPLEMENTAL", "LOG")


def _creates(statement: DdlStatement) -> bool:
    if not statement.from_start().take("CREATE"):
        return False
    statement.take("OR", "REPLACE")
    statement.take_any("EDITIONABLE", "NONEDITIONABLE")
    return bool(statement.take_any(*CREATED))


def _is_extended_statistics(statement: DdlStatement, version: TableVersion) -> bool:
    """Take ADD (SYS_STU.. AS (..) VIRTUAL BY USER FOR STATISTICS), or the DROP of such a column.

    The column is virtual and hidden, so neither the segment nor the redo of a row has it.
    """
    start = statement.position
    if statement.take("DROP"):
        in_parentheses = not statement.take("COLUMN")
        dropped = statement.names_in_parentheses() if in_parentheses and statement.sees("(") else [statement.name()]
        if all(_STATISTICS_NAME.match(name) and version.named(name) is None for name in dropped):
            return True
    elif statement.take("ADD", "(") and _STATISTICS_NAME.match(statement.name()) and statement.take("AS"):
        statement.skip_parentheses()
        if statement.take_any(*STATISTICS) and statement.take(")"):
            return True
    statement.back_to(start)
    return False
