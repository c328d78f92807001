"""Every error Redolake raises on purpose, in two families.

    Transient   the same step may succeed later; Airflow and `redolake run` retry it
    Terminal    a person must choose; `cure` lists the choices

In each class docstring the first paragraph says what the error means and the second what to do. `docs/generate.py` turns
them into docs/reference/errors.md.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


def one_line(text: str) -> str:
    """Return a text with each character that no line shows, such as a line's end in a name, as its escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# What other programs and people write into URLs and settings: user:password@ before a host, and the value of a key that
# stands for a secret, as in signed URLs of object stores, connection strings of Azure, and settings of Hadoop. After a
# slash such a name is that of a partition's folder.
SECRETS = re.compile(
    r"(?<=://)[^\s/@:'\"<>]*:(?!\d+/)[^\s@'\"<>]+(?=@)"
    r"|(?<![\w./-])(?P<name>(?:[\w.-]*(?:secret|passw(?:or)?d|token|signature|credential|account[._-]?key|access[._-]?key)[\w.-]*"
    r"|pwd|sig)=)(?:'[^']*'|\"[^\"]*\"|[^\s&;,'\"<>)]+)",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """Return a text that people, logs and the ledger may have: what unlocks a store or a database is left out."""
    return SECRETS.sub(lambda found: f"{found['name'] or ''}***", text)


def without_breaks(said: object) -> str:
    """Return what another program says on several lines as one. Names and values are not its lines: those are for one_line."""
    return " ".join(str(said).split())


def plain_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of a result as a person reads them: none of its names and values begins another line."""
    return tuple(map(one_line, lines))


def in_shell(name: str) -> str:
    """Return a name as one word of a command line, on one line."""
    if name.isprintable():
        return shlex.quote(name)
    return "$'" + one_line(re.sub(r"(['\\])", r"\\\1", name)) + "'"


def to_paste(cure: str, name: object) -> str:
    """Return a cure whose `redolake ..` commands run as printed with a name that means something to a shell. Whoever may create
    a table chooses its name."""
    raw = str(name)
    if raw and raw != in_shell(raw):
        command = rf"(redolake(?: [-\w]+){{1,8}} ){re.escape(raw)}(?![\w$#\".])"
        cure = re.sub(command, lambda found: found[1] + in_shell(raw), cure)
    return one_line(cure)


OF_A_PIPELINE = re.compile(r"[`]redolake (?!init |spark )([^`]+)`")


def with_options(text: str, options: Sequence[str]) -> str:
    """Return a text with the options that name a pipeline, such as `-p shop`, in each back-quoted command that lacks them."""

    def named(found: re.Match[str]) -> str:
        words = found[1].split()
        present = (*words, "-p") if words[0] == "validate" else words  # it looks at all pipelines of the file
        return "`" + " ".join(["redolake", found[1], *(one for one in options if one.split()[0] not in present)]) + "`"

    return OF_A_PIPELINE.sub(named, text)


class RedolakeError(Exception):
    """An error with `what` happened, `where` (thread, sequence, SCN, table, file ...), and the `cure`. Its text names each
    place once; `where` also has those that `what` names."""

    def __init__(self, what: str, *, cure: str = "", ora_code: int | None = None, **where: object) -> None:
        self.what, self.cure = without_secrets(one_line(what)), to_paste(cure, where.get("table", ""))
        self.ora_code = ora_code
        known = {k: v for k, v in where.items() if v is not None}
        self.where: Mapping[str, object] = {k: without_secrets(v) if isinstance(v, str) else v for k, v in known.items()}
        super().__init__(self.what)

    @property
    def code(self) -> str:
        return type(self).__name__

    def __str__(self) -> str:
        places = (one_line(f"{key.replace('_', ' ')} {value}") for key, value in self.where.items())
        where = ", ".join(place for place in places if not re.search(rf"\b{re.escape(place)}\b", self.what, re.IGNORECASE))
        name = "" if type(self) in (Transient, Terminal) else f"{self.code}: "  # the families' own names help nobody
        return f"{name}{self.what}" + (f" ({where})" if where else "") + (f"\n  do this: {self.cure}" if self.cure else "")

    def as_dict(self) -> dict[str, object]:
        where = {k: v if isinstance(v, int | float | bool) else str(v) for k, v in self.where.items()}
        return {"code": self.code, "what": self.what, "where": where, "cure": self.cure}

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.cure, self.ora_code, dict(self.where)))


OF_BATCH = "the batch's spec and manifest (folder batches/ of the landing) and the manifests of its windows"
OF_TABLE = "the newest files of the table's _delta_log"
OF_SPARK = "this message and Spark's own log, which has the whole text"


def rebuild_cure(away: str = "move its file away (SQLite, with -wal and -shm) or drop its tables (PostgreSQL)") -> str:
    """Return the cure of a ledger that must be rebuilt."""
    return f"stop what writes the pipelines of this ledger, {away}, and run again: the files of the landing rebuild it"


def report_with(evidence: str) -> str:
    """Return the part of a cure that asks for a report of a fault: what to send, and where it is said how."""
    return f"send {evidence} as docs/how-to/report-a-fault.md says"


def _rebuild(kind: type[RedolakeError], what: str, cure: str, ora_code: int | None, where: dict[str, object]) -> RedolakeError:
    error = kind.__new__(kind)
    RedolakeError.__init__(error, what, cure=cure, ora_code=ora_code, **where)
    return error


class Transient(RedolakeError):
    """The same step may succeed later.

    Wait: it is retried `retry.attempts` times. If it keeps failing, follow the cure in the message.
    """

    is_tried_out = False  # whether a call within a step has tried it often: then the step is not repeated for it


class Terminal(RedolakeError):
    """A person must choose; a retry would fail in the same way.

    Follow the cure in the message, then clear the failed task or run the command again.
    """


class SourceUnavailable(Transient):
    """Oracle cannot be reached: network, listener, an instance that is starting or stopping, a closed PDB (ORA-16331), a limit
    of sessions or of the user's profile, or a stuck archiver (ORA-00257).

    Wait for the database. With ORA-00257 make room where it archives to.
    """


class SourceBusy(Transient):
    """Oracle is short of memory, space or locks, a call timed out, or DDL keeps changing a captured table.

    Wait. If it persists, raise `source.call_timeout_seconds` or give the database more memory.
    """


class SparkLost(Transient):
    """The Spark session has ended: its server was restarted or has closed an idle session, or its Java was stopped or killed.
    Or a cluster has lost executors, or what they had kept.

    Wait: the batch is tried again, and nothing is half-committed. If it comes again, see the log and the memory of
    Spark's driver.
    """


class LogMinerFailed(Transient):
    """LogMiner itself failed: ORA-00600 with an argument of its own (`[krv..`), or ORA-01333. Often it passes.

    Wait: the step is retried `retry.attempts` times. If it comes again, give the DBA the message with its time: the alert log
    and the incident (adrci) have the trace, and Oracle Support a patch for the argument.
    """


class LogOverdue(Transient):
    """A redo thread has switched a log, and no archived copy has appeared within `wait_max_minutes`.

    Check the archiver and the transport to the standby. Nothing is lost while the redo is kept: the next run keeps
    waiting, and `redolake runway` says how long the redo will be there.
    """


class ReplicatorUnavailable(Transient):
    """OpenLogReplicator cannot be reached, has closed the connection, or sends nothing, not even checkpoints.

    Wait: the step is retried. See that it runs and reads redo, and that no other client is connected to it.
    """


class LedgerUnavailable(Transient):
    """The ledger's database does not answer.

    Check that it is up, and that `ledger.url` or `ledger.connection` names it with a user who may log in.
    """


class LedgerDamaged(Terminal):
    """The ledger lacks its version, a table, a column or an index, its database finds its contents damaged, a cell has a value
    that is none, or a table's position is one that no batch and no load has left. No table is passed over.

    The ledger can be rebuilt from the files: stop what writes, move the file away with its `-wal` and `-shm` (SQLite), or
    drop its tables, whose names begin with `redolake_` (PostgreSQL). The next `redolake run` writes it again. How long steps
    took, and the reasons of people before approvals were files, are not in the landing.
    """


class LedgerOutdated(Terminal):
    """The ledger's tables are those of an older Redolake, and this command only reads.

    Stop what the older Redolake still runs, on every host and of every pipeline that shares the ledger, then run
    `redolake migrate`. The next `redolake run`, or run of a DAG, does the same before it writes.
    """


class LandingUnavailable(Transient):
    """The object store of the landing does not answer, or answers that it is busy.

    The step runs again by itself. If it stays so, try the store from this host with its own client.
    """


class LakeUnavailable(Transient):
    """The store or the file system of the lake does not answer: the network, a mount that hangs or is stale, a busy object
    store. No table is held.

    The batch runs again by itself. If it stays so, try the lake from Spark's host with the store's own client.
    """


class SparkExhausted(Transient):
    """Spark's Java or its workers have no memory, threads or open files left. No table is held, and no commit was cut short.

    The batch is tried again. If it comes again, give Spark's driver and executors more memory (`spark.driver.memory`), raise
    `ulimit -n`, or lower `spark.parallel_tables` or `batch.max_rows`.
    """


class LeaseHeld(Transient):
    """Another process is writing the same pipeline's tables.

    Wait until it finishes or its lease expires. A job that lost its lease has stopped; the newer one continues.
    """


class SnapshotTooEarly(Transient):
    """A snapshot would lack changes: an older transaction is still open, or a window must land first.

    Let the named transaction end, or let capture land the next window, then take the snapshot again.
    """


class SourceRefused(Terminal):
    """Oracle refuses the user or a statement: wrong password, missing privilege, unknown object, or a session setting
    that does not take effect.

    Run `redolake doctor`, which names the missing GRANT, and `redolake setup-sql`, which prints all of them.
    """


class ReplicatorRefused(Terminal):
    """OpenLogReplicator does not do what is needed: another database or alias, settings that would lose or blur values, a start
    that it refuses, or one that another client has made.

    Do what the message says, in OpenLogReplicator.json or in pipelines.yml. `redolake olr-config` prints the settings.
    """


class RedoLost(Terminal):
    """Redo that is still needed is no longer available: an archived log is gone, or the database was set back with
    RESETLOGS. For a table: changes since its last snapshot were never read.

    Run `redolake recover`, which lists the missing logs and the choices. For a held table run
    `redolake snapshot OWNER.TABLE --replace`.
    """


class PdbChanged(RedoLost):
    """The pluggable database is not the one that was captured: it alone was set back (FLASHBACK PLUGGABLE DATABASE,
    point-in-time recovery), or another one has its name. The redo does not show it, so the tables no longer agree.

    Run `redolake recover -p PIPELINE snapshot --execute --yes --reason TEXT`, which reads all tables again, or connect to the
    PDB that was captured.
    """


class EncodingChanged(PdbChanged):
    """The character set, the national character set or DBTIMEZONE of the database is another one than the one in which its
    redo was captured: internal bytes and texts of the redo would be read wrongly. The redo does not show the change.

    Run `redolake recover -p PIPELINE snapshot --execute --yes --reason TEXT`, which reads all tables again and records the new
    settings, or connect to the database that was captured.
    """


class StreamLost(RedoLost):
    """OpenLogReplicator did not send everything: a message, a change or a commit is missing, or it no longer has what follows
    the last window. Nothing after that was landed.

    Restart OpenLogReplicator: it reads the redo again from its last confirmed checkpoint. If the error stays, run
    `redolake recover`.
    """


class RedoNotUnderstood(Terminal):
    """A redo row, a transaction or a state of LogMiner has no meaning known to Redolake. If one table is concerned, it is
    held at that commit.

    Run `redolake snapshot OWNER.TABLE --replace`. The landed redo is kept: send the row shown, and a version that
    understands it can continue with `redolake resume OWNER.TABLE`. If a window is stopped, run `redolake recover`.
    """


class MiningIncomplete(Terminal):
    """LogMiner did not provably read every log it was given.

    Run again. If it fails again, compare V$LOGMNR_LOGS with V$ARCHIVED_LOG and restore the log that differs; if it cannot
    be restored, run `redolake recover`.
    """


class NoDictionaryInRedo(Terminal):
    """`dictionary: redo` is set, and the archived logs do not contain a dictionary from which the window can be mined.

    Run DBMS_LOGMNR_D.BUILD in the root and switch the log, or set `dictionary: online` under `source`.
    """


class LandingConflict(Terminal):
    """A file of the landing is not the one that belongs at that path: another run wrote it, or the plan is outdated.

    Plan again with a new run. If the message names other rows for the same window, mine it again with `redolake remine
    WINDOW` and send the difference.
    """


class LandingDamaged(LandingConflict):
    """A file of the landing is not as it was written: it is gone, was cut short, has other contents, or is another file under
    its name. Nothing of it was used.

    Look after the disk or the store, then do what the message says. It depends on the file: mine the window again
    (`redolake remine WINDOW --replace --execute`), read the table again (`redolake snapshot OWNER.TABLE --replace`), or restore
    the file from a copy.
    """


class LakeDamaged(Terminal):
    """A file of a Delta table, of its data or its log, is gone or cannot be read. The table is held; the others continue.

    Restore the file from a copy and run `redolake resume OWNER.TABLE`, or run `redolake snapshot OWNER.TABLE --replace`, which
    loads the table into a new log.
    """


class LandingUnwritable(Terminal):
    """The landing refuses a file: no permission, or no space.

    Grant the right or make room, then clear the task. Nothing half-written counts.
    """


class LakeFull(Terminal):
    """Spark has no space for the lake or for its own temporary files. No table is held.

    Make room, then run again. No commit was cut short.
    """


class LakeRefused(Terminal):
    """Spark or this process may not use the lake: a read-only file system, missing rights, credentials that the store refuses,
    a bucket that does not exist. No table is held.

    Mount it writable, or give the rights or credentials, then run again. No commit was cut short.
    """


class LakeMissing(Terminal):
    """The lake is not where `lake` says: the file is gone that Redolake wrote into it, or none of the tables is there. Most
    often it is not mounted, or another folder is mounted in its place. No table is held, and nothing is written.

    Mount the lake, or correct `lake`, then run again. The message says what to do where it was emptied or moved on purpose.
    """


class LandingMissing(Terminal):
    """The landing is not where `landing` says: the ledger or the lake knows a pipeline whose landing is empty. Most often it is
    not mounted. No table is held, and nothing is written.

    Mount the landing, or correct `landing`, then run again. The message says what to do where it is lost for good.
    """


class ValueDoesNotFit(Terminal):
    """A value does not fit the column's type in Delta, or the path of its partition.

    Give the column another scale, or `string`, under `columns` of its table, or take it out of `partition_by`; then run
    `redolake snapshot OWNER.TABLE --replace`.
    """


class TextNotValid(Terminal):
    """A text has bytes that are no characters of its character set: an old client stored CESU-8, Latin-1 or half a surrogate
    pair, and Oracle returns it as it is. No reader of the lake but Spark could open the table.

    Declare `replace` or `binary` for the column under `columns` of its table, or `invalid_text: replace`, or correct the values
    in Oracle; then run `redolake snapshot OWNER.TABLE --replace`.
    """


class TableSetBack(Terminal):
    """A Delta table lacks commits that were applied to it, or something else has changed its rows: an older copy was put
    back, RESTORE or DELETE ran, or another pipeline wrote it. OPTIMIZE and VACUUM are fine.

    Run `redolake snapshot OWNER.TABLE --replace`.
    """


class NotReadableAsOf(Terminal):
    """A table cannot be read AS OF an SCN: it is not applied that far, the SCN lies before its first contents or inside a
    declared gap, its rows between two ends of windows are not known, or the Delta version or the redo for it is gone.

    Choose the SCN that the message names, or leave the table out.
    """


class FolderTaken(Terminal):
    """The folder of a Delta table belongs to another captured table, to another pipeline, or to a pipeline of the same name
    with another landing, by the table's properties `redolake.pipeline`, `redolake.table` and `redolake.origin`. Nothing was
    written to it. A renamed pipeline is another one.

    Set `target` of the table to another folder, or remove the folder if nobody needs it; then run
    `redolake snapshot OWNER.TABLE --replace`. After a rename of the pipeline, give it its old name to go on with its tables;
    after a change of `landing`, restore it.
    """


class VersionRemoved(Terminal):
    """`verify` cannot read the version that a Delta table had at its applied SCN: VACUUM or log retention removed its files.

    Verify again after the next batch. Keep `delta.deletedFileRetentionDuration` longer than a comparison takes.
    """


class TargetRefused(Terminal):
    """A Delta table refuses Redolake's commits: somebody has set `delta.appendOnly`, a CHECK or NOT NULL constraint or a
    feature on it, or `properties` names a setting that Delta refuses.

    Remove the setting as the message says, then run `redolake resume OWNER.TABLE`. `redolake snapshot OWNER.TABLE --replace`
    builds the table again without it.
    """


class KeyNeeded(Terminal):
    """A row of a table with `key: append` was updated or deleted, and without a key Redolake cannot tell which row.

    Declare `key: rowid` or the columns of a unique index, then run `redolake snapshot OWNER.TABLE --replace`. The snapshot
    alone is enough if this was an exception.
    """


class NotLogged(Terminal):
    """Supplemental logging is or was off, so a change's redo does not contain the key of its row, or is not guaranteed.

    Turn logging on. If the message names such a change, run `redolake snapshot OWNER.TABLE --replace`;
    if none has come yet, `redolake resume OWNER.TABLE` is enough.
    """


class SchemaConflict(Terminal):
    """A DDL statement, a column type or a difference between redo and dictionary that Redolake does not follow.

    Run `redolake snapshot OWNER.TABLE --replace` to continue with the table as it is now, or take it out of `tables`. The cure
    also names the settings, and the choices of `resume --ddl`, that answer a DDL. Where the text says that Delta has the table
    up to an SCN, the change was found late, and readers may have seen wrong rows since.
    """


class MappingFailed(Terminal):
    """The mapping of a table gives a row no value: an expression fails or its value does not fit, users' code fails, or two
    keys become one. The text names what failed, and no value of a masked column.

    Correct the mapping in pipelines.yml, or the code, and run `redolake snapshot OWNER.TABLE --replace`.
    """


class QuarantineInTheWay(Terminal):
    """Keys of the table are in quarantine, and what comes next needs their rows: a DDL that changed rows without redo or the
    type of the key, values that are read again, or more changes of these keys than one batch looks at. Or a copy of the table
    begins before a retry, and would bring the older rows back.

    Run `redolake quarantine retry OWNER.TABLE --execute --reason TEXT`, which reads the rows again, and `redolake resume
    OWNER.TABLE`. Where the database can no longer show them at the table's position, run `redolake snapshot OWNER.TABLE
    --replace`. Make a copy that begins after the retry.
    """


class NotCapturable(Terminal):
    """A table cannot be captured as it is, for a reason that `redolake doctor` reports. The other tables continue.

    Follow the cure of each finding, then run `redolake snapshot OWNER.TABLE --replace`. Or take the table out of `tables`.
    """


class SnapshotPaused(Terminal):
    """Chunks of a large table may not be read now: a person has paused its snapshot, or the hours of `snapshot.hours_utc` are
    over.

    Chunks that were read stay. `redolake snapshot TABLE --resume` continues a snapshot that a person has paused; else run the
    snapshot again within the hours.
    """


class ChunksNeedOneScn(Terminal):
    """A large table cannot be read AS OF one SCN for as long as its chunks take, and not AS OF several: undo is too short for a
    table whose changes cannot make such chunks equal, or a DDL changed the table meanwhile. Or redo of that time lacks values.

    Raise UNDO_RETENTION, or read faster (`snapshot.sessions`), or at a quieter time; then run
    `redolake snapshot TABLE --replace`.
    """


class SnapshotTooLarge(Terminal):
    """A table that a DDL holds was to be snapshotted again by itself, and has more rows than `resnapshot.max_rows` allows.

    Raise the limit, or run `redolake snapshot OWNER.TABLE --replace`, which has no limits.
    """


class InvariantBroken(Terminal):
    """Numbers that must be equal are not: a fault in Redolake, or a damaged file. Nothing was merged.

    Keep the landing. The message says how to go on, and which files to send.
    """


class FormatTooNew(Terminal):
    """A newer version of Redolake wrote the file or the ledger.

    Install that version or a later one.
    """


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with the configuration or the source, with its cure."""

    subject: str
    what: str
    cure: str = ""
    severity: str = "error"  # error, warning, note

    def __post_init__(self) -> None:
        object.__setattr__(self, "subject", without_secrets(self.subject))
        object.__setattr__(self, "what", without_secrets(one_line(self.what)))
        object.__setattr__(self, "cure", to_paste(self.cure, self.subject))

    def __str__(self) -> str:
        return f"{one_line(self.subject)}: {self.what}" + (f"\n    do this: {self.cure}" if self.cure else "")


class ConfigurationError(Terminal):
    """The configuration or a precondition is wrong; the error lists all findings, not only the first.

    Correct each finding as its cure says, then run `redolake validate` or `redolake doctor` again.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(
            "; ".join(f"{f.subject}: {f.what}" for f in findings), cure="; ".join(f.cure for f in findings if f.cure)
        )

    def __str__(self) -> str:
        return f"{len(self.findings)} finding(s):\n" + "\n".join(f"  - {f}" for f in self.findings)

    def __reduce__(self) -> tuple[object, ...]:
        return (ConfigurationError, (self.findings,))


class TableHeld(Terminal):
    """A batch held one or more tables and applied the others; `outcome` is what the step would have returned.

    Follow the cure of each held table. `redolake status` shows all held tables with their errors.
    """

    def __init__(self, findings: Sequence[Finding], outcome: object = None) -> None:
        self.findings, self.outcome = tuple(findings), outcome
        what = "; ".join(f"{f.subject} is held: {f.what}" for f in findings)
        super().__init__(what, cure="; ".join(f"{f.subject}: {f.cure}" for f in findings) + "; the other tables continued")

    def __reduce__(self) -> tuple[object, ...]:
        return (TableHeld, (self.findings, self.outcome))


# Errors that are not about one table: they end the batch, the load or the comparison, and hold nobody.
OF_ALL_TABLES: tuple[type[RedolakeError], ...] = (
    Transient, ConfigurationError, FormatTooNew, LakeFull, LakeRefused, LakeMissing, LandingMissing, LandingUnwritable,
    PdbChanged,
)  # fmt: skip


OF_THE_LAKE: tuple[type[RedolakeError], ...] = (LakeFull, LakeRefused, LakeMissing, LakeUnavailable)
