"""One LogMiner session: logs added, started, proved to hold what was asked for, ended whatever happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from pipelines.errors import MiningIncomplete, RedolakeError, RedoLost, SourceUnavailable
from pipelines.redo import LogCopy, LogFile, Slice

# The file cannot be opened or read, or is not what the control file says: another destination's copy may be whole.
BAD_COPY = frozenset({308, 310, 353, 354, 368, 1284, 1285, 1286, 1287, 1324, 1336, 1343, 1346, 1368, 27037})
NO_SESSION = 1307
READ_STATUS = frozenset({0, 1})
MISSING_STATUS = 4


class Session(Protocol):
    """What mining needs of source.oracle.Source."""

    def query(self, name: str, /, **binds: object) -> list[Any]: ...
    def arrow(self, sql: str, binds: Mapping[str, object], rows: int, *, name: str) -> Iterator[Any]: ...
    def call(self, name: str, /, **binds: object) -> None: ...
    def use_container(self, name: str | None) -> None: ...
    def pin_session(self) -> Mapping[str, str]: ...


@contextmanager
def logminer(session: Session, logs: Slice) -> Iterator[dict[LogFile, LogCopy]]:
    """A started LogMiner session over the slice's logs; yields the copy that was opened of each.

    The range is that of the logs, never the window's: a late row lies in a log that the window's edge cuts (D3).
    """
    try:
        opened = {log: _add(session, log, is_first=n == 0) for n, log in enumerate(logs.logs)}
        # LogMiner's end is inclusive.
        session.call("start_logmnr", start_scn=int(logs.first_scn), end_scn=int(logs.next_scn) - 1)
        _prove_whole(session, logs)
        yield opened
    except BaseException:
        _end(session, failed=True)
        raise
    _end(session, failed=False)


def _add(session: Session, log: LogFile, *, is_first: bool) -> LogCopy:
    """Add the first copy that Oracle can open."""
    refused = []
    for copy in log.claimed:
        try:
            session.call("new_logfile" if is_first else "add_logfile", file_name=copy.name)
        except RedolakeError as error:
            if error.ora_code not in BAD_COPY:
                raise
            refused.append(f"destination {copy.dest_id}: {copy.name}: {error.what}")
        else:
            return copy
    raise RedoLost(
        f"Redo Thread {log.thread} is inconsistent; an archive log with sequence {log.sequence} is not available",
        cure=f"restore it with RMAN (RESTORE ARCHIVELOG THREAD {log.thread} SEQUENCE {log.sequence}) and run again; "
        "or take new snapshots of the tables",
        thread=log.thread,
        sequence=log.sequence,
        scn=log.first_scn,
        tried="; ".join(refused) or "V$ARCHIVED_LOG claims no copy any more",
    )


def _prove_whole(session: Session, logs: Slice) -> None:
    """LogMiner reports a hole in the list here, and starts all the same."""
    rows = session.query("mined_logs")
    own = [row for row in rows if row.thread_id == logs.thread]
    missing = [row for row in own if row.status == MISSING_STATUS]
    read = {(row.thread_id, row.thread_sqn) for row in rows if row.status in READ_STATUS}
    wanted = {(log.thread, log.sequence) for log in logs.logs}
    if missing or read != wanted:
        raise MiningIncomplete(
            "LogMiner does not read the logs it was given",
            cure="run again; if it stays, compare V$LOGMNR_LOGS with V$ARCHIVED_LOG for this range",
            thread=logs.thread,
            missing="; ".join(row.filename for row in missing) or None,
            unread=_shown(wanted - read),
            unasked=_shown(read - wanted),
        )


def _shown(logs: set[tuple[int, int]]) -> str | None:
    return ", ".join(f"{thread}/{sequence}" for thread, sequence in sorted(logs)) or None


def _end(session: Session, *, failed: bool) -> None:
    """Free the miner's memory. A lost session has ended by itself; after a failure the failure is what counts."""
    try:
        session.call("end_logmnr")
    except SourceUnavailable:
        return
    except RedolakeError as error:
        if not failed and error.ora_code != NO_SESSION:
            raise
