"""CREATE, ALTER and DROP USER; GRANT and REVOKE."""

from __future__ import annotations

from standin.engine.ddl.redo import write_ddl
from standin.engine.sessions.catalog import find_view, granted_name
from standin.engine.sessions.names import find_relation
from standin.engine.sessions.privileges import holds, may, require
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import ROOT, User

PUBLIC = "PUBLIC"
_OBJECT_PRIVILEGES = ("SELECT", "READ", "INSERT", "UPDATE", "DELETE", "ALTER", "INDEX", "REFERENCES", "FLASHBACK", "EXECUTE")


def create_user(session: EngineSession, cursor: Cursor) -> None:
    require(session.account, "CREATE USER")
    name = cursor.name()
    state = session.database.state
    cursor.expect("IDENTIFIED", "BY")
    start = cursor.next.start
    password = _password(cursor)
    shown = _masked(cursor, start)
    container = _clauses(cursor)
    if name in state.users:
        raise OraError(1920, f"user name '{name}' conflicts with another user or role name")
    in_root = state.is_cdb and session.container == ROOT
    if in_root and not name.startswith("C##"):
        raise OraError(65096, "invalid common user or role name")
    if state.is_cdb and not in_root and (name.startswith("C##") or container == "ALL"):
        raise OraError(65094, "invalid local user or role name")
    state.users[name] = User(name, password, session.container)
    write_ddl(session, shown)


_LONGEST_PASSWORD = 1024  # bytes, since 23ai; 30 before


def _password(cursor: Cursor) -> str:
    """Read a password, which keeps its case."""
    token = cursor.take()
    if token.kind == "end":
        raise OraError(988, "missing or invalid password(s)")
    password = token.value if token.kind in ("quoted", "string") else cursor.text[token.start : token.end]
    if len(password.encode()) > _LONGEST_PASSWORD:
        raise OraError(988, "missing or invalid password(s)")
    return password


def _masked(cursor: Cursor, start: int) -> str:
    """Return the statement with the text since `start` replaced by `*`: redo never shows a password."""
    return f"{cursor.text[:start]}* {cursor.text[cursor.next.start :]}".rstrip()


def _clauses(cursor: Cursor) -> str:
    """Read the clauses after the password and return CONTAINER; tablespaces, quotas and profiles have no effect here."""
    container = ""
    while cursor.next.kind == "word":
        if cursor.accept("CONTAINER"):
            cursor.expect("=")
            container = cursor.take().value
        elif cursor.accept("DEFAULT", "TABLESPACE") or cursor.accept("TEMPORARY", "TABLESPACE") or cursor.accept("PROFILE"):
            cursor.take()
        elif cursor.accept("QUOTA"):
            while not cursor.accept("ON"):
                cursor.take()
            cursor.take()
        elif not (
            cursor.accept("ACCOUNT", "UNLOCK")
            or cursor.accept("WITH", "ADMIN", "OPTION")
            or cursor.accept("WITH", "GRANT", "OPTION")
        ):
            raise OraError(922, "missing or invalid option", cursor.next.start)
    cursor.end()
    return container


def create_role(session: EngineSession, cursor: Cursor) -> None:
    raise OraError(3001, "unimplemented feature: CREATE ROLE")


def _user(session: EngineSession, name: str) -> User:
    user = session.database.state.users.get(name)
    if user is None:
        raise OraError(1918, f"user '{name}' does not exist")
    return user


def alter_user(session: EngineSession, cursor: Cursor) -> None:
    user = _user(session, cursor.name())
    if user.name != session.user:
        require(session.account, "ALTER USER")
    shown = cursor.text
    if cursor.accept("IDENTIFIED", "BY"):
        start = cursor.next.start
        user.password = _password(cursor)
        shown = _masked(cursor, start)
    elif cursor.accept("GRANT", "CONNECT", "THROUGH"):
        user.proxies.add(_user(session, cursor.name()).name)
    elif cursor.accept("REVOKE", "CONNECT", "THROUGH"):
        user.proxies.discard(cursor.name())
    elif cursor.accept("SET", "CONTAINER_DATA"):
        cursor.expect("=")
        if not cursor.accept("ALL"):
            cursor.skip_rest()
        user.container_data = True
    _clauses(cursor)
    write_ddl(session, shown)


def drop_user(session: EngineSession, cursor: Cursor) -> None:
    require(session.account, "DROP USER")
    user = _user(session, cursor.name())
    cascade = cursor.accept("CASCADE")
    cursor.end()
    database = session.database
    owned = [store for store in database.tables.stores.values() if store.definition.owner == user.name]
    if owned and not cascade:
        raise OraError(1922, f"CASCADE must be specified to drop '{user.name}'")
    if any(other.user == user.name for other in database.sessions.values()):
        raise OraError(1940, "cannot drop a user that is currently connected")
    for store in owned:
        database.tables.remove(store)
    for found in (database.sequences, database.state.objects):
        for key in [key for key in found if key[1] == user.name]:
            del found[key]  # type: ignore[attr-defined]
    del database.state.users[user.name]
    write_ddl(session, cursor.text)


def _privileges(cursor: Cursor) -> list[str]:
    found = []
    while True:
        words = []
        while (
            cursor.next.kind in ("word", "quoted")
            and not cursor.is_next("ON")
            and not (cursor.is_next("TO") or cursor.is_next("FROM"))
        ):
            words.append(cursor.take().value)
        found.append(" ".join(words))
        if not cursor.accept(","):
            return found


def _target(session: EngineSession, cursor: Cursor) -> str:
    """Return the object under the name that grants use: OWNER.TABLE, or the bare name of a SYS view or package."""
    owner, name = cursor.qualified()
    found = find_relation(session, owner, name)
    if isinstance(found, TableStore):
        table = found.definition
        is_allowed = may(session.account, "GRANT", table) or holds(session.account, "GRANT ANY OBJECT PRIVILEGE")
        if not is_allowed and session.user != table.owner:
            raise OraError(942, "table or view does not exist")
        return f"{table.owner}.{table.name}"
    kind = session.database.state.objects.get((session.container, owner or session.schema, name))
    if kind is not None and kind.structure is not None:
        if session.user != kind.owner:
            require(session.account, "GRANT ANY OBJECT PRIVILEGE")
        return f"{kind.owner}.{name}"
    if find_view(owner, name) is not None and granted_name(name) != name:
        raise OraError(2030, "can only select from fixed tables/views")
    if owner not in (None, "SYS"):
        raise OraError(942, "table or view does not exist")
    require(session.account, "SYSDBA")  # nobody else holds privileges on objects of SYS with GRANT OPTION
    return name


def _grantees(session: EngineSession, cursor: Cursor) -> list[User]:
    names = [cursor.name()]
    while cursor.accept(","):
        names.append(cursor.name())
    users = session.database.state.users
    if PUBLIC in names:
        return list(users.values())  # those of today
    for name in names:
        if name not in users:
            raise OraError(1917, f"user or role '{name}' does not exist")
    return [users[name] for name in names]


def grant(session: EngineSession, cursor: Cursor) -> None:
    privileges, target = _privileges(cursor), ""
    if cursor.accept("ON"):
        target = _target(session, cursor)
    elif not session.account.with_admin_option.issuperset(privileges):
        require(session.account, "GRANT ANY PRIVILEGE")
    cursor.expect("TO")
    grantees = _grantees(session, cursor)
    _clauses(cursor)
    for user in grantees:
        for privilege in privileges:
            if target:
                user.grants |= {(one, target) for one in _expanded(privilege)}
            else:
                user.privileges.add(privilege)
    write_ddl(session, cursor.text)


def _expanded(privilege: str) -> tuple[str, ...]:
    if privilege in ("ALL", "ALL PRIVILEGES"):
        return _OBJECT_PRIVILEGES
    if privilege not in _OBJECT_PRIVILEGES:
        raise OraError(990, "missing or invalid privilege")
    return (privilege,)


def revoke(session: EngineSession, cursor: Cursor) -> None:
    privileges, target = _privileges(cursor), ""
    if cursor.accept("ON"):
        target = _target(session, cursor)
    else:
        require(session.account, "GRANT ANY PRIVILEGE")
    cursor.expect("FROM")
    grantees = _grantees(session, cursor)
    _clauses(cursor)
    for user in grantees:
        for privilege in privileges:
            if target:
                user.grants -= {(one, target) for one in _expanded(privilege)}
            elif privilege in user.privileges:
                user.privileges.discard(privilege)
            else:
                raise OraError(1952, f"system privileges not granted to '{user.name}'")
    write_ddl(session, cursor.text)
