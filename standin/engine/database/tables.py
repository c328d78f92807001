"""The tables of all containers: their definitions in the dictionary and their stored rows."""

from __future__ import annotations

from standin.engine.database.plans import Plans
from standin.engine.redo.clock import Clock
from standin.engine.storage.storage import TableStore
from standin.interface import OraError
from standin.model import Constraint, DatabaseState, TableDef
from standin.zones import session_zone

StoreKey = tuple[int, str, str]  # container, owner, name


class Tables:
    """The caller holds the database's lock. Every change empties the plan cache."""

    def __init__(self, state: DatabaseState, clock: Clock, plans: Plans) -> None:
        self._state, self._clock, self._plans = state, clock, plans
        self.stores: dict[StoreKey, TableStore] = {}
        self.recycled: dict[int, TableStore] = {}  # object id -> rows of a table in the recycle bin

    def add(self, store: TableStore) -> None:
        table = store.definition
        key = (table.con_id, table.owner, table.name)
        self.stores[key], self._state.tables[key] = store, table
        self._plans.by_session |= table.temporary
        self.refresh(store)

    def end_session(self, number: int) -> None:
        for store in self.stores.values():
            store.of_sessions.pop(number, None)

    def remove(self, store: TableStore) -> None:
        table = store.definition
        key = (table.con_id, table.owner, table.name)
        del self.stores[key], self._state.tables[key]
        self._state.last_drop_scn = self._clock.scn
        store.generation += 1
        self._plans.forget()

    def refresh(self, store: TableStore) -> None:
        """Derive the layout again after the definition or the supplemental logging has changed."""
        store.database_zone = session_zone(self._state.time_zone)
        store.refresh(self._state.logged_in(store.definition.con_id))
        self._plans.forget()

    def refresh_all(self) -> None:
        for store in self.stores.values():
            self.refresh(store)

    def parent_of(self, table: TableDef, constraint: Constraint) -> TableStore:
        """Return the table that a foreign key of `table` refers to."""
        assert constraint.references is not None
        for store in self.stores.values():
            definition, (owner, key) = store.definition, constraint.references
            same_owner = (definition.con_id, definition.owner) == (table.con_id, owner)
            if same_owner and any(c.name == key for c in definition.constraints):
                return store
        raise OraError(942, "table or view does not exist")

    def children_of(self, parent: TableStore) -> list[tuple[TableStore, Constraint]]:
        """Return the enabled foreign keys that refer to a key of `parent`, each with its table."""
        keys = {(parent.definition.owner, c.name) for c in parent.definition.constraints}
        return [
            (store, constraint)
            for store in self.stores.values()
            if store.has_references and store.definition.con_id == parent.definition.con_id
            for constraint in store.definition.constraints
            if constraint.kind == "R" and constraint.enabled and constraint.references in keys
        ]
