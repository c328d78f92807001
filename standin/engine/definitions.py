"""Parses the column definitions and constraints of DDL."""

from __future__ import annotations

from dataclasses import dataclass, field

from standin.engine.datatypes import MAX_EXTENDED, sql_type
from standin.engine.tokens import Cursor
from standin.interface import OraError
from standin.model import SqlType

_AFTER_DEFAULT = frozenset(
    {
        "NOT", "NULL", "PRIMARY", "UNIQUE", "CHECK", "REFERENCES", "CONSTRAINT", "DEFAULT", "ENABLE", "DISABLE", "VISIBLE",
        "INVISIBLE", "GENERATED", "AS",
    }
)  # fmt: skip
_STORAGE_WORDS = frozenset(["TABLESPACE", "LOGGING", "NOCOMPRESS", "PCTFREE", "INITRANS", "SEGMENT"])


@dataclass(slots=True)
class ConstraintClause:
    """A parsed constraint. `kind` is P, U, R or C; `parent` and `parent_columns` belong to a foreign key (R)."""

    kind: str
    columns: list[str]
    name: str | None = None
    parent: tuple[str | None, str] | None = None
    parent_columns: list[str] = field(default_factory=list)
    check: str | None = None


@dataclass(slots=True)
class ColumnClause:
    """A parsed column. `type`, `default`, `nullable` and `hidden` are None where MODIFY does not change them.

    `virtual` is the expression of a virtual column; `identity` is ALWAYS, BY DEFAULT or BY DEFAULT ON NULL.
    """

    name: str
    type: SqlType | None
    default: str | None = None
    has_default: bool = False
    nullable: bool | None = None
    constraints: list[ConstraintClause] = field(default_factory=list)
    hidden: bool | None = None
    virtual: str | None = None
    identity: str | None = None


def starts_constraint(cursor: Cursor) -> bool:
    first = cursor.next
    if first.kind != "word":
        return False
    if first.value == "CONSTRAINT":
        return True
    return cursor.is_next("PRIMARY", "KEY") or cursor.is_next("FOREIGN", "KEY") or (
        first.value in ("UNIQUE", "CHECK") and cursor.ahead(1).value == "("
    )  # fmt: skip


def table_constraint(cursor: Cursor) -> ConstraintClause:
    name = cursor.name() if cursor.accept("CONSTRAINT") else None
    if cursor.accept("PRIMARY", "KEY"):
        clause = ConstraintClause("P", cursor.names(), name)
    elif cursor.accept("UNIQUE"):
        clause = ConstraintClause("U", cursor.names(), name)
    elif cursor.accept("CHECK"):
        clause = ConstraintClause("C", [], name, check=cursor.parenthesised())
    else:
        cursor.expect("FOREIGN", "KEY")
        clause = _reference(cursor, cursor.names(), name)
    _constraint_state(cursor)
    return clause


def _reference(cursor: Cursor, columns: list[str], name: str | None) -> ConstraintClause:
    cursor.expect("REFERENCES")
    parent = cursor.qualified()
    parent_columns = cursor.names() if cursor.is_next("(") else []
    if cursor.accept("ON", "DELETE"):
        raise OraError(3001, "unimplemented feature: ON DELETE of a foreign key")
    return ConstraintClause("R", columns, name, parent, parent_columns)


def _constraint_state(cursor: Cursor) -> None:
    """Skip state options that have no effect here; raise ORA-03001 for DISABLE and DEFERRABLE."""
    while cursor.next.value in ("ENABLE", "VALIDATE", "RELY", "NORELY", "NOT", "INITIALLY", "USING") and not cursor.is_next(
        "NOT", "NULL"
    ):
        if cursor.accept("NOT", "DEFERRABLE") or cursor.accept("INITIALLY", "IMMEDIATE") or cursor.accept("USING", "INDEX"):
            continue
        cursor.take()
    if cursor.is_next("DISABLE") or cursor.is_next("DEFERRABLE"):
        raise OraError(3001, f"unimplemented feature: {cursor.next.value} constraint")


def data_type(cursor: Cursor) -> SqlType:
    name = cursor.name()
    if name == "DOUBLE" and cursor.accept("PRECISION"):
        name = "DOUBLE PRECISION"
    sizes: list[str] = []
    unit = ""
    if cursor.accept("("):
        while True:
            sign = "-" if cursor.accept("-") else ""
            sizes.append(sign + cursor.take().value)
            if cursor.next.value in ("BYTE", "CHAR"):
                unit = cursor.take().value
            if not cursor.accept(","):
                break
        cursor.expect(")")
    if cursor.is_next("WITH", "TIME") or cursor.is_next("WITH", "LOCAL"):
        raise OraError(902, f"invalid datatype: {name} WITH TIME ZONE is not modelled")
    return sql_type(name, sizes, unit, MAX_EXTENDED)


def column_clause(cursor: Cursor, *, modifying: bool = False) -> ColumnClause:
    name = cursor.name()
    bare = modifying and (cursor.next.value in _AFTER_DEFAULT or cursor.next.value in (",", ")", ""))
    clause = ColumnClause(name, None if bare else data_type(cursor))
    while cursor.next.kind == "word":
        if cursor.accept("DEFAULT"):
            if cursor.is_next("ON"):
                raise OraError(3001, "unimplemented feature: DEFAULT ON NULL")
            clause.default, clause.has_default = _default(cursor), True
        elif cursor.next.value in ("VISIBLE", "INVISIBLE"):
            clause.hidden = cursor.take().value == "INVISIBLE"
        elif cursor.next.value in ("GENERATED", "AS"):
            _generated(cursor, clause)
        elif not _inline_constraint(cursor, clause):
            break
    if clause.default is not None and clause.default.upper() == "NULL":
        clause.default = None
    return clause


def _generated(cursor: Cursor, clause: ColumnClause) -> None:
    """Read GENERATED .. AS IDENTITY, or [GENERATED ALWAYS] AS (expression) [VIRTUAL]."""
    kind = "ALWAYS"
    if cursor.accept("GENERATED") and not cursor.accept("ALWAYS"):
        cursor.expect("BY", "DEFAULT")
        kind = "BY DEFAULT ON NULL" if cursor.accept("ON", "NULL") else "BY DEFAULT"
    cursor.expect("AS")
    if cursor.accept("IDENTITY"):
        clause.identity, clause.nullable = kind, False
        if cursor.is_next("("):
            cursor.parenthesised()
        return
    clause.virtual = cursor.parenthesised()
    cursor.accept("VIRTUAL")


def _default(cursor: Cursor) -> str:
    """Read the expression's text up to the comma, parenthesis or keyword that ends it."""
    start, depth, end = cursor.next.start, 0, cursor.next.start
    while cursor.next.kind != "end":
        token = cursor.next
        if depth == 0 and (token.value in (",", ")") and token.kind == "sign"):
            break
        if depth == 0 and end > start and token.kind == "word" and token.value in _AFTER_DEFAULT:
            break
        depth += (token.value == "(") - (token.value == ")") if token.kind == "sign" else 0
        end = cursor.take().end
    if end == start:
        raise OraError(936, "missing expression", start)
    return cursor.text[start:end]


def _inline_constraint(cursor: Cursor, clause: ColumnClause) -> bool:
    name = cursor.name() if cursor.accept("CONSTRAINT") else None
    if cursor.accept("NOT", "NULL"):
        clause.nullable = False
    elif cursor.accept("NULL"):
        clause.nullable = True
    elif cursor.accept("PRIMARY", "KEY"):
        clause.constraints.append(ConstraintClause("P", [clause.name], name))
    elif cursor.accept("UNIQUE"):
        clause.constraints.append(ConstraintClause("U", [clause.name], name))
    elif cursor.accept("CHECK"):
        clause.constraints.append(ConstraintClause("C", [clause.name], name, check=cursor.parenthesised()))
    elif cursor.is_next("REFERENCES"):
        clause.constraints.append(_reference(cursor, [clause.name], name))
    else:
        return False
    _constraint_state(cursor)
    return True


def table_options(cursor: Cursor) -> bool:
    """Skip storage options, and return whether ROW ARCHIVAL is one. Raise ORA-03001 for others that change how rows behave."""
    archival = False
    while cursor.next.kind == "word":
        if cursor.accept("ROW", "ARCHIVAL"):
            archival = True
            continue
        cursor.accept("ROW", "STORE")
        word = cursor.take().value
        if word == "COMPRESS":
            if not cursor.accept("BASIC") and not cursor.accept("ADVANCED"):
                cursor.accept("FOR", "OLTP")
            continue
        if word not in _STORAGE_WORDS:
            raise OraError(3001, f"unimplemented feature: {word} of a table")
        if word in ("TABLESPACE", "PCTFREE", "INITRANS"):
            cursor.take()
        if word == "SEGMENT":
            cursor.expect("CREATION")
            cursor.take()
    cursor.end()
    return archival
