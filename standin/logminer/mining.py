"""The LogMiner session of one database session: its list of logs and the range it was started with.

Calls in a wrong order get the errors that Oracle documents for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow.compute as pc

from standin.interface import OraError
from standin.logminer.logs import MinedLog, open_log, read_log
from standin.logminer.options import ADDFILE, NEW, REMOVEFILE, StartOption
from standin.model import DatabaseState
from standin.redo_file import DICTIONARY


@dataclass(frozen=True, slots=True)
class MissingLogs:
    """The logs missing between two added logs of a thread."""

    thread: int
    first_sequence: int
    last_sequence: int
    first_scn: int
    next_scn: int

    @property
    def title(self) -> str:
        sequences = f"{self.first_sequence} to {self.last_sequence}"
        return f"Missing log file(s) for thread number {self.thread}, sequence number(s) {sequences}"


@dataclass(frozen=True, slots=True)
class FoundDictionary:
    """A dictionary in the added logs: its definitions, and those that DDL made up to the start of the range."""

    begin_scn: int
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MiningRange:
    """The arguments of START_LOGMNR. `end_scn` is inclusive; None means the end of the redo."""

    start_scn: int
    end_scn: int | None
    options: StartOption
    logs: tuple[MinedLog, ...]
    dictionary: FoundDictionary | None = None  # where DICT_FROM_REDO_LOGS is among the options


@dataclass(slots=True)
class Mining:
    """The LogMiner session of one database session. It ends with that session, and no other session sees it."""

    logs: list[MinedLog] = field(default_factory=list)
    started: MiningRange | None = None
    fetching: int = 0  # cursors on V$LOGMNR_CONTENTS that are not at the end

    def add(self, name: str, options: int, state: DatabaseState) -> None:
        if options == REMOVEFILE:
            self.remove(name)
            return
        if options not in (NEW, ADDFILE):
            raise OraError(1283, "Options parameter specified is invalid")
        if options == NEW:
            log = open_log(name, state)
            self.logs, self.started, self.fetching = [], None, 0
        else:
            self._check_idle()
            log = open_log(name, state)
        self._check_fits(log, state)
        self.logs.append(log)

    def remove(self, name: str) -> None:
        self._check_idle()
        if not any(log.name == name for log in self.logs):
            raise OraError(1290, f"cannot remove unlisted logfile {name}")
        self.logs = [log for log in self.logs if log.name != name]

    def start(self, start_scn: int, end_scn: int, options: StartOption, logs: list[MinedLog]) -> None:
        """Start mining. `start_scn` 0 means all redo of the logs, whatever its SCNs; `end_scn` 0 means the end of the redo.

        Raises ORA-01291 if no log contains the start, or if the end is beyond the last log.
        """
        if not logs:
            raise OraError(1292, "no log file has been specified for the current LogMiner session")
        if start_scn < 0 or end_scn < 0 or (end_scn and end_scn < start_scn):
            raise OraError(1281, "invalid SCN range specified")
        if start_scn and not any(log.holds(start_scn) for log in logs):
            raise OraError(1291, "missing log file")
        if end_scn and end_scn > max(log.header.next_scn for log in logs):
            raise OraError(1291, "missing log file")
        found = find_dictionary(logs, start_scn, options) if StartOption.DICT_FROM_REDO_LOGS in options else None
        self.started = MiningRange(start_scn, end_scn or None, options, tuple(logs), found)

    def end(self) -> None:
        if self.started is None:
            raise OraError(1307, "no LogMiner session is currently active")
        self.logs, self.started, self.fetching = [], None, 0

    def required(self) -> MiningRange:
        """Return the range of the active LogMiner session. Raises ORA-01306 without one."""
        if self.started is None:
            raise OraError(1306, "dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents")
        return self.started

    def _check_idle(self) -> None:
        if self.fetching:
            raise OraError(1315, "Log file has been added or removed during select")

    def _check_fits(self, log: MinedLog, state: DatabaseState) -> None:
        if any(other.name == log.name or other.identity == log.identity for other in self.logs):
            raise OraError(1289, f"cannot add duplicate logfile {log.name}")
        if log.header.dbid != (self.logs[0].header.dbid if self.logs else state.dbid):
            raise OraError(1324, f"cannot add file {log.name} due to DB_ID mismatch")
        if self.logs and self.logs[0].header.resetlogs_id != log.header.resetlogs_id:
            raise OraError(1287, f"file {log.name} is from a different database incarnation")


def by_thread(logs: tuple[MinedLog, ...] | list[MinedLog]) -> dict[int, list[MinedLog]]:
    """Return the logs of each thread in sequence order."""
    threads: dict[int, list[MinedLog]] = {}
    for log in sorted(logs, key=lambda log: (log.header.thread, log.header.sequence)):
        threads.setdefault(log.header.thread, []).append(log)
    return threads


def missing_logs(logs: tuple[MinedLog, ...] | list[MinedLog]) -> list[MissingLogs]:
    """Return the sequences missing between the added logs of each thread."""
    missing = []
    for thread, chain in by_thread(logs).items():
        for a, b in pairwise(chain):
            if b.header.sequence != a.header.sequence + 1:
                missing.append(
                    MissingLogs(thread, a.header.sequence + 1, b.header.sequence - 1, a.header.next_scn, b.header.first_scn)
                )
    return missing


def find_dictionary(logs: list[MinedLog], start_scn: int, options: StartOption) -> FoundDictionary:
    """Read the newest dictionary that lies completely before the range. Raises ORA-01371 without one, and ORA-01291 if it must
    follow DDL and a log between it and the range is missing."""
    start = start_scn or min((log.header.first_scn for log in logs), default=0)
    starts = [log for log in logs if log.header.dictionary_begin and log.header.first_scn <= start]
    for begin in sorted(starts, key=lambda log: log.header.first_scn, reverse=True):
        chain = by_thread(logs)[begin.header.thread]
        chain = [log for log in chain if log.header.sequence >= begin.header.sequence]
        length = next((n for n, log in enumerate(chain, 1) if log.header.dictionary_end), None)
        if length is None or missing_logs(chain[:length]):
            continue
        later = [log for log in logs if log.header.next_scn > begin.header.first_scn]
        if StartOption.DDL_DICT_TRACKING in options and missing_logs(later):
            raise OraError(1291, "missing log file")
        return FoundDictionary(begin.header.first_scn, tuple(_definitions(chain[:length], later, start)))
    raise OraError(1371, "Complete LogMiner dictionary not found")


def _definitions(built: list[MinedLog], later: list[MinedLog], start: int) -> Iterator[str]:
    """Yield the definitions of the dictionary's logs, and of others below the start, in the order of their SCNs."""
    found: list[tuple[int, str]] = []
    identities = {log.identity for log in built}
    for log in later:
        if log.identity not in identities and log.header.first_scn >= start:
            continue
        for batch in read_log(log):
            chosen = batch.filter(pc.equal(batch.column("info"), DICTIONARY))
            pairs = zip(chosen.column("scn").to_pylist(), chosen.column("sql").to_pylist(), strict=True)
            found += [(scn, text) for scn, text in pairs if log.identity in identities or scn < start]
    yield from (text for _, text in sorted(found, key=lambda pair: pair[0]))
