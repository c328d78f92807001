"""Options of a stand-in database: names, threads, sizes, archive destinations, and readings of uncertain Oracle behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from standin.known_tables import CatalogForms


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    name: str = "FREE"
    pdb_name: str = "FREEPDB1"
    is_cdb: bool = True
    dbid: int = 1455087542
    threads: int = 1
    log_bytes: int = 8 * 1024 * 1024
    groups: int = 3
    destinations: tuple[Path, ...] = ()  # empty: one in the database's own directory
    archive_lag_target: int = 0  # seconds; 0 means no switch by time
    directory: Path | None = None  # None: a temporary one, removed at close
    start_scn: int = 2_000_000
    scns_per_second: int = 3
    undo_scns: int | None = None  # SCNs for which row versions are kept; None keeps all
    undo_seconds: float | None = None  # the age of an SCN up to which queries find its undo (ORA-01555); None for any
    supplemental: frozenset[str] = frozenset()
    passwords: tuple[tuple[str, str], ...] = (("SYS", "oracle"), ("SYSTEM", "oracle"))
    commits_of_servers: bool = True  # parallel servers write COMMITs too, at the coordinator's SCN; False: only it does
    forgets_sequences: bool = False  # XIDSQN 4294967295 on undo and ROLLBACK rows whose START LogMiner has not read
    private_strands: bool = False  # redo reaches the log late, after records with higher SCNs
    strands_cross_switches: bool = False  # ... and in the log after a switch, below its FIRST_CHANGE#
    reuses_rowids: bool = False  # an insert reuses the ROWID of a deleted row, the last freed one first
    shares_commit_scns: bool = False  # consecutive COMMITs on different threads share one SCN
    refuses_quoted_containers: bool = False  # SET CONTAINER = "NAME" is ORA-65015; True: only NAME is a container's name
    switches_by_typed_name: bool = False  # SET CONTAINER looks for the user's name as it was typed at the logon (ORA-01435)
    undo_slots: int = 340  # transactions that may be open at a time in each container
    undo_first: bool = False  # an undo row may precede the row it undoes, with its SCN, RS_ID and SSN, as in 19.13
    names_container_in_pdb: bool = True  # SRC_CON_NAME is set when a PDB is mined from inside, as on 23ai; False: NULL
    pdb_hides_logs: bool = False  # inside a PDB, the control file's views and V$LOGMNR_LOGS show no rows; on 23ai they do
    rds: bool = False  # as on Amazon RDS: clients have the master user ADMIN and RDSADMIN_UTIL, and no SYSDBA
    open_end: int = 2**64 - 1  # NEXT_CHANGE# of a log that is still open
    resetlogs_above_end: bool = False  # RESETLOGS_CHANGE# is one SCN above the end of the old incarnation's redo
    keeps_enable_scn: bool = False  # RESETLOGS leaves V$THREAD.ENABLE_CHANGE# as it was
    clears_disable_scn: bool = False  # ENABLE THREAD and DISABLE THREAD leave V$THREAD.DISABLE_CHANGE# at 0
    # A read on the standby AS OF an SCN that is not applied there: refused (ORA-08181); or older, the rows as they are applied
    unapplied_reads: str = "refused"
    standby_scn_ahead: int = 0  # SCNs by which CURRENT_SCN of the standby is ahead of what its queries see
    # False: all containers share the root's undo, LogMiner shows STARTs and ends under its name, and V$TRANSACTION shows
    # nothing inside a PDB.
    local_undo: bool = True
    max_start_scns: bool = False  # START_SCN 2^64-1, and not NULL, where LogMiner has not read the START
    undo_unlogged: bool = False  # undo rows have no supplemental log data, so LogMiner does not guarantee them
    flashback_by_seconds: bool = True  # ORA-01466 where the time of the SCN is not after LAST_DDL_TIME; False: by SCN alone
    ddl_age: int = 0  # seconds by which LAST_DDL_TIME is earlier than the DDL: older tables, which nobody must wait for
    hides_label_policies: bool = False  # policies of Label Security are in ALL_SA_TABLE_POLICIES alone, not in ALL_POLICIES
    renumbers_pdb: bool = False  # a RESETLOGS of the whole database gives its PDB a row in V$PDB_INCARNATION too
    guards_added_columns: bool = True  # a nullable ADD .. DEFAULT adds a hidden guard column; False: as before 12c
    keeps_guards: bool = True  # the guard column stays without a column that it guards; False: DROP COLUMN of the last drops it
    hidden_columns: str = "name"  # how SQL_REDO shows Oracle's own stored columns: name, number (COL n), or none
    nonblocking_ddl: bool = False  # ADD of a column and SET UNUSED ONLINE do not wait for open transactions of the table
    # How ADD of a column with a default that differs by row (NEXTVAL, an identity column) fills older rows: without redo of
    # rows, or with UPDATEs that LogMiner shows, in the transaction of the DDL
    logs_filled_columns: bool = False
    renames_keep_version: bool = False  # after RENAME COLUMN LogMiner shows older rows under the new name, not as COL n
    # The quotes inside texts in SQL_REDO: doubled; single, as some releases leave them; or mixed: single between two letters
    quotes: str = "doubled"
    # A TIMESTAMP or INTERVAL that is stored without a fraction, where the mask has FF9: zeros, the point alone, or none
    whole_seconds: str = "zeros"
    time_zone: str = "+00:00"  # DBTIMEZONE, in which a TIMESTAMP WITH LOCAL TIME ZONE is stored: an offset
    local_zone_call: str = "TO_TIMESTAMP_TZ"  # what SQL_REDO calls for a TIMESTAMP WITH LOCAL TIME ZONE; peers know _ITZ too
    national_text: str = "plain"  # NVARCHAR2 of ASCII characters alone: a literal; or unistr, as other national text
    urowids: str = "text"  # the value of a UROWID column in SQL_REDO: unsupported is `Unsupported Type`
    # An UPDATE that sets to NULL what is NULL: assigned, with these columns in SET; all, with every column, the key too
    null_updates: str = "assigned"
    young_columns: str = "absent"  # WHERE, where a row is older than a column: absent; or null, as published of 26ai
    blank_in_insert: bool = False  # insert into "O"."T" ("A") with a blank before the columns
    long_names: bool = False  # LogMiner knows names beyond 30 bytes; False: such rows are UNSUPPORTED
    # Rows of tables with columns of users' types: with their other values, and `Unsupported Type` for these; or UNSUPPORTED
    object_rows: str = "values"
    lob_rows_without_rowid: bool = False  # the INSERT into a table with a LOB has LogMiner's placeholder for its ROW_ID
    # The redo of a statement that writes LOBs: rows, each with its ROWID; statement: only the last one has it, and one undo row
    # takes all of them back, as measured on 26ai
    lob_rows: str = "rows"
    # A NULL object in an INSERT, where lob_rows is rows: empty, EMPTY_CLOB(), which an UPDATE sets to NULL, as published of
    # 23ai; or null
    null_lobs: str = "empty"
    lob_locators_have_text: bool = False  # SELECT_LOB_LOCATOR has its name and a text, as before 23ai; False: INTERNAL, no text
    lob_counts: str = "characters"  # what offsets and lengths in a CLOB count: characters, or code units of UTF-16
    # The redo of an XMLTYPE value. values: XMLType(:1) in the statement, and nothing more; documents: XML DOC rows, and the
    # statement lacks the column, as measured on 19.3; texts: XML DOC rows of a column stored as CLOB, XMLType(:1) in an INSERT
    xml_rows: str = "values"
    # ... of a NULL: statement, in the statement; document, XML_REDO := NULL; absent, nothing in an INSERT, else as statement
    xml_nulls: str = "statement"
    extended_strings: bool = False  # MAX_STRING_SIZE = EXTENDED
    # Rows of tables with a string beyond the classic limit: unsupported; or pieces: 32K rows of its value, which
    # the statement lacks
    extended_rows: str = "unsupported"
    shows_interval_ddl: bool = False  # LogMiner shows an INTERNAL DDL where Oracle creates a partition for a row
    # FLASHBACK TABLE .. TO BEFORE DROP: the name in its redo row, user (the table's own) or bin; rename: an INTERNAL DDL that
    # renames the table precedes it
    restore_redo: str = "user"
    # The DDL row of FLASHBACK TABLE .. TO SCN: after the deletes and inserts, in their transaction; before, in one of its own;
    # or none
    flashback_redo: str = "after"
    # A DDL that fails once it has begun, as CREATE UNIQUE INDEX does over equal keys: no redo; or a transaction that is rolled
    # back, empty or with the DDL's row
    failed_ddl: str = "none"
    # The exchange of names by DBMS_REDEFINITION in the redo: none; or the RENAMEs, as internal DDL or as user's
    redefinition_redo: str = "none"
    # Changes of a temporary table's rows in the redo: none; or unshown, each with a comment in place of its statement, as a
    # peer has met them
    temporary_rows: str = "none"
    # The place in the chain of a blockchain table's row: update, in an UPDATE of each row before the COMMIT; insert, in its
    # INSERT; or unsupported, rows that LogMiner does not show
    chained_rows: str = "update"
    # ROW_ID of an index-organized table's rows, which have no physical ROWID: none (NULL), zero (AAA..), or block: of the
    # leaf block, which many rows share
    iot_row_ids: str = "none"
    # What the half of a SPLIT PARTITION that has all rows keeps of the old partition: object, its OBJECT_ID and its segment;
    # segment, with the ROWIDs; or none
    fast_split: str = "object"
    # The OBJECT_ID of a partition that SPLIT or MERGE makes under the name of one that it ends: new; or name, that one's
    partition_ids: str = "new"
    # The rows that SHRINK SPACE moves, in the redo: none; or delete first or insert first, a DELETE and an INSERT of each
    moved_rows: str = "none"
    # Which change of a migrated or chained row has the ROWID of the block in which the row lies, and not its own: none; delete;
    # change, an UPDATE; or both. It is a row of more than 60 bytes here
    migrated_row_ids: str = "none"
    verifier_rounds: int = 4096  # of PBKDF2 on both sides of a logon
    background: bool = True  # the ticker thread: SCN heartbeat and switches by time

    @property
    def catalog_forms(self) -> CatalogForms:
        return CatalogForms(self.hidden_columns, self.long_names, self.object_rows, self.extended_rows, self.chained_rows)

    def oldest_scn(self, current_scn: int) -> int:
        """Return the SCN below which row versions may be gone (ORA-01555)."""
        return 0 if self.undo_scns is None else current_scn - self.undo_scns
