"""Dictionary views of users and their privileges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from standin.model import PDB, ROOT, DatabaseState, User
from standin.views.registration import Row, ViewRow, dictionary_views, fixed_view

if TYPE_CHECKING:
    from standin.engine.database.database import Database
    from standin.engine.sessions.session import EngineSession


def _containers(user: User, state: DatabaseState) -> tuple[int, ...]:
    """Return the containers of a user; a common user exists in all."""
    return (ROOT, PDB) if state.is_cdb and user.is_common else (user.con_id,)


def _is_role(privilege: str) -> bool:
    return privilege.endswith("_ROLE") or privilege in ("CONNECT", "RESOURCE", "DBA")


def users(database: Database) -> Iterator[ViewRow]:
    for number, user in enumerate(database.state.users.values()):
        maintained = "Y" if user.name in ("SYS", "SYSTEM") else "N"
        for con_id in _containers(user, database.state):
            common = "YES" if user.is_common else "NO"
            values = (user.name, number, "OPEN", "USERS", "TEMP", database.state.created, "DEFAULT", common, maintained)
            yield ViewRow(con_id, user.name, None, values)


def all_users(session: EngineSession) -> Iterator[Row]:
    state: DatabaseState = session.database.state
    for entry in users(session.database):
        if entry.con_id == session.container:
            name, number, *_, common, maintained = entry.values
            yield (name, number, state.created, common, maintained)


def system_privileges(database: Database) -> Iterator[ViewRow]:
    for user in database.state.users.values():
        for con_id in _containers(user, database.state):
            for privilege in sorted(p for p in user.privileges if not _is_role(p)):
                yield ViewRow(con_id, user.name, None, (user.name, privilege, "NO", "YES" if user.is_common else "NO", "NO"))


def role_privileges(database: Database) -> Iterator[ViewRow]:
    for user in database.state.users.values():
        for con_id in _containers(user, database.state):
            for role in sorted(p for p in user.privileges if _is_role(p)):
                yield ViewRow(con_id, user.name, None, (user.name, role, "NO", "NO", "YES", "YES" if user.is_common else "NO"))


def object_privileges(database: Database) -> Iterator[ViewRow]:
    for user in database.state.users.values():
        for con_id in _containers(user, database.state):
            for privilege, target in sorted(user.grants):
                owner, dot, name = target.rpartition(".")
                grantor = owner if dot else "SYS"
                kind = "PACKAGE" if privilege == "EXECUTE" else "TABLE" if dot else "VIEW"
                yield ViewRow(con_id, user.name, None, (user.name, grantor, name, grantor, privilege, "NO", "NO", "NO", kind))


def own_object_privileges(session: EngineSession) -> Iterator[Row]:
    user: User = session.account
    for entry in object_privileges(session.database):
        if entry.owner == user.name and entry.con_id == session.container:
            yield entry.values


def register() -> None:
    dictionary_views(
        "USERS",
        """USERNAME VARCHAR2(128), USER_ID NUMBER, ACCOUNT_STATUS VARCHAR2(32), DEFAULT_TABLESPACE VARCHAR2(30),
        TEMPORARY_TABLESPACE VARCHAR2(30), CREATED DATE, PROFILE VARCHAR2(128), COMMON VARCHAR2(3),
        ORACLE_MAINTAINED VARCHAR2(1)""",
        users,
        user_has_owner=True,
        only=("DBA", "CDB", "USER"),
    )
    fixed_view(
        "ALL_USERS",
        "USERNAME VARCHAR2(128), USER_ID NUMBER, CREATED DATE, COMMON VARCHAR2(3), ORACLE_MAINTAINED VARCHAR2(1)",
        all_users,
        public=True,
    )
    dictionary_views(
        "SYS_PRIVS",
        """GRANTEE VARCHAR2(128), PRIVILEGE VARCHAR2(40), ADMIN_OPTION VARCHAR2(3), COMMON VARCHAR2(3),
        INHERITED VARCHAR2(3)""",
        system_privileges,
        user_has_owner=True,
        only=("DBA", "CDB", "USER"),
    )
    dictionary_views(
        "ROLE_PRIVS",
        """GRANTEE VARCHAR2(128), GRANTED_ROLE VARCHAR2(128), ADMIN_OPTION VARCHAR2(3), DELEGATE_OPTION VARCHAR2(3),
        DEFAULT_ROLE VARCHAR2(3), COMMON VARCHAR2(3)""",
        role_privileges,
        user_has_owner=True,
        only=("DBA", "CDB", "USER"),
    )
    columns = """GRANTEE VARCHAR2(128), OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), GRANTOR VARCHAR2(128),
        PRIVILEGE VARCHAR2(40),
        GRANTABLE VARCHAR2(3), HIERARCHY VARCHAR2(3), COMMON VARCHAR2(3), TYPE VARCHAR2(24)"""
    dictionary_views("TAB_PRIVS", columns, object_privileges, only=("DBA", "CDB"))
    for prefix in ("ALL", "USER"):
        fixed_view(f"{prefix}_TAB_PRIVS", columns, own_object_privileges, public=True)
