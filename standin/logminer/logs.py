"""The log files of a LogMiner session: the header checks of ADD_LOGFILE, and the errors of reading a file later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from standin.interface import OraError
from standin.model import DatabaseState, OnlineLog
from standin.redo_file import BATCH_RECORDS, LogHeader, read_header, read_records, to_batch

OPEN_ENDS = frozenset({2**64 - 1, 2**48 - 1})  # NEXT_CHANGE# of a current log: the newer and the older sentinel
_LINUX_EACCES = ("ORA-27041: unable to open file", "Linux-x86_64 Error: 13: Permission denied")
_LINUX_ENOENT = ("ORA-27037: unable to obtain file status", "Linux-x86_64 Error: 2: No such file or directory")


@dataclass(frozen=True, slots=True)
class MinedLog:
    """An added log, with its header at that time. `online` is the log group of an online log."""

    name: str
    header: LogHeader
    size_bytes: int
    online: OnlineLog | None = None

    @property
    def identity(self) -> tuple[int, int, int]:
        """Thread, sequence and RESETLOGS_ID, equal for all copies of a log."""
        return self.header.thread, self.header.sequence, self.header.resetlogs_id

    @property
    def is_open(self) -> bool:
        return self.header.next_scn in OPEN_ENDS

    def holds(self, scn: int) -> bool:
        return self.header.first_scn <= scn < self.header.next_scn


def open_log(name: str, state: DatabaseState) -> MinedLog:
    """Read the header of the named file. Raises ORA-01284 if it cannot be opened, ORA-01285 if it is not a log."""
    for thread in state.threads.values():
        for log in thread.logs:
            if log.member == name and log.status != "UNUSED":
                return MinedLog(name, _online_header(log, state), log.size_bytes, log)
    path = Path(name)
    try:
        header, size = read_header(path), path.stat().st_size
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as missing:
        raise cannot_open(name) from missing
    except PermissionError as denied:
        raise cannot_open(name, *_LINUX_EACCES) from denied
    except OSError as failure:
        raise cannot_open(name, str(failure)) from failure
    except ValueError as no_log:
        nested = ("ORA-00317: file type 0 in header is not log file",)
        raise OraError(1285, f"error reading file {name}", more=nested) from no_log
    return MinedLog(name, header, size)


def _online_header(log: OnlineLog, state: DatabaseState) -> LogHeader:
    incarnation = state.incarnation
    return LogHeader(
        dbid=state.dbid,
        db_name=state.name,
        resetlogs_id=incarnation.resetlogs_id,
        resetlogs_scn=incarnation.resetlogs_scn,
        thread=log.thread,
        sequence=log.sequence,
        first_scn=log.first_scn,
        first_time=log.first_at.isoformat(),
        next_scn=2**64 - 1 if log.next_scn is None else log.next_scn,
        next_time=log.next_at.isoformat() if log.next_at else None,
        records=len(log.records),
        dictionary_begin=log.dictionary_begin,
        dictionary_end=log.dictionary_end,
    )


def cannot_open(name: str, *reasons: str) -> OraError:
    nested = (f"ORA-00308: cannot open archived log '{name}'", *(reasons or _LINUX_ENOENT))
    return OraError(1284, f"file {name} cannot be opened", more=nested)


def read_log(log: MinedLog) -> Iterator[pa.RecordBatch]:
    """Yield the records as they are on disk now, which may differ from the time of ADD_LOGFILE."""
    if log.online is not None:
        yield from _read_online(log, log.online)
        return
    path = Path(log.name)
    try:
        now = read_header(path)
        _check_same(log, now)
        yield from read_records(path)
    except FileNotFoundError as missing:
        raise cannot_open(log.name) from missing
    except PermissionError as denied:
        raise cannot_open(log.name, *_LINUX_EACCES) from denied
    except (pa.ArrowInvalid, ValueError) as broken:
        raise _corrupt(log) from broken
    except OSError as failure:
        # Arrow reports a truncated file as an OSError without a number; the system's own errors have one.
        if failure.errno is None:
            raise _corrupt(log) from failure
        raise OraError(1285, f"error reading file {log.name}", more=(str(failure),)) from failure


def _corrupt(log: MinedLog) -> OraError:
    where = f"near block {log.size_bytes // 512} change {log.header.next_scn} time {log.header.next_time}"
    return OraError(353, f"log corruption {where}", more=(f"ORA-00334: archived log: '{log.name}'",))


def _check_same(log: MinedLog, now: LogHeader) -> None:
    if now.sequence != log.header.sequence:
        raise OraError(
            310,
            f"archived log contains sequence {now.sequence}; sequence {log.header.sequence} required",
            more=(f"ORA-00334: archived log: '{log.name}'",),
        )
    if any(getattr(now, f.name) != getattr(log.header, f.name) for f in fields(LogHeader)):
        raise OraError(1368, f"redo log file header of {log.name} differs from the header at the time the file was added")


def _read_online(log: MinedLog, online: OnlineLog) -> Iterator[pa.RecordBatch]:
    """Yield the records that the online log has now. Raises ORA-00310 if the log is overwritten meanwhile."""
    at, end = 0, len(online.records)
    while at < end:
        if online.sequence != log.header.sequence:
            raise OraError(
                310,
                f"archived log contains sequence {online.sequence}; sequence {log.header.sequence} required",
                more=(f"ORA-00334: archived log: '{log.name}'",),
            )
        chunk = online.records[at : min(at + BATCH_RECORDS, end)]
        if chunk:
            yield to_batch(chunk)
        at += BATCH_RECORDS


def header_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(microsecond=0)
