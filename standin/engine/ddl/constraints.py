"""Adds, enables, disables and drops constraints, with their indexes."""

from __future__ import annotations

from collections.abc import Iterable

from standin.engine.ddl.indexes import add_index, create_index, require_free_name
from standin.engine.sessions.names import table_named
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import Index, TableStore
from standin.engine.text.definitions import ConstraintClause, constraint_state
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import Constraint

IOT_TOP = "IOT - TOP"


def add_constraint(session: EngineSession, store: TableStore, clause: ConstraintClause) -> None:
    """Add the constraint and its index, after checking the existing rows."""
    table = store.definition
    name = clause.name or f"SYS_C{session.database.next_constraint_number():08d}"
    if any(
        c.name == name
        for s in session.database.tables.stores.values()
        for c in s.definition.constraints
        if s.definition.owner == table.owner and s.definition.con_id == table.con_id
    ):
        raise OraError(2264, "name already used by an existing constraint")
    for column in clause.columns:
        if table.column(column) is None:
            raise OraError(904, f'"{column}": invalid identifier')
    references = _referenced_key(session, store, clause) if clause.kind == "R" else None
    if clause.kind == "P" and any(c.kind == "P" for c in table.constraints):
        raise OraError(2260, "table can have only one primary key")
    constraint = Constraint(
        name, clause.kind, clause.columns, references=references, check=clause.check, on_delete=clause.on_delete,
        deferrable=clause.deferrable, deferred=clause.deferred,
    )  # fmt: skip
    table.constraints.append(constraint)
    constraint.enabled = constraint.validated = False
    if clause.enabled:
        try:
            _enforce(session, store, constraint, clause)
        except OraError:
            table.constraints.remove(constraint)
            raise
    session.database.tables.refresh(store)


def keys_first(clauses: Iterable[ConstraintClause]) -> list[ConstraintClause]:
    """Return a statement's constraints with the foreign keys last: one may refer to a key that the statement names later."""
    return sorted(clauses, key=lambda clause: clause.kind == "R")


def _enforce(session: EngineSession, store: TableStore, constraint: Constraint, clause: ConstraintClause) -> None:
    """Check the rows unless NOVALIDATE, and find or create the index of a key."""
    if constraint.kind == "P" and clause.validated:
        _require_values(session, store, constraint)
    if constraint.kind in ("P", "U"):
        _key_index(session, store, constraint, clause)
    elif constraint.kind == "R":
        # Of the engine's own, to find child rows: Oracle makes no index for a foreign key.
        add_index(session, store, Index(constraint.name, tuple(constraint.columns), False, kind="", constraint=constraint.name))
        if clause.validated:
            _require_parents(session, store, constraint)
    constraint.enabled, constraint.validated = True, clause.validated


def _require_values(session: EngineSession, store: TableStore, constraint: Constraint) -> None:
    for column in constraint.columns:
        found = store.definition.column(column)
        assert found is not None
        at = store.layout.position[column]
        if any(values[at] is None for _, values in store.visible(session.database.clock.scn, session.transaction)):
            owner = store.definition.owner
            raise OraError(2437, f"cannot validate ({owner}.{constraint.name}) - primary key violated")
        found.nullable = False


def _require_parents(session: EngineSession, store: TableStore, constraint: Constraint) -> None:
    store.refresh(session.database.state.logged_in(store.definition.con_id))
    parent = session.database.tables.parent_of(store.definition, constraint)
    assert constraint.references is not None
    index = session.database.keys.index_of(parent, constraint.references[1])
    keys = {index.key_of(values) for _, values in parent.visible(session.database.clock.scn, session.transaction)}
    positions = [store.layout.position[name] for name in constraint.columns]
    for _, values in store.visible(session.database.clock.scn, session.transaction):
        key = tuple(values[i] for i in positions)
        if None not in key and key not in keys:
            raise OraError(2298, f"cannot validate ({store.definition.owner}.{constraint.name}) - parent keys not found")


def _key_index(session: EngineSession, store: TableStore, constraint: Constraint, clause: ConstraintClause) -> None:
    """Use the index of USING INDEX or another usable one; else create one. A deferrable key has a non-unique index."""
    columns, table = tuple(constraint.columns), store.definition
    if clause.index_text is not None:
        create_index(session, _create_cursor(clause.index_text))
    listed = [
        i for i in store.indexes if i.kind and i.columns[: len(columns)] and set(i.columns[: len(columns)]) == set(columns)
    ]
    named = clause.index
    if named is not None:
        listed = [i for i in listed if i.name == named]
        if not listed:
            raise OraError(14196, "Specified index cannot be used to enforce the constraint.")
    usable = next((i for i in listed if not i.unique or set(i.columns) == set(columns)), None)
    code = 2437 if constraint.kind == "P" else 2299
    if usable is not None:
        constraint.index = usable.name
        add_index(session, store, Index(constraint.name, columns, True, kind="", constraint=constraint.name), code)
        return
    top = table.iot if constraint.kind == "P" else None
    constraint.index = constraint.name if top is None or clause.name else top.top
    require_free_name(session, table.owner, constraint.index)
    kind = "NORMAL" if top is None else IOT_TOP
    object_id = 0 if top is None else top.object_id
    if top is not None:
        top.top = constraint.index
    if clause.deferrable:
        add_index(session, store, Index(constraint.index, columns, False, object_id, kind))
        add_index(session, store, Index(constraint.name, columns, True, kind="", constraint=constraint.name), code)
    else:
        add_index(session, store, Index(constraint.index, columns, True, object_id, kind, constraint.name), code)


def _create_cursor(text: str) -> Cursor:
    cursor = Cursor(text)
    cursor.expect("CREATE")
    cursor.accept("UNIQUE")
    cursor.expect("INDEX")
    return cursor


def _referenced_key(session: EngineSession, store: TableStore, clause: ConstraintClause) -> tuple[str, str]:
    assert clause.parent is not None
    owner, name = clause.parent
    own = name == store.definition.name and owner in (None, store.definition.owner)
    parent = store.definition if own else table_named(session, owner or store.definition.owner, name).definition
    for constraint in parent.constraints:
        if constraint.kind == "P" and not clause.parent_columns:
            return parent.owner, constraint.name
        if constraint.kind in ("P", "U") and set(constraint.columns) == set(clause.parent_columns):
            if constraint.columns != clause.parent_columns:
                raise OraError(3001, "unimplemented feature: a foreign key whose columns are in another order than the key's")
            return parent.owner, constraint.name
    raise OraError(2270, "no matching unique or primary key for this column-list")


def named_constraint(store: TableStore, cursor: Cursor) -> Constraint:
    """Read CONSTRAINT c, PRIMARY KEY, or UNIQUE (columns)."""
    constraints = store.definition.constraints
    if cursor.accept("PRIMARY", "KEY"):
        found = next((c for c in constraints if c.kind == "P"), None)
    elif cursor.accept("UNIQUE"):
        columns = cursor.names()
        found = next((c for c in constraints if c.kind == "U" and c.columns == columns), None)
    else:
        cursor.expect("CONSTRAINT")
        name = cursor.name()
        found = next((c for c in constraints if c.name == name), None)
    if found is None:
        raise OraError(2430, "cannot enable constraint - no such constraint")
    return found


def set_state(session: EngineSession, store: TableStore, cursor: Cursor) -> None:
    """Run ENABLE or DISABLE [VALIDATE | NOVALIDATE] constraint .., or MODIFY CONSTRAINT c state."""
    clause = ConstraintClause("", [])
    if cursor.accept("MODIFY"):
        constraint = named_constraint(store, cursor)
        clause.enabled, clause.validated = constraint.enabled, constraint.validated
        constraint_state(cursor, clause)
    else:
        clause.enabled = clause.validated = cursor.take().value == "ENABLE"
        if cursor.accept("NOVALIDATE"):
            clause.validated = False
        else:
            cursor.accept("VALIDATE")
        constraint = named_constraint(store, cursor)
        cascade = cursor.accept("CASCADE")
        cursor.accept("KEEP", "INDEX") or cursor.accept("DROP", "INDEX")
        enabled = clause.enabled
        constraint_state(cursor, clause)
        clause.enabled = enabled
        if not enabled and cascade:
            for child, foreign in session.database.tables.children_of(store):
                if foreign.references == (store.definition.owner, constraint.name):
                    _disable(session, child, foreign)
    if clause.enabled and not constraint.enabled:
        _enforce(session, store, constraint, clause)
    elif clause.enabled and clause.validated and not constraint.validated and constraint.kind == "R":
        _require_parents(session, store, constraint)
        constraint.validated = True
    elif not clause.enabled and constraint.enabled:
        if any(
            c.references == (store.definition.owner, constraint.name) for _, c in session.database.tables.children_of(store)
        ):
            raise OraError(2297, f"cannot disable constraint ({store.definition.owner}.{constraint.name}) - dependencies exist")
        _disable(session, store, constraint)
    session.database.tables.refresh(store)


def _disable(session: EngineSession, store: TableStore, constraint: Constraint) -> None:
    constraint.enabled = constraint.validated = False
    _drop_indexes(store, constraint)
    session.database.tables.refresh(store)


def _drop_indexes(store: TableStore, constraint: Constraint) -> None:
    """Drop the indexes that were made for the constraint; one that the user created stays."""
    store.indexes = [i for i in store.indexes if i.constraint != constraint.name]


def drop_constraint(session: EngineSession, store: TableStore, name: str, *, cascade: bool = False) -> None:
    constraint = next((c for c in store.definition.constraints if c.name == name), None)
    if constraint is None:
        raise OraError(2443, "Cannot drop constraint  - nonexistent constraint")
    for child, foreign in session.database.tables.children_of(store):
        if foreign.references == (store.definition.owner, name):
            if not cascade:
                raise OraError(2273, "this unique/primary key is referenced by some foreign keys")
            child.definition.constraints.remove(foreign)
            _drop_indexes(child, foreign)
            session.database.tables.refresh(child)
    if constraint.kind == "P" and store.definition.iot is not None:
        raise OraError(
            25188, "cannot drop/disable/defer the primary key constraint for index-organized tables or sorted hash cluster"
        )
    store.definition.constraints.remove(constraint)
    _drop_indexes(store, constraint)
