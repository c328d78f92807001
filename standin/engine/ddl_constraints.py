"""Adds constraints to a table and drops them, with their indexes."""

from __future__ import annotations

from standin.engine.ddl_indexes import add_index
from standin.engine.definitions import ConstraintClause
from standin.engine.names import table_named
from standin.engine.session import EngineSession
from standin.engine.storage import Index, TableStore
from standin.interface import OraError
from standin.model import Constraint


def add_constraint(session: EngineSession, store: TableStore, clause: ConstraintClause) -> None:
    """Add the constraint and its index, after checking the existing rows."""
    table = store.definition
    name = clause.name or f"SYS_C{session.database.next_constraint_number():08d}"
    if any(
        c.name == name
        for s in session.database.tables.stores.values()
        for c in s.definition.constraints
        if s.definition.owner == table.owner
    ):
        raise OraError(2264, "name already used by an existing constraint")
    for column in clause.columns:
        if table.column(column) is None:
            raise OraError(904, f'"{column}": invalid identifier')
    references = _referenced_key(session, store, clause) if clause.kind == "R" else None
    if clause.kind == "P":
        if any(c.kind == "P" for c in table.constraints):
            raise OraError(2260, "table can have only one primary key")
        for column in clause.columns:
            found = table.column(column)
            assert found is not None
            found.nullable = False
    table.constraints.append(Constraint(name, clause.kind, clause.columns, references=references, check=clause.check))
    if clause.kind in ("P", "U", "R"):
        add_index(session, store, Index(name, tuple(clause.columns), clause.kind != "R"), 2437 if clause.kind == "P" else 2299)
    session.database.tables.refresh(store)


def _referenced_key(session: EngineSession, store: TableStore, clause: ConstraintClause) -> tuple[str, str]:
    assert clause.parent is not None
    owner, name = clause.parent
    own = name == store.definition.name and owner in (None, store.definition.owner)
    parent = store.definition if own else table_named(session, owner or store.definition.owner, name).definition
    for constraint in parent.constraints:
        if constraint.kind == "P" and not clause.parent_columns:
            return parent.owner, constraint.name
        if constraint.kind in ("P", "U") and constraint.columns == clause.parent_columns:
            return parent.owner, constraint.name
    raise OraError(2270, "no matching unique or primary key for this column-list")


def drop_constraint(session: EngineSession, store: TableStore, name: str) -> None:
    constraint = next((c for c in store.definition.constraints if c.name == name), None)
    if constraint is None:
        raise OraError(2443, "Cannot drop constraint  - nonexistent constraint")
    if any(c.references == (store.definition.owner, name) for _, c in session.database.tables.children_of(store)):
        raise OraError(2273, "this unique/primary key is referenced by some foreign keys")
    store.definition.constraints.remove(constraint)
    store.indexes = [i for i in store.indexes if i.name != name]
