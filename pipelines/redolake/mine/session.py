"""Run one LogMiner session: add logs, prove that they are the planned ones, start, and always end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from redolake.errors import MiningIncomplete, NoDictionaryInRedo, RedolakeError, SourceBusy, SourceUnavailable
from redolake.mine.copies import RESTORE_LOG, LogSet, WrongLog, after_failure, not_available, refusal, without_choice
from redolake.values.ora_codes import BAD_COPY, NO_LOGMINER_SESSION
from redolake.values.redo import LogCopy, LogFile, Slice, Window
from redolake.values.scn import Scn, known_end

READ_STATUS = frozenset({0, 1})
MISSING_STATUS = 4
IDENTITY = ("thread_id", "thread_sqn", "low_scn", "next_scn", "db_id", "reset_scn")


class Session(Protocol):
    """The part of source.oracle.Source that mining uses."""

    @property
    def pdb_only(self) -> bool: ...
    def query(self, name: str, /, **binds: object) -> list[Any]: ...
    def arrow(self, sql: str, binds: Mapping[str, object], rows: int, *, name: str, decimals: bool = True) -> Iterator[Any]: ...
    def call(self, name: str, /, **binds: object) -> None: ...
    def use_container(self, name: str | None) -> None: ...
    def pin_session(self) -> Mapping[str, str]: ...


@contextmanager
def logminer(session: Session, log_set: LogSet, window: Window) -> Iterator[dict[LogFile, LogCopy]]:
    """Start LogMiner on the logs and yield the copy that was opened of each.

    LogMiner gets no SCN range: the caller must see all rows of the logs, also those outside the logs' own ranges. Only rows
    before a dictionary in the redo are left out: LogMiner has no names for them. Any failure, in here or in the block, becomes
    BadCopy while an untried copy is left.
    """
    logs = log_set.added
    opened: dict[LogFile, LogCopy] = {}
    try:
        if session.pdb_only:
            # LogMiner's end is inclusive.
            session.call("start_logmnr_in_pdb", start_scn=int(logs.first_scn), end_scn=int(logs.next_scn) - 1)
            opened |= _chosen_by_oracle(session, logs)
            _prove_identity(session, window, opened)
        else:
            for log in log_set.all_logs:
                opened[log] = _add(session, log, log_set.refused, is_first=not opened)
            _prove_identity(session, window, opened)
            if log_set.dictionary_scn is None:
                session.call("start_logmnr")
            else:
                _check_start(log_set.dictionary_scn, window)
                session.call("start_logmnr_with_redo_dictionary", start_scn=int(log_set.dictionary_scn))
        _prove_all_read(session, log_set)
        yield opened
    except RedolakeError as error:
        _end(session, error)
        outcome = without_choice(error, logs) if session.pdb_only else after_failure(error, log_set, opened)
        if outcome is error:
            raise
        raise outcome from error
    except BaseException as error:
        _end(session, error)
        raise
    _end(session, None)


def _check_start(dictionary_scn: Scn, window: Window) -> None:
    """Raise NoDictionaryInRedo where LogMiner, which begins at its dictionary, would leave out rows that the window reads."""
    if dictionary_scn > window.lowest_scn:
        raise NoDictionaryInRedo(
            f"the dictionary in the redo begins at SCN {dictionary_scn}, and the window reads from SCN {window.lowest_scn} on",
            cure="set `dictionary: online` under `source`, and run again",
            window=window.name,
            scn=int(window.lowest_scn),
        )


def _add(session: Session, log: LogFile, refused_before: tuple[str, ...], *, is_first: bool) -> LogCopy:
    """Add the first copy that Oracle can open."""
    refused = list(refused_before)
    for copy in log.claimed:
        try:
            session.call("new_logfile" if is_first else "add_logfile", file_name=copy.name)
        except RedolakeError as error:
            if error.ora_code not in BAD_COPY:
                raise
            refused.append(refusal(copy, error))
        else:
            return copy
    raise not_available(log, refused)


def _chosen_by_oracle(session: Session, logs: Slice) -> dict[LogFile, LogCopy]:
    """Return the file that Oracle chose for each log. It may be the online log, which has the same redo. Raise if a log is
    not among them."""
    rows = {(row.thread_id, row.thread_sqn): row for row in session.query("mined_logs")}
    chosen = {}
    for log in logs.logs:
        row = rows.get((log.thread, log.sequence))
        if row is None or row.status == MISSING_STATUS:
            raise MiningIncomplete(
                f"Oracle did not choose log {log.sequence} of redo thread {log.thread}, so its rows would be missing",
                cure=f"{RESTORE_LOG.format(sequence=log.sequence, thread=log.thread)}. If V$LOGMNR_LOGS shows no rows in "
                "this PDB at all, capture the database from the root",
                thread=log.thread,
                sequence=log.sequence,
                scn=log.first_scn,
            )
        known = next((copy for copy in log.copies if copy.name == row.filename), None)
        chosen[log] = known or LogCopy(0, row.filename, "A")
    return chosen


def _prove_identity(session: Session, window: Window, opened: Mapping[LogFile, LogCopy]) -> None:
    """Raise WrongLog unless the header of each file names the planned log. A file may have been overwritten by another log."""
    incarnations = session.query("incarnations")
    began = {int(row.resetlogs_id): int(row.resetlogs_scn) for row in incarnations}
    rows = session.query("mined_logs")
    by_name = {row.filename: row for row in rows}
    by_sequence = {(row.thread_id, row.thread_sqn): row for row in rows}
    for log, copy in opened.items():
        row = by_name.get(copy.name) or by_sequence.get((log.thread, log.sequence))
        wanted = (log.thread, log.sequence, log.first_scn, log.next_scn, window.dbid, began.get(log.resetlogs_id))
        found = None if row is None else tuple(getattr(row, name) for name in IDENTITY)
        # Oracle may leave the end of the last log before a RESETLOGS open.
        if found is not None and known_end(found[3]) is None and log.next_scn in began.values():
            found = (*found[:3], log.next_scn, *found[4:])
        if found != wanted:
            raise WrongLog(
                f"the file {copy.name} contains another log than V$ARCHIVED_LOG lists: {_differences(found, wanted)}",
                cure="restore the right log to that path, and run again",
                thread=log.thread,
                sequence=log.sequence,
                scn=log.first_scn,
            )


def _differences(found: tuple[Any, ...] | None, wanted: tuple[Any, ...]) -> str:
    if found is None:
        return "V$LOGMNR_LOGS does not list it"
    pairs = zip(IDENTITY, found, wanted, strict=True)
    return ", ".join(f"{name} {have} instead of {want}" for name, have, want in pairs if have != want)


def _prove_all_read(session: Session, log_set: LogSet) -> None:
    """Raise unless LogMiner reads exactly these logs. It starts even with a hole in its list, and reports it here.

    Where Oracle chooses the logs, it also reads those of other redo threads, whose rows the caller drops.
    """
    rows, logs = session.query("mined_logs"), log_set.added
    threads = {log.thread for log in log_set.all_logs}
    missing = [row for row in rows if row.thread_id in threads and row.status == MISSING_STATUS]
    read = {(row.thread_id, row.thread_sqn) for row in rows if row.status in READ_STATUS}
    wanted = {(log.thread, log.sequence) for log in log_set.all_logs}
    if session.pdb_only:
        read &= wanted
    codes = [row.status for row in session.query("mining_parameters")]
    if missing or read != wanted or codes != [0]:
        raise MiningIncomplete(
            "LogMiner does not read the logs it was given",
            cure="run again; if it fails again, compare V$LOGMNR_LOGS with V$ARCHIVED_LOG for this range",
            thread=logs.thread,
            missing="; ".join(row.filename for row in missing) or None,
            unread=_show(wanted - read),
            unasked=_show(read - wanted),
            session_status=None if codes == [0] else codes,
        )


def _show(logs: set[tuple[int, int]]) -> str | None:
    return ", ".join(f"{thread}/{sequence}" for thread, sequence in sorted(logs)) or None


def _end(session: Session, failure: BaseException | None) -> None:
    """Free LogMiner's memory. A lost or hanging session ends with its connection. After a failure only that is raised."""
    if isinstance(failure, SourceUnavailable | SourceBusy):
        return
    try:
        session.call("end_logmnr")
    except SourceUnavailable:
        return
    except RedolakeError as error:
        if failure is None and error.ora_code != NO_LOGMINER_SESSION:
            raise
