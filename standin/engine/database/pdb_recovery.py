"""Set the PDB back alone, or put another one under its name, while the rest of the database runs on.

The redo of the database contains none of it: no row is undone there, SCNs continue, V$DATABASE_INCARNATION stays. Only the
PDB's own incarnation, or its GUID, CON_UID and DBID, show that its tables are not those that the redo describes.
"""

from __future__ import annotations

from standin.engine.database.creation import new_pdb
from standin.engine.database.database import Database
from standin.interface import OraError
from standin.model import PDB, DatabaseIncarnation, PdbIdentity, PdbIncarnation


class PdbRecovery:
    """The caller holds the database's lock."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def set_back(self, scn: int) -> PdbIncarnation:
        """Close the PDB, set it back (FLASHBACK PLUGGABLE DATABASE, or point-in-time recovery) and open it with RESETLOGS."""
        if self._database.state.pdb_is_open:
            self._end_sessions()
        self.flash_back(scn)
        return self.open_resetlogs()

    def flash_back(self, scn: int) -> None:
        """Run FLASHBACK PLUGGABLE DATABASE .. TO SCN: the sessions of the PDB have ended."""
        self._pdb()
        if scn >= self._database.clock.scn:
            raise OraError(38743, "Time/SCN is in the future of the database.")
        begin = self._database.clock.next_scn()
        self._rewind(scn)
        self._database.pdb_flashed_back = scn, begin

    def open_resetlogs(self) -> PdbIncarnation:
        """Begin the PDB's next incarnation."""
        database, pdb = self._database, self._pdb()
        if database.pdb_flashed_back is None:
            raise OraError(1139, "RESETLOGS option only valid after an incomplete database recovery")
        (scn, begin), database.pdb_flashed_back = database.pdb_flashed_back, None
        prior = pdb.incarnation
        prior.status = "PARENT"
        number = 1 + max(i.number for i in pdb.incarnations)
        born = PdbIncarnation(
            database.state.incarnation.number,
            number,
            scn,
            database.clock.second(),
            begin,
            database.clock.next_scn(),
            prior=(prior.db_incarnation, prior.number),
        )
        pdb.incarnations.append(born)
        return born

    def replace(self, scn: int | None) -> PdbIdentity:
        """Drop the PDB and plug another one in under its name: a copy of it as of `scn`, with the same object ids."""
        database = self._database
        number = self._pdb().guid[-1] + 1
        self._end_sessions()
        database.clock.next_scn()
        if scn is not None:
            self._rewind(scn)
        database.state.pdb = new_pdb(database.state, database.clock.second(), number)
        return database.state.pdb

    def _pdb(self) -> PdbIdentity:
        if self._database.state.pdb is None:
            raise OraError(65090, "operation only allowed in a container database")
        return self._database.state.pdb

    def _end_sessions(self) -> None:
        """End the sessions of the PDB, and roll their transactions back."""
        for session in list(self._database.sessions.values()):
            tx = session.transaction
            if session.container == PDB or (tx is not None and tx.con_id == PDB):
                self._database.kill(session.number)
        self._database.end_branches()

    def _rewind(self, scn: int) -> None:
        database = self._database
        stores = [store for store in database.tables.stores.values() if store.definition.con_id == PDB]
        changed = any(store.structure_scn > scn >= store.created_scn for store in stores)
        if changed or database.state.last_drop_scn > scn or scn < database.oldest_scn:
            raise OraError(38729, "Not enough flashback database log data to do FLASHBACK.")
        dropped = database.state.last_drop_scn
        for store in stores:
            if store.created_scn > scn:
                database.tables.remove(store)
            else:
                store.rewind(scn)
        database.state.last_drop_scn = dropped  # tables removed here did not exist at that SCN
        database.plans.forget()


def follow_resetlogs(pdb: PdbIdentity, born: DatabaseIncarnation) -> None:
    """Begin the PDB's incarnation 0 of a new incarnation of the whole database."""
    prior = pdb.incarnation
    prior.status = "PARENT"
    scn = born.resetlogs_scn
    pdb.incarnations.append(
        PdbIncarnation(born.number, 0, scn, born.resetlogs_at, scn, scn, prior=(prior.db_incarnation, prior.number))
    )
