"""V$LOGMNR_LOGS and V$LOGMNR_PARAMETERS: the logs and parameters of a session's LogMiner session."""

from __future__ import annotations

from typing import Any

from standin.logminer.logs import MinedLog, header_time
from standin.logminer.mining import Mining, MiningRange, MissingLogs, missing_logs
from standin.views.columns import columns_of
from standin.views.registration import yes_no

LOG_COLUMNS = columns_of(
    """
    LOG_ID NUMBER, FILENAME VARCHAR2(513), LOW_TIME DATE, HIGH_TIME DATE, DB_ID NUMBER, DB_NAME VARCHAR2(9), RESET_SCN NUMBER,
    RESET_SCN_TIME DATE, COMPATIBLE VARCHAR2(17), THREAD_ID NUMBER, THREAD_SQN NUMBER, LOW_SCN NUMBER, NEXT_SCN NUMBER,
    DICTIONARY_BEGIN VARCHAR2(3), DICTIONARY_END VARCHAR2(3), TYPE VARCHAR2(8), BLOCKSIZE NUMBER, FILESIZE NUMBER,
    INFO VARCHAR2(32), STATUS NUMBER, CON_ID NUMBER
    """
)
PARAMETER_COLUMNS = columns_of(
    """
    START_DATE DATE, REQUIRED_START_DATE DATE, END_DATE DATE, START_SCN NUMBER, REQUIRED_START_SCN NUMBER, END_SCN NUMBER,
    OPTIONS NUMBER, INFO VARCHAR2(32), STATUS NUMBER, CON_ID NUMBER
    """
)
WILL_BE_READ, READ_FIRST, PRUNED, MISSING = 0, 1, 2, 4
Row = tuple[Any, ...]


def log_rows(mining: Mining) -> list[Row]:
    """Return the logs in thread and sequence order; missing logs are one entry with STATUS 4."""
    logs = list(mining.started.logs) if mining.started else mining.logs
    entries: list[tuple[tuple[int, int], MinedLog | MissingLogs]] = [
        ((g.thread, g.first_sequence), g) for g in missing_logs(logs)
    ]
    entries += [((log.header.thread, log.header.sequence), log) for log in logs]
    entries.sort(key=lambda entry: entry[0])
    first = _first_read(logs, mining.started)
    return [
        _missing_row(number, entry)
        if isinstance(entry, MissingLogs)
        else _log_row(number, entry, _status(entry, mining.started, first))
        for number, (_, entry) in enumerate(entries, 1)
    ]


def _is_needed(log: MinedLog, mined: MiningRange) -> bool:
    return log.header.next_scn > mined.start_scn and (mined.end_scn is None or log.header.first_scn <= mined.end_scn)


def _first_read(logs: list[MinedLog], mined: MiningRange | None) -> MinedLog | None:
    if mined is None:
        return None
    return min((log for log in logs if _is_needed(log, mined)), key=lambda log: log.header.first_scn, default=None)


def _status(log: MinedLog, mined: MiningRange | None, first: MinedLog | None) -> int:
    if mined is None:
        return WILL_BE_READ
    if log is first:
        return READ_FIRST
    return WILL_BE_READ if _is_needed(log, mined) else PRUNED


def _log_row(number: int, log: MinedLog, status: int) -> Row:
    h = log.header
    kind = "ARCHIVED" if log.online is None else "ONLINE"
    return (
        number, log.name, header_time(h.first_time), header_time(h.next_time), h.dbid, h.db_name, h.resetlogs_scn, None,
        "19.0.0", h.thread, h.sequence, h.first_scn, h.next_scn,
        yes_no(h.dictionary_begin), yes_no(h.dictionary_end), kind, 512, log.size_bytes, None, status, 0,
    )  # fmt: skip


def _missing_row(number: int, gap: MissingLogs) -> Row:
    return (
        number, gap.title, None, None, None, None, None, None, None, gap.thread, gap.first_sequence, gap.first_scn,
        gap.next_scn, None, None, None, None, None, "MISSING_LOGFILE", MISSING, 0,
    )  # fmt: skip


def parameter_rows(mining: Mining) -> list[Row]:
    """Return one row, none without an active LogMiner session."""
    mined = mining.started
    if mined is None:
        return []
    required = mined.start_scn if mined.dictionary is None else mined.dictionary.begin_scn
    return [(None, None, None, mined.start_scn, required, mined.end_scn or 0, int(mined.options), None, 0, 0)]
