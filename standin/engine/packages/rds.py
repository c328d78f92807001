"""What Amazon RDS adds to a database: the master user ADMIN in place of SYSDBA, and the procedures of RDSADMIN.

ADMIN has neither ALTER DATABASE nor ALTER SYSTEM and grants only the privileges that RDS gave it with ADMIN OPTION.
"""

from __future__ import annotations

from typing import Any

from standin.engine.ddl.system import change_logging
from standin.engine.sessions.catalog import find_view, granted_name, register_view
from standin.engine.sessions.procedures import Parameter, not_declared, procedures
from standin.engine.sessions.session import EngineSession
from standin.interface import ColumnInfo, OraError
from standin.model import PDB, DatabaseState, User

MASTER = "ADMIN"
_PACKAGE = "RDSADMIN.RDSADMIN_UTIL"
_GRANTABLE = frozenset(
    {"CREATE SESSION", "LOGMINING", "SELECT ANY TABLE", "FLASHBACK ANY TABLE", "SELECT ANY TRANSACTION", "CREATE TABLE"}
)
_OTHERS = frozenset(
    {"CREATE USER", "ALTER USER", "DROP USER", "GRANT ANY OBJECT PRIVILEGE", "ALTER ANY TABLE", "SELECT ANY DICTIONARY"}
)
_LOGGING = {"ALL": "ALL", "PRIMARY KEY": "PK", "UNIQUE": "UI", "FOREIGN KEY": "FK"}


def prepare(state: DatabaseState, password: str) -> None:
    """Create ADMIN and RDSADMIN in the database that customers reach: the tenant database, or the one without containers."""
    con_id = PDB if state.is_cdb else 0
    state.users["RDSADMIN"] = User("RDSADMIN", "", con_id)
    state.users[MASTER] = User(
        MASTER, password, con_id, set(_GRANTABLE | _OTHERS), {("EXECUTE", _PACKAGE)}, with_admin_option=set(_GRANTABLE)
    )


def grant_sys_object(session: EngineSession, p_obj_name: Any, p_grantee: Any, p_privilege: Any, p_grant_option: bool) -> None:
    name, grantee = str(p_obj_name), session.database.state.users.get(str(p_grantee))
    known = find_view("SYS", _as_selected(name)) is not None or procedures.has_package(name)
    if grantee is None or not known:
        what = "invalid schema" if grantee is None else "invalid object name"
        raise OraError(20199, f"Error in rdsadmin_util.grant_sys_object. ORA-44001: {what}")
    grantee.grants.add((str(p_privilege).upper(), name))


def _as_selected(name: str) -> str:
    """Return the name under which a view is selected: V$LOG for V_$LOG."""
    return name.replace("V_$", "V$", 1) if granted_name(name.replace("V_$", "V$", 1)) == name else name


def alter_supplemental_logging(session: EngineSession, p_action: Any, p_type: Any) -> None:
    if p_action not in ("ADD", "DROP") or (p_type is not None and p_type not in _LOGGING):
        raise OraError(20900, "Invalid value for parameter")
    change_logging(session, {"MIN"} if p_type is None else {_LOGGING[p_type]}, adding=p_action == "ADD")


def force_logging(session: EngineSession, p_enable: Any) -> None:
    session.database.state.force_logging = bool(p_enable)


def set_configuration(session: EngineSession, name: Any, value: Any) -> None:
    if name not in ("archivelog retention hours", "tracefile retention"):
        raise OraError(20001, f"Invalid configuration name: {name}")
    session.database.state.rds_configuration[name] = str(value)


def configuration(session: EngineSession, _: frozenset[str]) -> list[tuple[Any, ...]]:
    if not session.database.options.rds:
        raise OraError(942, "table or view does not exist")
    settings = {"archivelog retention hours": "0", "tracefile retention": "10080", **session.database.state.rds_configuration}
    return [(name, value, None) for name, value in settings.items()]


def switch_logfile(session: EngineSession) -> None:
    session.database.await_redo(session, to_switch=True)
    session.database.archive_current()


def register() -> None:
    """Make RDSADMIN_UTIL callable on databases of the platform RDS; elsewhere it is not declared."""
    declared: tuple[tuple[Any, list[Parameter | str]], ...] = (
        (grant_sys_object, ["p_obj_name", "p_grantee", "p_privilege", Parameter("p_grant_option", False)]),
        (alter_supplemental_logging, ["p_action", Parameter("p_type", None)]),
        (force_logging, [Parameter("p_enable", True)]),
        (set_configuration, ["name", "value"]),
        (switch_logfile, []),
    )
    columns = (("NAME", "VARCHAR2", 100), ("VALUE", "VARCHAR2", 100), ("DESCRIPTION", "VARCHAR2", 500))
    register_view("RDSADMIN.RDS_CONFIGURATION", [ColumnInfo(*column) for column in columns], configuration)
    for run, parameters in declared:
        procedures.register(f"{_PACKAGE}.{run.__name__}", _on_rds(run), parameters)


def _on_rds(run: Any) -> Any:
    def call(session: EngineSession, **arguments: Any) -> None:
        if not session.database.options.rds:
            raise not_declared(_PACKAGE)
        with session.database.lock:
            run(session, **arguments)

    return call
