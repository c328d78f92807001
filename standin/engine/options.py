"""What a stand-in database is made of: names, threads, sizes, destinations, speeds. Checked by the database that takes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    name: str = "FREE"
    pdb_name: str = "FREEPDB1"
    is_cdb: bool = True
    dbid: int = 1455087542
    threads: int = 1
    log_bytes: int = 8 * 1024 * 1024
    groups: int = 3
    destinations: tuple[Path, ...] = ()  # none: one in the database's own directory
    archive_lag_target: int = 0  # seconds; 0 means no switch by time
    directory: Path | None = None  # None: a temporary one, removed at close
    start_scn: int = 2_000_000
    scns_per_second: int = 3
    undo_scns: int | None = None  # how many SCNs back row versions are kept; None keeps all
    supplemental: frozenset[str] = frozenset()
    passwords: tuple[tuple[str, str], ...] = (("SYS", "oracle"), ("SYSTEM", "oracle"))
    commits_of_servers: bool = True  # parallel servers write a COMMIT of their own, at the coordinator's SCN; or only he does
    forgets_sequences: bool = False  # XIDSQN 4294967295 on undo and ROLLBACK rows whose START LogMiner has not read
    private_strands: bool = False  # redo reaches the log late, with lower SCNs than what is there already
    reuses_rowids: bool = False  # an insert takes the place of a row that is gone, the last one freed first
    shares_commit_scns: bool = False  # COMMITs on different threads that follow each other at once have one SCN
    undo_slots: int = 340  # of each container, for as many transactions at a time
    undo_first: bool = False  # as 19.13 may: an undo row in front of the row it undoes, under the same SCN, RS_ID and SSN
    background: bool = True  # the ticker thread: SCN heartbeat and switches by time

    def oldest_scn(self, current_scn: int) -> int:
        """Return the SCN below which row versions may be gone (ORA-01555)."""
        return 0 if self.undo_scns is None else current_scn - self.undo_scns
