"""Statements that name a captured table and change neither its columns, nor its key, nor its rows.

DISABLE or DROP of a constraint (which may be the key) and NOLOGGING are not ignorable, as they change what redo contains.
DROP SUPPLEMENTAL LOG may change that too. It is ignored if there is a primary key: another level may still log it, and apply
checks each row for its key.
"""

from __future__ import annotations

from pipelines.schema.ddl.effect import Effect
from pipelines.schema.ddl_statement import DdlStatement
from pipelines.table import TableVersion

ABOUT_IT = (
    "COMMENT ON", "GRANT", "REVOKE", "AUDIT", "NOAUDIT", "ANALYZE TABLE", "ANALYZE INDEX",
    "CREATE INDEX", "CREATE UNIQUE INDEX", "CREATE BITMAP INDEX", "ALTER INDEX", "DROP INDEX",
    "CREATE TRIGGER", "CREATE OR REPLACE TRIGGER", "ALTER TRIGGER", "DROP TRIGGER",
    "CREATE MATERIALIZED VIEW LOG", "DROP MATERIALIZED VIEW LOG",
)  # fmt: skip
ALTERATIONS = (
    "ENABLE ALL TRIGGERS", "DISABLE ALL TRIGGERS", "READ ONLY", "READ WRITE", "LOGGING", "CACHE", "NOCACHE", "NOPARALLEL",
)  # fmt: skip
CONSTRAINT_STATES = ("ENABLE", "VALIDATE", "NOVALIDATE", "RELY", "NORELY")


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    statement.from_start()
    # Without an OBJECT_ID, an index cannot be distinguished from a later one: the key may have been without one in between.
    if version.key_kind == "columns" and version.key_index is None and statement.take("DROP", "INDEX"):
        raise statement.refuse("an index was dropped that may have been that of the declared key")
    if statement.take_any(*ABOUT_IT):
        return Effect(version)
    if not statement.alter_table():
        return None
    known = (
        _is_logging(statement, has_key=version.key_kind == "primary")
        or _is_alteration(statement)
        or _enables_constraint(statement)
    )
    return Effect(version) if known and statement.done else None


def _is_logging(statement: DdlStatement, *, has_key: bool) -> bool:
    """Take ADD or DROP SUPPLEMENTAL LOG: DATA (ALL, ..) COLUMNS, or GROUP g (..), one or more."""
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


def _is_alteration(statement: DdlStatement) -> bool:
    if statement.take_any(*ALTERATIONS):
        return True
    return statement.take("PARALLEL") and (statement.done or statement.number() is not None)


def _enables_constraint(statement: DdlStatement) -> bool:
    """Take ENABLE [VALIDATE] CONSTRAINT c, MODIFY CONSTRAINT c ENABLE .., or RENAME CONSTRAINT c TO d."""
    if statement.take("RENAME", "CONSTRAINT"):
        statement.name()
        statement.need("TO")
        statement.name()
        return True
    if statement.take("MODIFY", "CONSTRAINT"):
        statement.name()
        states = 0
        while statement.take_any(*CONSTRAINT_STATES):
            states += 1
        return states > 0
    start = statement.position
    if statement.take("ENABLE"):
        statement.take_any("VALIDATE", "NOVALIDATE")
        if statement.take("CONSTRAINT"):
            statement.name()
            return True
        statement.back_to(start)
    return False
