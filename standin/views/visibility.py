"""Decides which containers' rows a session sees, and which tables ALL_ views list for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from standin.engine.sessions.privileges import may
from standin.model import PDB, ROOT, TableDef, User

if TYPE_CHECKING:
    from standin.engine.sessions.session import EngineSession

ADMINISTRATORS = frozenset({"SYS", "SYSTEM"})


def visible_containers(session: EngineSession) -> frozenset[int]:
    """Return the visible containers; 0 is the whole CDB. In the root, others need SYS, SYSTEM or CONTAINER_DATA."""
    if not session.database.state.is_cdb:
        return frozenset({0, ROOT, PDB})
    if session.container != ROOT:
        return frozenset({0, session.container})
    user: User = session.account
    return frozenset({0, ROOT, 2, PDB}) if user.name in ADMINISTRATORS or user.container_data else frozenset({0, ROOT})


def can_see_table(session: EngineSession, table: TableDef) -> bool:
    """Return whether the user has any privilege on the table."""
    user: User = session.account
    target = f"{table.owner}.{table.name}"
    return may(user, "SELECT", table) or any(granted == target for _, granted in user.grants)
