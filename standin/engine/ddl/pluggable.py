"""ALTER PLUGGABLE DATABASE .. OPEN and CLOSE, FLASHBACK PLUGGABLE DATABASE: the one PDB, from the root."""

from __future__ import annotations

from standin.engine.database.database import Database
from standin.engine.database.pdb_recovery import PdbRecovery
from standin.engine.ddl.system import alter_database, in_root
from standin.engine.sessions.privileges import require
from standin.engine.sessions.session import EngineSession
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import PDB


def alter_pluggable_database(session: EngineSession, cursor: Cursor) -> None:
    """Open or close the PDB if the statement names it; else alter the PDB that the session is in."""
    if not cursor.accept(session.database.state.pdb_name):
        alter_database(session, cursor)
        return
    require(session.account, "ALTER DATABASE")
    in_root(session)
    if cursor.accept("CLOSE"):
        cursor.accept("IMMEDIATE")
        cursor.end()
        close_pdb(session.database)
        return
    cursor.expect("OPEN")
    resetlogs = cursor.accept("RESETLOGS")
    cursor.end()
    open_pdb(session.database, resetlogs=resetlogs)


def flashback_pluggable_database(session: EngineSession, cursor: Cursor) -> None:
    """Run FLASHBACK PLUGGABLE DATABASE name TO SCN n: the PDB is closed, and must be opened with RESETLOGS afterwards."""
    require(session.account, "ALTER DATABASE")
    in_root(session)
    database = session.database
    cursor.expect(database.state.pdb_name)
    cursor.expect("TO", "SCN")
    scn = int(cursor.take().value)
    cursor.end()
    if database.state.pdb_is_open:
        raise OraError(65025, f"Pluggable database {database.state.pdb_name} is not closed on all instances.")
    PdbRecovery(database).flash_back(scn)


def close_pdb(database: Database) -> None:
    """End the sessions of the PDB. Others get ORA-01033, and LogMiner ORA-16331."""
    if not database.state.pdb_is_open:
        raise OraError(65020, f"pluggable database {database.state.pdb_name} already closed")
    database.state.pdb_is_open = False
    for session in [s for s in database.sessions.values() if s.container == PDB]:
        database.kill(session.number)


def open_pdb(database: Database, *, resetlogs: bool = False) -> None:
    if database.state.pdb_is_open:
        raise OraError(65019, f"pluggable database {database.state.pdb_name} already open")
    if resetlogs:
        PdbRecovery(database).open_resetlogs()
    elif database.pdb_flashed_back is not None:
        raise OraError(1589, "must use RESETLOGS or NORESETLOGS option for database open")
    database.state.pdb_is_open = True
