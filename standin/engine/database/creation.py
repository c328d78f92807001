"""CREATE DATABASE: the state of a new database from its options."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from standin.engine.redo.clock import Clock
from standin.engine.settings.options import DatabaseOptions
from standin.model import (
    PDB,
    ROOT,
    ArchiveDestination,
    DatabaseIncarnation,
    DatabaseState,
    OnlineLog,
    PdbIdentity,
    PdbIncarnation,
    RedoThreadState,
    User,
)


def create_database(options: DatabaseOptions, directory: Path, clock: Clock) -> DatabaseState:
    now = clock.second()
    state = DatabaseState(
        options.name,
        options.name,
        options.dbid,
        options.is_cdb,
        options.pdb_name,
        now,
        supplemental=set(options.supplemental),
        time_zone=options.time_zone,
    )
    resetlogs_id = int((now - now.replace(year=1988, month=1, day=1, hour=0, minute=0, second=0)).total_seconds())
    state.incarnations.append(DatabaseIncarnation(1, options.start_scn, now, 0, resetlogs_id))
    if options.is_cdb:
        state.pdb = new_pdb(state, now, number=1)
    state.parameters = {
        "archive_lag_target": str(options.archive_lag_target),
        "undo_retention": "900",
        "compatible": "19.0.0",
        "db_name": options.name,
        "max_string_size": "EXTENDED" if options.extended_strings else "STANDARD",
    }
    for name, password in options.passwords:
        state.users[name] = User(name, password, ROOT if options.is_cdb else 0, {"DBA"})
    folders = options.destinations or (directory / "archive",)
    for number, folder in enumerate(folders, 1):
        folder.mkdir(parents=True, exist_ok=True)
        state.destinations.append(ArchiveDestination(number, str(folder)))
    for number in range(1, options.threads + 1):
        state.threads[number] = new_thread(state, options, directory, clock, number)
    return state


def new_pdb(state: DatabaseState, now: datetime, number: int) -> PdbIdentity:
    """Return the identity of the `number`th PDB that is created or plugged in."""
    at = state.incarnation
    born = PdbIncarnation(at.number, 0, at.resetlogs_scn, now, at.resetlogs_scn, at.resetlogs_scn)
    identity = state.dbid + PDB + 7919 * (number - 1)
    return PdbIdentity(bytes([PDB]) * 15 + bytes([number]), identity, identity, [born])


def new_thread(state: DatabaseState, options: DatabaseOptions, directory: Path, clock: Clock, number: int) -> RedoThreadState:
    """Return an open, enabled thread whose first log is current."""
    now, first_group = clock.second(), 1 + max((log.group for t in state.threads.values() for log in t.logs), default=0)
    logs = [
        OnlineLog(
            group, number, str(directory / f"redo{group:02d}.log"), 0, 0, now, status="UNUSED", size_bytes=options.log_bytes
        )
        for group in range(first_group, first_group + max(2, options.groups))
    ]
    logs[0].status, logs[0].sequence, logs[0].first_scn = "CURRENT", 1, clock.scn
    instance = options.name if options.threads == number == 1 else f"{options.name}{number}"
    return RedoThreadState(
        number, instance, logs=logs, opened_at=now, checkpoint_scn=clock.scn, checkpoint_at=now, enable_scn=clock.scn,
        enable_at=now, last_redo_scn=clock.scn, last_redo_at=now,
    )  # fmt: skip
