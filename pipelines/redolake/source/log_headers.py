"""Read the headers of log files that no view lists, through the database: it must be able to open them at the given paths."""

from __future__ import annotations

from collections.abc import Sequence

from redolake.errors import ConfigurationError, Finding, RedolakeError, Terminal
from redolake.source.oracle import Source
from redolake.values.ora_codes import BAD_COPY
from redolake.values.redo import LogCopy, LogFile, RedoFacts
from redolake.values.scn import Scn, known_end

OFFERED = 0  # the DEST_ID of a file that no destination has


def read_log_headers(source: Source, names: Sequence[str], facts: RedoFacts) -> tuple[LogFile, ...]:
    """Return each file as the log that its header says. Raises ConfigurationError with every file that is none of them."""
    if source.pdb_only:
        raise Terminal(
            "inside a PDB LogMiner takes no files by name (ORA-65040)",
            cure="catalogue them in the root: RMAN> CATALOG START WITH 'folder/'; then leave --logs out",
        )
    source.use_container(None)
    began = {int(row.resetlogs_scn): int(row.resetlogs_id) for row in source.query("incarnations")}
    largest = max((log.bytes for log in facts.archived), default=0)
    found, findings = list[LogFile](), list[Finding]()
    for name in names:
        try:
            source.call("new_logfile", file_name=name)
        except RedolakeError as error:
            if error.ora_code not in BAD_COPY:
                raise
            cure = "the database must be able to read the file at this path; or catalogue it: RMAN> CATALOG ARCHIVELOG"
            findings.append(Finding(name, error.what, cure))
            continue
        row = next(row for row in source.query("mined_logs") if row.filename == name)
        end, resetlogs_id = known_end(row.next_scn), began.get(int(row.reset_scn))
        if int(row.db_id) != facts.dbid or resetlogs_id is None or end is None:
            what = "an online log" if end is None else f"a log of another database or incarnation (DBID {row.db_id})"
            findings.append(Finding(name, f"the file is {what}", "leave it out"))
            continue
        copy = LogCopy(OFFERED, name, "A")
        log = LogFile(int(row.thread_id), int(row.thread_sqn), resetlogs_id, Scn(row.low_scn), Scn(end), (copy,), largest)
        found.append(log)
    if findings:
        raise ConfigurationError(findings)
    return tuple(found)
