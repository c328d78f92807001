"""Constraints in DDL texts. Those that change neither columns nor key are supported, a primary key is not."""

from __future__ import annotations

from pipelines.schema.ddl_statement import DdlStatement

OUT_OF_LINE = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN")
STATES = (
    "ENABLE", "DISABLE", "VALIDATE", "NOVALIDATE", "RELY", "NORELY", "NOT DEFERRABLE", "DEFERRABLE",
    "INITIALLY IMMEDIATE", "INITIALLY DEFERRED",
)  # fmt: skip


def starts_out_of_line(statement: DdlStatement) -> bool:
    return any(statement.sees(word) for word in OUT_OF_LINE)


def take_out_of_line(statement: DdlStatement) -> None:
    """Take one constraint of the table, e.g. CONSTRAINT c CHECK (a > 0)."""
    if statement.take("CONSTRAINT"):
        statement.name()
    if statement.take("CHECK"):
        statement.skip_parentheses()
    elif statement.take("UNIQUE"):
        statement.names_in_parentheses()
    elif statement.take("FOREIGN", "KEY"):
        statement.names_in_parentheses()
        statement.need("REFERENCES")
        _take_reference(statement)
    else:
        _refuse_key(statement)
    _take_state(statement)


def take_inline(statement: DdlStatement) -> bool | None:
    """Take one constraint after a column: True for NOT NULL, False for another, None if there is none."""
    start = statement.position
    named = statement.take("CONSTRAINT")
    if named:
        statement.name()
    not_null = statement.take("NOT", "NULL")
    if not not_null:
        if statement.take("CHECK"):
            statement.skip_parentheses()
        elif statement.take("REFERENCES"):
            _take_reference(statement)
        elif not statement.take_any("UNIQUE", "NULL"):
            if named or statement.sees("PRIMARY"):
                _refuse_key(statement)
            statement.back_to(start)
            return None
    _take_state(statement)
    return not_null


def _refuse_key(statement: DdlStatement) -> None:
    if statement.sees("PRIMARY", "KEY"):
        raise statement.refuse("DDL that changes the primary key is not supported")
    raise statement.not_understood()


def _take_reference(statement: DdlStatement) -> None:
    statement.qualified_name()
    if statement.sees("("):
        statement.names_in_parentheses()
    if statement.take("ON", "DELETE") and not statement.take_any("CASCADE", "SET NULL"):
        raise statement.not_understood()


def _take_state(statement: DdlStatement) -> None:
    while statement.take_any(*STATES) or _take_index(statement):
        pass


def _take_index(statement: DdlStatement) -> bool:
    if not statement.take("USING", "INDEX"):
        return False
    if statement.sees("("):
        statement.skip_parentheses()
    elif statement.take("TABLESPACE"):
        statement.name()
    return True
