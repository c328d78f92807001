"""System privileges, roles and object grants. An object that a user may not see does not exist for that user (ORA-00942)."""

from __future__ import annotations

from standin.engine.sessions.catalog import ViewSource
from standin.interface import OraError
from standin.model import TableDef, User

_ADMINISTRATOR_ROLES = frozenset({"DBA", "SYSDBA", "PDB_DBA"})
_ROLE_HOLDS = {
    "CONNECT": frozenset({"CREATE SESSION", "SET CONTAINER"}),
    "RESOURCE": frozenset({"CREATE TABLE", "CREATE SEQUENCE"}),
}


def holds(user: User, privilege: str) -> bool:
    """Return whether the user has a system privilege, directly or through a role."""
    if user.name in ("SYS", "SYSTEM") or not _ADMINISTRATOR_ROLES.isdisjoint(user.privileges):
        return True
    return privilege in user.privileges or any(privilege in _ROLE_HOLDS.get(role, ()) for role in user.privileges)


def require(user: User, *privileges: str) -> None:
    if not any(holds(user, p) for p in privileges):
        raise OraError(1031, "insufficient privileges")


def sees_view(user: User, view: ViewSource) -> bool:
    if (
        view.name.startswith(f"{user.name}.")
        or view.privilege is None
        or holds(user, "SELECT ANY DICTIONARY")
        or "SELECT_CATALOG_ROLE" in user.privileges
    ):
        return True
    if "." in view.name and holds(user, "SELECT ANY TABLE"):  # of another owner than SYS
        return True
    return any((action, view.privilege) in user.grants for action in ("SELECT", "READ"))


def executes(user: User, package: str | None) -> bool:
    if package is None or holds(user, "EXECUTE ANY PROCEDURE") or "EXECUTE_CATALOG_ROLE" in user.privileges:
        return True
    return ("EXECUTE", package) in user.grants


def may_use_type(user: User, owner: str, name: str) -> bool:
    """Return whether the user may execute a type. PUBLIC may execute those of MDSYS."""
    return owner in ("MDSYS", user.name) or holds(user, "EXECUTE ANY TYPE") or ("EXECUTE", f"{owner}.{name}") in user.grants


def may(user: User, action: str, table: TableDef) -> bool:
    """Return whether the user may SELECT, INSERT, UPDATE, DELETE, FLASHBACK, ALTER ... the table."""
    if user.name in (table.owner, "SYS") or holds(user, f"{action} ANY TABLE"):
        return True
    name = f"{table.owner}.{table.name}"
    if action == "SELECT" and (("READ", name) in user.grants or holds(user, "READ ANY TABLE")):
        return True
    return (action, name) in user.grants


def require_on(user: User, action: str, table: TableDef) -> None:
    """Raise ORA-00942 when the user has no privilege on the table, ORA-01031 when this one is missing."""
    if may(user, action, table):
        return
    name = f"{table.owner}.{table.name}"
    if any(granted == name for _, granted in user.grants) or may(user, "SELECT", table):
        raise OraError(1031, "insufficient privileges")
    raise OraError(942, "table or view does not exist")
