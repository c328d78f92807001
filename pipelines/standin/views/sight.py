"""What a session may see: privileges it holds, the containers whose rows it is shown, the objects it can name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.standin.model import PDB, ROOT, DatabaseState, TableDef, User

if TYPE_CHECKING:
    from pipelines.standin.engine.session import EngineSession

ADMINISTRATORS = frozenset({"SYS", "SYSTEM"})


def user_of(session: EngineSession) -> User:
    state: DatabaseState = session.database.state
    return state.users[str(session.user)]


def holds_privilege(session: EngineSession, privilege: str) -> bool:
    """A system privilege or role of the user, or that of an administrator."""
    user = user_of(session)
    return user.name in ADMINISTRATORS or bool({privilege, "DBA"} & user.privileges)


def visible_containers(session: EngineSession) -> frozenset[int]:
    """From the root other containers show only to SYS, SYSTEM and users with CONTAINER_DATA; 0 is the whole CDB."""
    if not session.database.state.is_cdb:
        return frozenset({0, ROOT, PDB})
    if session.container != ROOT:
        return frozenset({0, session.container})
    user = user_of(session)
    return frozenset({0, ROOT, 2, PDB}) if user.name in ADMINISTRATORS or user.container_data else frozenset({0, ROOT})


def can_see_table(session: EngineSession, table: TableDef) -> bool:
    """What ALL_ views list: own tables, granted ones, and all with a system privilege over any table."""
    user = user_of(session)
    if table.owner == user.name or holds_privilege(session, "SELECT ANY TABLE"):
        return True
    target = f"{table.owner}.{table.name}"
    return any(granted == target for _, granted in user.grants)
