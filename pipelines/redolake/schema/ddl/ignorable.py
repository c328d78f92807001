"""Statements that name a captured table and change neither its columns, nor its key, nor its rows.

NOLOGGING is not ignorable, as it changes what redo contains.
DROP SUPPLEMENTAL LOG and DISABLE LOGICAL REPLICATION may change that too. They are ignored if there is a primary key: another
level may still log it, and apply checks each row for its key.
"""

from __future__ import annotations

import re

from redolake.schema.ddl.add_column import STATISTICS
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.table import TableVersion

ABOUT_IT = (
    "COMMENT ON", "GRANT", "REVOKE", "AUDIT", "NOAUDIT", "ANALYZE TABLE", "ANALYZE INDEX",
    "CREATE INDEX", "CREATE UNIQUE INDEX", "CREATE BITMAP INDEX", "ALTER INDEX", "DROP INDEX",
    "CREATE MULTIVALUE INDEX", "CREATE SEARCH INDEX", "CREATE VECTOR INDEX",
    "CREATE MATERIALIZED VIEW LOG", "ALTER MATERIALIZED VIEW LOG", "DROP MATERIALIZED VIEW LOG", "ANALYZE CLUSTER",
    "ASSOCIATE STATISTICS", "DISASSOCIATE STATISTICS", "ADMINISTER KEY MANAGEMENT",
    "PURGE INDEX", "PURGE RECYCLEBIN", "PURGE DBA_RECYCLEBIN", "PURGE TABLESPACE", "ALTER VIEW", "DROP VIEW",
)  # fmt: skip
# Kinds of objects that have no rows. A DDL of one names a table if it has the table's name, in a name space of its own, or if
# LogMiner shows it under the table that it is about.
WITHOUT_ROWS = (
    "SEQUENCE", "ROLE", "PROFILE", "DIRECTORY", "CONTEXT", "EDITION", "LIBRARY", "JAVA", "OPERATOR", "INDEXTYPE", "DIMENSION",
    "HIERARCHY", "ATTRIBUTE DIMENSION", "ANALYTIC VIEW", "OUTLINE", "AUDIT POLICY", "LOCKDOWN PROFILE", "DISKGROUP",
    "RESTORE POINT", "ROLLBACK SEGMENT", "DATABASE LINK", "PUBLIC DATABASE LINK", "SHARED DATABASE LINK",
    "SHARED PUBLIC DATABASE LINK", "FLASHBACK ARCHIVE", "INMEMORY JOIN GROUP", "MATERIALIZED ZONEMAP", "PMEM FILESTORE",
    "FUNCTION", "PROCEDURE", "PACKAGE", "TYPE BODY", "DOMAIN", "PROPERTY GRAPH", "MLE ENV", "MLE MODULE", "PFILE", "SPFILE",
    "LOGICAL PARTITION TRACKING", "TRIGGER", "SYNONYM", "PUBLIC SYNONYM",
)  # fmt: skip
MADE = ("CREATE USER", "ALTER USER", "CREATE CLUSTER", "ALTER CLUSTER", "ALTER TABLESPACE")  # a DROP of one may drop tables
BEFORE_KIND = (
    "OR REPLACE", "NO FORCE", "NOFORCE", "FORCE", "EDITIONABLE", "NONEDITIONABLE", "EDITIONING",  # of a view
    "BIGFILE", "SMALLFILE", "TEMPORARY", "UNDO",  # of a tablespace
)  # fmt: skip
ALTERATIONS = ("ENABLE ALL TRIGGERS", "DISABLE ALL TRIGGERS")
REFRESHES = ("COMPILE", "CONSIDER FRESH", "ENABLE QUERY REWRITE", "DISABLE QUERY REWRITE")
_STATISTICS_NAME = re.compile(r"SYS_ST[US][#$\w]{5,}")


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    statement.from_start()
    # Without an OBJECT_ID, an index cannot be distinguished from a later one: the key may have been without one in between.
    if version.key_kind == "columns" and version.key_index is None and statement.take("DROP", "INDEX"):
        raise statement.refuse("an index was dropped that may have been that of the declared key", "primary_key")
    if statement.take_any(*ABOUT_IT, *MADE) or _is_of_object(statement, version) or _is_refresh(statement):
        return Effect(version)
    if not statement.alter_table():
        return None
    known = (
        _is_logging(statement, has_key=version.key_kind == "primary")
        or bool(statement.take_any(*ALTERATIONS))
        or _is_extended_statistics(statement, version)
    )
    return Effect(version) if known and statement.done else None


def _is_refresh(statement: DdlStatement) -> bool:
    """Take ALTER MATERIALIZED VIEW where it says how a captured one is refreshed; what a refresh does is in the redo."""
    if not statement.from_start().take("ALTER", "MATERIALIZED", "VIEW"):
        return False
    statement.qualified_name()
    while statement.take_any(*REFRESHES):
        pass
    if statement.take("REFRESH"):
        while not (statement.done or statement.sees("NOLOGGING")):
            statement.skip()
    return statement.done


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


def _is_of_object(statement: DdlStatement, version: TableVersion) -> bool:
    """Take CREATE [OR REPLACE] [EDITIONABLE], ALTER or DROP of an object without rows, or CREATE of a view of another name."""
    if not statement.from_start().take_any("CREATE", "ALTER", "DROP"):
        return False
    statement.take("OR", "REPLACE")
    statement.take("AND", "RESOLVE")
    statement.take_any("NOFORCE", "FORCE", "CLEAN", "MANDATORY")
    statement.take_any("EDITIONABLE", "NONEDITIONABLE")
    if statement.take_any(*WITHOUT_ROWS):
        return True
    if not statement.from_start().take("CREATE"):
        return False
    while statement.take_any(*BEFORE_KIND):
        pass
    is_view = bool(statement.take_any("MATERIALIZED VIEW", "VIEW"))
    if is_view:
        statement.take("IF", "NOT", "EXISTS")
        return statement.qualified_name()[1] != version.in_oracle.name
    return statement.take("TABLESPACE")


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
