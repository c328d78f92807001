"""Registers views: V$ views, and dictionary views under DBA_, CDB_, ALL_ and USER_."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from standin.engine.sessions.catalog import register_view
from standin.engine.sessions.privileges import may_use_type
from standin.model import TableDef
from standin.views.columns import columns_of
from standin.views.visibility import can_see_table, visible_containers

if TYPE_CHECKING:
    from standin.engine.database.database import Database
    from standin.engine.sessions.session import EngineSession

Row = tuple[Any, ...]


def fixed_view(
    name: str, columns: str, rows: Callable[[EngineSession], Iterable[Row]], *, public: bool = False, con_id: int | None = None
) -> None:
    """Register a V$ view. `con_id` is the index of CON_ID in the row, to omit rows of containers hidden from the session."""

    def visible(session: EngineSession, _: frozenset[str]) -> list[Row]:
        with session.database.lock:
            found = list(rows(session))
        if con_id is None:
            return found
        containers = visible_containers(session)
        return [row for row in found if row[con_id] in containers]

    register_view(name, columns_of(columns), visible, public=public)


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A row of a dictionary view, with its container, owner and table (None for other objects)."""

    con_id: int
    owner: str
    table: TableDef | None
    values: Row
    is_type: bool = False


def _is_accessible(session: EngineSession, entry: ViewRow) -> bool:
    if entry.table is not None and can_see_table(session, entry.table):
        return True
    if entry.is_type and may_use_type(session.account, entry.owner, str(entry.values[1])):
        return True
    return entry.owner == session.user


def dictionary_views(
    name: str,
    columns: str,
    entries: Callable[[Database], Iterable[ViewRow]],
    *,
    user_has_owner: bool = False,
    only: Sequence[str] = ("DBA", "CDB", "ALL", "USER"),
) -> None:
    """Register dictionary views under the prefixes in `only`.

    OWNER is the first column. USER_ views omit it unless `user_has_owner`; CDB_ views add CON_ID.
    """
    described = columns_of(columns)

    def listed(session: EngineSession) -> list[ViewRow]:
        with session.database.lock:
            return list(entries(session.database))

    def dba(session: EngineSession, _: frozenset[str]) -> list[Row]:
        return [e.values for e in listed(session) if e.con_id == session.container]

    def cdb(session: EngineSession, _: frozenset[str]) -> list[Row]:
        containers = visible_containers(session)
        return [(*e.values, e.con_id) for e in listed(session) if e.con_id in containers]

    def accessible(session: EngineSession, _: frozenset[str]) -> list[Row]:
        here = [e for e in listed(session) if e.con_id == session.container]
        return [e.values for e in here if _is_accessible(session, e)]

    def own(session: EngineSession, _: frozenset[str]) -> list[Row]:
        rows = [e for e in listed(session) if e.con_id == session.container and e.owner == session.user]
        return [e.values if user_has_owner else e.values[1:] for e in rows]

    own_columns = described if user_has_owner else described[1:]
    if "DBA" in only:
        register_view(f"DBA_{name}", described, dba)
    if "CDB" in only:
        register_view(f"CDB_{name}", (*described, *columns_of("CON_ID NUMBER")), cdb)
    if "ALL" in only:
        register_view(f"ALL_{name}", described, accessible, public=True)
    if "USER" in only:
        register_view(f"USER_{name}", own_columns, own, public=True)


def yes_no(value: object) -> str:
    return "YES" if value else "NO"
