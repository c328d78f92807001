"""Who may do what: system privileges, roles, object grants. What a user may not see does not exist for him (ORA-00942)."""

from __future__ import annotations

from standin.engine.catalog import ViewSource
from standin.interface import OraError
from standin.model import TableDef, User

_ALMIGHTY = frozenset({"DBA", "SYSDBA", "PDB_DBA"})
_ROLE_HOLDS = {
    "CONNECT": frozenset({"CREATE SESSION", "SET CONTAINER"}),
    "RESOURCE": frozenset({"CREATE TABLE", "CREATE SEQUENCE"}),
}


def holds(user: User, privilege: str) -> bool:
    """A system privilege, held directly or through a role."""
    if user.name in ("SYS", "SYSTEM") or not _ALMIGHTY.isdisjoint(user.privileges):
        return True
    return privilege in user.privileges or any(privilege in _ROLE_HOLDS.get(role, ()) for role in user.privileges)


def require(user: User, *privileges: str) -> None:
    if not any(holds(user, p) for p in privileges):
        raise OraError(1031, "insufficient privileges")


def sees_view(user: User, view: ViewSource) -> bool:
    if view.privilege is None or holds(user, "SELECT ANY DICTIONARY") or "SELECT_CATALOG_ROLE" in user.privileges:
        return True
    return any((action, view.privilege) in user.grants for action in ("SELECT", "READ"))


def executes(user: User, package: str | None) -> bool:
    if package is None or holds(user, "EXECUTE ANY PROCEDURE") or "EXECUTE_CATALOG_ROLE" in user.privileges:
        return True
    return ("EXECUTE", package) in user.grants


def may(user: User, action: str, table: TableDef) -> bool:
    """SELECT, INSERT, UPDATE, DELETE, FLASHBACK, ALTER ... on a table."""
    if user.name in (table.owner, "SYS") or holds(user, f"{action} ANY TABLE"):
        return True
    name = f"{table.owner}.{table.name}"
    if action == "SELECT" and (("READ", name) in user.grants or holds(user, "READ ANY TABLE")):
        return True
    return (action, name) in user.grants


def require_on(user: User, action: str, table: TableDef) -> None:
    """ORA-00942 when the user has nothing on the table, ORA-01031 when he has, but not this."""
    if may(user, action, table):
        return
    name = f"{table.owner}.{table.name}"
    if any(granted == name for _, granted in user.grants) or may(user, "SELECT", table):
        raise OraError(1031, "insufficient privileges")
    raise OraError(942, "table or view does not exist")
