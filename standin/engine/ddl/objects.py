"""Objects besides tables, indexes and sequences: views, synonyms, triggers, PL/SQL units, clusters, materialized views.

PL/SQL units are stored and not executed: a call of one raises ORA-06550. What a trigger does is in `triggers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from standin.engine.ddl.accounts import PUBLIC
from standin.engine.ddl.redo import write_ddl
from standin.engine.plsql.compilation import COMPILED, compiles
from standin.engine.queries.query import compile_query
from standin.engine.sessions.names import table_named
from standin.engine.sessions.privileges import require
from standin.engine.sessions.session import EngineSession
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import SchemaObject, TableDef

if TYPE_CHECKING:
    from collections.abc import Callable

BEYOND_THE_GRAMMAR = frozenset({907, 933, 936, 3001})


def _key(found: SchemaObject) -> tuple[int, str, str]:
    name = f"TRIGGER {found.name}" if found.kind == "TRIGGER" else f"{found.name} BODY" if "BODY" in found.kind else found.name
    return found.con_id, found.owner, name


def store_object(session: EngineSession, cursor: Cursor, found: SchemaObject, *, replaces: bool = False) -> None:
    """Add the object, or replace one of its kind where the statement says OR REPLACE. Raise ORA-00955 for a name in use."""
    state, key = session.database.state, _key(found)
    words = cursor.text.upper().split(None, 3)
    old = state.objects.get(key)
    taken = key in session.database.tables.stores or key in session.database.sequences
    if taken or (old is not None and (not (replaces or words[1:3] == ["OR", "REPLACE"]) or old.kind != found.kind)):
        raise OraError(955, "name is already used by an existing object")
    found.object_id = old.object_id if old is not None else session.database.next_object_id()
    found.created = session.database.ddl_time()
    state.objects[key] = found
    session.has_warning = not found.valid
    write_ddl(session, cursor.text)


def _named(session: EngineSession, cursor: Cursor, kind: str, owner: str | None = None) -> SchemaObject:
    qualifier, name = cursor.qualified()
    owner = owner or qualifier or session.schema
    if owner not in session.database.state.users and owner != PUBLIC:
        raise OraError(1918, f"user '{owner}' does not exist")
    if owner not in (session.user, PUBLIC):
        require(session.account, f"CREATE ANY {kind}")
    return SchemaObject(kind, owner, name, session.container, 0)


def create_view(session: EngineSession, cursor: Cursor) -> None:
    """Store the view's query and the names of its columns. One that is beyond the grammar here is stored to be refused when
    it is read: syntax errors of scripts are not looked for."""
    found = _named(session, cursor, "VIEW")
    aliases: tuple[str, ...] = ()
    if cursor.is_next("("):
        aliases = tuple(text.split()[0].strip('"').upper() for text in cursor.expressions() if not _is_constraint(text))
    while not cursor.accept("AS"):
        if cursor.take().kind == "end":
            raise OraError(905, "missing keyword")
    found.text = _without_restriction(cursor.text[cursor.next.start :].strip())
    schema, session.schema = session.schema, found.owner
    try:
        columns = compile_query(session, found.text).columns
        if aliases and len(aliases) != len(columns):
            raise OraError(1730, "invalid number of column names specified")
        found.columns = aliases or tuple(c.name for c in columns)
    except OraError as error:
        if error.code not in BEYOND_THE_GRAMMAR:
            raise
        found.enabled = False
    finally:
        session.schema = schema
    store_object(session, cursor, found)


def _is_constraint(text: str) -> bool:
    return text.split()[0].upper() in ("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN")


def _without_restriction(text: str) -> str:
    """Return the query without WITH READ ONLY and WITH CHECK OPTION: no DML on views is modelled."""
    upper = " ".join(text.upper().split())
    if upper.endswith("WITH READ ONLY") or upper.endswith("WITH CHECK OPTION"):
        return text[: text.upper().rindex("WITH")].rstrip()
    return text


def create_synonym(session: EngineSession, cursor: Cursor) -> None:
    public = PUBLIC in cursor.text[: cursor.next.start].upper().split()
    found = _named(session, cursor, "SYNONYM", PUBLIC if public else None)
    cursor.expect("FOR")
    owner, name = cursor.qualified()
    cursor.end()
    found.target = (owner or session.schema, name)
    store_object(session, cursor, found)


def create_trigger(session: EngineSession, cursor: Cursor) -> None:
    found = _named(session, cursor, "TRIGGER")
    start = cursor.next.start
    while not cursor.accept("ON"):
        if cursor.take().kind == "end":
            raise OraError(4073, "column list not valid for this trigger type")
    owner, name = cursor.qualified()
    if name in ("SCHEMA", "DATABASE") and owner is None:
        raise OraError(3001, "unimplemented feature: a trigger on a schema or database")
    table = table_named(session, owner or session.schema, name).definition
    found.target, found.text = (table.owner, table.name), cursor.text[start:]
    found.enabled = "DISABLE" not in cursor.text[start:].upper().partition("BEGIN")[0].split()
    cursor.skip_rest()
    store_object(session, cursor, found)


def drop_triggers(session: EngineSession, table: TableDef) -> None:
    objects = session.database.state.objects
    for key in [
        k
        for k, o in objects.items()
        if o.kind == "TRIGGER" and (o.con_id, o.target) == (table.con_id, (table.owner, table.name))
    ]:
        del objects[key]


def alter_trigger(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    found = session.database.state.objects.get((session.container, owner or session.schema, f"TRIGGER {name}"))
    if found is None:
        raise OraError(4080, f"trigger '{name}' does not exist")
    if cursor.next.value in ("ENABLE", "DISABLE"):
        found.enabled = cursor.take().value == "ENABLE"
    elif not cursor.accept("COMPILE"):
        raise OraError(3001, f"unimplemented feature: ALTER TRIGGER {cursor.next.value}")
    write_ddl(session, cursor.text)


def unit(kind: str) -> Callable[[EngineSession, Cursor], None]:
    """Return the CREATE of a PL/SQL unit or another object that is stored only."""

    def create(session: EngineSession, cursor: Cursor) -> None:
        found = _named(session, cursor, kind)
        found.text = cursor.text
        found.valid = kind not in COMPILED or compiles(cursor.text)
        cursor.skip_rest()
        store_object(session, cursor, found)

    return create


def recompile(session: EngineSession, cursor: Cursor) -> None:
    """ALTER VIEW, PROCEDURE, FUNCTION or PACKAGE .. COMPILE."""
    cursor.qualified()
    cursor.expect("COMPILE")
    write_ddl(session, cursor.text)


def dropper(kind: str) -> Callable[[EngineSession, Cursor], None]:
    def drop(session: EngineSession, cursor: Cursor) -> None:
        public = PUBLIC in cursor.text[: cursor.next.start].upper().split()
        owner, name = cursor.qualified()
        wanted = SchemaObject(kind, PUBLIC if public else owner or session.schema, name, session.container, 0)
        found = session.database.state.objects.get(_key(wanted))
        if found is None or found.kind != kind:
            code = {"VIEW": 942, "SYNONYM": 1434, "TRIGGER": 4080}.get(kind, 4043)
            raise OraError(code, {942: "table or view does not exist"}.get(code, f"object {name} does not exist"))
        del session.database.state.objects[_key(found)]
        cursor.skip_rest()
        write_ddl(session, cursor.text)

    return drop
