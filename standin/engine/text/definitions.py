"""Parses the column definitions and constraints of DDL."""

from __future__ import annotations

from dataclasses import dataclass, field

from standin.engine.text.storage_clauses import skip_storage
from standin.engine.text.tokens import Cursor
from standin.engine.types.datatypes import MAX_EXTENDED, sql_type
from standin.interface import OraError
from standin.model import UNRESOLVED, SqlType

CONSTRAINT_WORDS = frozenset(
    {
        "NOT", "NULL", "PRIMARY", "UNIQUE", "CHECK", "REFERENCES", "CONSTRAINT", "ENABLE", "DISABLE", "DEFERRABLE", "INITIALLY",
        "RELY", "NORELY", "VALIDATE", "NOVALIDATE", "USING", "FOREIGN", "ADD", "DROP", "MODIFY",
    }
)  # fmt: skip
_AFTER_DEFAULT = CONSTRAINT_WORDS | {"DEFAULT", "VISIBLE", "INVISIBLE", "GENERATED", "AS", "COLLATE"}


@dataclass(slots=True)
class ConstraintClause:
    """A parsed constraint. `kind` is P, U, R or C; `parent`, `parent_columns` and `on_delete` belong to a foreign key (R).

    `index` is the name of USING INDEX; `index_text` the statement of USING INDEX (CREATE ..).
    """

    kind: str
    columns: list[str]
    name: str | None = None
    parent: tuple[str | None, str] | None = None
    parent_columns: list[str] = field(default_factory=list)
    check: str | None = None
    on_delete: str = "NO ACTION"  # CASCADE, SET NULL
    enabled: bool = True
    validated: bool = True
    deferrable: bool = False
    deferred: bool = False
    index: str | None = None
    index_text: str | None = None


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
    sequence: str = ""  # the options of an identity column
    default_on_null: bool = False


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
    constraint_state(cursor, clause)
    return clause


def _reference(cursor: Cursor, columns: list[str], name: str | None) -> ConstraintClause:
    cursor.expect("REFERENCES")
    parent = cursor.qualified()
    parent_columns = cursor.names() if cursor.is_next("(") else []
    clause = ConstraintClause("R", columns, name, parent, parent_columns)
    if cursor.accept("ON", "DELETE"):
        if cursor.accept("SET", "NULL"):
            clause.on_delete = "SET NULL"
        else:
            cursor.expect("CASCADE")
            clause.on_delete = "CASCADE"
    return clause


def constraint_state(cursor: Cursor, clause: ConstraintClause) -> None:
    """Read the state of a constraint. One that is only checked at the commit raises ORA-03001 unless it is a foreign key."""
    unvalidated = False
    while True:
        if cursor.accept("NOT", "DEFERRABLE") or cursor.accept("INITIALLY", "IMMEDIATE"):
            continue
        if cursor.accept("INITIALLY", "DEFERRED"):
            if clause.kind != "R":
                raise OraError(3001, "unimplemented feature: a constraint that is INITIALLY DEFERRED")
            clause.deferrable = clause.deferred = True
        elif cursor.accept("DEFERRABLE"):
            clause.deferrable = True
        elif cursor.accept("DISABLE"):
            clause.enabled = clause.validated = False
        elif cursor.accept("ENABLE"):
            clause.enabled, clause.validated = True, not unvalidated
        elif cursor.accept("NOVALIDATE"):
            clause.validated, unvalidated = False, True
        elif cursor.accept("VALIDATE"):
            clause.validated = True
        elif cursor.accept("USING", "INDEX"):
            _using_index(cursor, clause)
        elif not (cursor.accept("RELY") or cursor.accept("NORELY")):
            return


def _using_index(cursor: Cursor, clause: ConstraintClause) -> None:
    if cursor.is_next("("):
        clause.index_text = cursor.parenthesised()
        return
    _skip_index_options(cursor)
    if cursor.next.kind in ("word", "quoted") and cursor.next.value not in CONSTRAINT_WORDS:
        clause.index = cursor.qualified()[1]
    _skip_index_options(cursor)


def _skip_index_options(cursor: Cursor) -> None:
    """Skip storage and LOCAL or GLOBAL, which change nothing that is modelled."""
    skip_storage(cursor)
    while cursor.accept("LOCAL") or cursor.accept("GLOBAL") or cursor.accept("REVERSE") or cursor.accept("ONLINE"):
        if cursor.is_next("("):
            cursor.parenthesised()
        skip_storage(cursor)


def data_type(cursor: Cursor) -> SqlType:
    """Read a type. One of a user is only its name, until it is resolved."""
    if cursor.is_next("REF") and cursor.ahead(1).kind in ("word", "quoted"):
        cursor.take()
        owner, name = cursor.qualified()
        return SqlType(name, 50, owner=owner or "", kind="REF")
    owner, name = cursor.qualified()
    if name == "INTERVAL":
        return _interval(cursor)
    name = _with_further_words(cursor, name)
    sizes, unit = _sizes(cursor)
    if cursor.accept("WITH", "TIME", "ZONE"):
        name += " WITH TIME ZONE"
    elif cursor.accept("WITH", "LOCAL", "TIME", "ZONE"):
        name += " WITH LOCAL TIME ZONE"
    try:
        if owner in (None, "SYS"):
            return sql_type(name, sizes, unit, MAX_EXTENDED)
    except OraError as error:
        if error.code != 902 or sizes:
            raise
    return SqlType(name, owner=owner or "", kind=UNRESOLVED)


def _with_further_words(cursor: Cursor, name: str) -> str:
    for first, second in (("LONG", "RAW"), ("DOUBLE", "PRECISION")):
        if name == first and cursor.accept(second):
            return f"{first} {second}"
    if name == "NATIONAL":
        name = f"NATIONAL {cursor.name()}"
    return f"{name} VARYING" if cursor.accept("VARYING") else name


def _sizes(cursor: Cursor) -> tuple[list[str], str]:
    """Read `(10, 2)` or `(10 CHAR)`: the numbers and the unit."""
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
    return sizes, unit


def _interval(cursor: Cursor) -> SqlType:
    """Read the rest of INTERVAL YEAR [(p)] TO MONTH, or of INTERVAL DAY [(p)] TO SECOND [(s)]."""
    first = cursor.name()
    digits = cursor.parenthesised() if cursor.is_next("(") else "*"
    cursor.expect("TO")
    name = f"INTERVAL {first} TO {cursor.name()}"
    fraction = cursor.parenthesised() if cursor.is_next("(") else "*"
    return sql_type(name, [digits, fraction])


def column_clause(cursor: Cursor, *, modifying: bool = False) -> ColumnClause:
    name = cursor.name()
    untyped = cursor.next.value in _AFTER_DEFAULT or cursor.next.value in (",", ")", "")
    bare = untyped and (modifying or cursor.is_next("AS") or cursor.is_next("GENERATED"))
    clause = ColumnClause(name, None if bare else data_type(cursor))
    while cursor.next.kind == "word":
        if cursor.accept("DEFAULT"):
            if cursor.accept("ON", "NULL"):
                clause.default_on_null, clause.nullable = True, False
            clause.default, clause.has_default = _default(cursor), True
        elif cursor.next.value in ("VISIBLE", "INVISIBLE"):
            clause.hidden = cursor.take().value == "INVISIBLE"
        elif cursor.next.value in ("GENERATED", "AS"):
            _generated(cursor, clause)
        elif cursor.accept("COLLATE"):
            cursor.name()
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
            clause.sequence = cursor.parenthesised()
        return
    clause.virtual = cursor.parenthesised()
    if cursor.accept("VIRTUAL") and (cursor.accept("BY", "USER") or cursor.is_next("FOR", "STATISTICS")):
        cursor.expect("FOR", "STATISTICS")


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
    if cursor.is_next("NOT", "NULL") or cursor.is_next("NULL"):
        mandatory = cursor.accept("NOT")
        cursor.expect("NULL")
        constraint = ConstraintClause("C", [clause.name], name)
        constraint_state(cursor, constraint)
        clause.nullable = not (mandatory and constraint.enabled)
        return True
    if cursor.accept("PRIMARY", "KEY"):
        made = ConstraintClause("P", [clause.name], name)
    elif cursor.accept("UNIQUE"):
        made = ConstraintClause("U", [clause.name], name)
    elif cursor.accept("CHECK"):
        made = ConstraintClause("C", [clause.name], name, check=cursor.parenthesised())
    elif cursor.is_next("REFERENCES"):
        made = _reference(cursor, [clause.name], name)
    else:
        return False
    constraint_state(cursor, made)
    clause.constraints.append(made)
    return True
