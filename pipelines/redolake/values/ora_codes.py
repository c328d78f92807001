"""Every error number of Oracle and of its driver that Redolake knows: what it means, the error that it becomes, and its cure.

A number that is in no row becomes Terminal: a person must look. `docs/generate.py` turns the table into
docs/reference/ora-codes.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from redolake.errors import LogMinerFailed, RedolakeError, SourceBusy, SourceRefused, SourceUnavailable, Terminal, report_with


class Role(Enum):
    """What follows from a number besides its error; the value is a sentence for the page."""

    BAD_COPY = "another copy of the archived log is tried"
    OUT_OF_REACH = "what was to be read AS OF an SCN is read at a newer one, or its table is held"
    NO_SESSION = "answers a user who has the privilege, where `doctor` calls LogMiner without a session"
    SHOWS_VALUES = "its text may contain row data, and is left out where rows are read"
    WRAPPER = "the number below it in the text counts"
    PRIVILEGE = "the cure names the GRANT that the statement needs"


@dataclass(frozen=True, slots=True)
class Row:
    """Numbers with one meaning, or codes of the driver. `{user}` in `cure` is the user of the connection."""

    codes: Sequence[int | str]
    becomes: type[RedolakeError]
    means: str
    cure: str = ""
    roles: frozenset[Role] = frozenset()


def _row(codes: Iterable[int], becomes: type[RedolakeError], means: str, *roles: Role, cure: str = "") -> Row:
    return Row(tuple(codes), becomes, means, cure, frozenset(roles))


NO_SUCH_COLUMN = 904
NO_SUCH_TABLE = 942
INTERNAL = 600  # of LogMiner's own code it is LogMinerFailed (source/failures.py)
HOLE, CORRUPT = 1291, 1343  # also values of STATUS in V$LOGMNR_CONTENTS
NO_LOGMINER_SESSION = 1307
ALTERED_SINCE = 1466
NO_SUCH_PARTITION = 2149
NO_TIME_KNOWN = 8181
NOT_REMEMBERED = frozenset({8180, NO_TIME_KNOWN})  # no SCN is known for a time, or no time for an SCN

_AGAIN = "wait: the step is retried. If it keeps failing, "
_PROFILE = _AGAIN + "give {user} a profile and a resource plan without this limit (ALTER USER {user} PROFILE ..)"
_RESTRICTED = "wait: the step is retried. A DBA ends the restricted mode: ALTER SYSTEM DISABLE RESTRICTED SESSION"
_NAME_THE_SERVICE = (
    "this session may not switch to the PDB: put the PDB's own service into the connection's extra as `pdb_service` (`lsnrctl "
    "services` lists it)"
)

TABLE: tuple[Row, ...] = (
    # --- The archived logs and LogMiner
    _row((308, 334, 1284, 1285, 27037), Terminal, "LogMiner: an archived log cannot be opened or read", Role.BAD_COPY),
    _row((312, 313), Terminal, "a member of a log group cannot be opened"),
    _row((310, 1368), Terminal, "LogMiner: the file holds another log", Role.BAD_COPY),
    _row((353, 354, 368, CORRUPT), Terminal, "LogMiner: a block of the log is corrupt", Role.BAD_COPY),
    _row((1286, 1287, 1289), Terminal, "LogMiner: the log is of another incarnation, or twice in the list", Role.BAD_COPY),
    _row(
        (1288,), SourceRefused, "LogMiner: the character set of the log's database is not that of the one that mines it",
        cure="run `redolake doctor`: it compares the character sets with those that were recorded when capture began, and says "
        "how to go on",
    ),
    _row((1324, 1336, 1346), Terminal, "LogMiner: the log is of another database, or does not fit the others", Role.BAD_COPY),
    _row((HOLE,), Terminal, "LogMiner: a log of the range is missing", Role.BAD_COPY, Role.NO_SESSION),
    _row((1281, 1292), Terminal, "LogMiner: no such range, or no log in the list", Role.NO_SESSION),
    _row((1282, 1283, 1290), Terminal, "LogMiner: dates, options, a log that is not in the list"),
    _row(range(1293, 1303), Terminal, "LogMiner: the dictionary and the options of a start"),
    _row((1306,), SourceUnavailable, "LogMiner: no session, so that none can be read", Role.NO_SESSION),
    _row((NO_LOGMINER_SESSION,), Terminal, "LogMiner: no session that could be ended", Role.NO_SESSION),
    _row((1323,), SourceUnavailable, "LogMiner: the session is in no state to go on"),
    _row((1280, 1303, 1304, 1341), SourceBusy, "LogMiner: its server processes or its memory do not suffice"),
    _row((1315,), SourceBusy, "LogMiner: the list of logs changed while it was read"),
    _row((1327, 1328), SourceBusy, "LogMiner: the dictionary is locked, or is being built"),
    _row((1333,), LogMinerFailed, "LogMiner: no dictionary could be established"),
    _row((*range(1308, 1315), *range(1316, 1323)), Terminal, "LogMiner: called in a way that it does not allow"),
    _row((1325, 1326), Terminal, "LogMiner: the database is not in ARCHIVELOG mode, or COMPATIBLE is too low"),
    _row(
        (1329, 1330, 1331, 1332, 1334, 1335, *range(1337, 1341), 1342, 1347, *range(1349, 1357), 1358, 1371), Terminal,
        "LogMiner: any other refusal",
    ),
    _row((INTERNAL,), Terminal, "an internal error of Oracle; one of LogMiner's own code becomes LogMinerFailed"),
    _row((26653, 25303), Terminal, "XStream"),
    # --- Undo: reading AS OF an SCN
    _row(
        (1555, 8180), SourceRefused, "undo no longer reaches the SCN", Role.OUT_OF_REACH,
        cure="raise UNDO_RETENTION, or read the table again at a newer SCN",
    ),
    _row(
        (22924,), SourceRefused, "the old version of a large object is gone", Role.OUT_OF_REACH,
        cure="raise RETENTION of the large object's segment, or read the table again at a newer SCN",
    ),
    _row(
        (ALTERED_SINCE,), SourceRefused, "the table was altered after the SCN, or seconds before it", Role.OUT_OF_REACH,
        cure="a DDL changed the table after that SCN, or seconds before it: take the snapshot again; before `verify`, let "
        "capture and apply pass the DDL",
    ),
    _row(
        (NO_SUCH_PARTITION,), SourceRefused, "a partition that is read by its name is gone or has another one",
        cure="take the snapshot again",
    ),
    _row((NO_TIME_KNOWN, 8186), Terminal, "no time is known for the SCN, or no SCN for the time"),
    _row(
        (3172, 3173), SourceBusy, "a standby's rows are older than STANDBY_MAX_DATA_DELAY of the session allows",
        cure="wait until it has applied more redo: the step is retried. If it keeps failing, see V$DATAGUARD_STATS, and exempt "
        "{user} from the logon trigger that sets STANDBY_MAX_DATA_DELAY",
    ),
    _row(
        (16000, 16003), SourceRefused, "the database is open read only, as a standby is: nothing can be written in it",
        cure="run the statement on the primary: its redo brings it to the standby",
    ),
    _row(
        (8103,), SourceBusy, "the table was moved or truncated while it was read",
        cure="the table was truncated or moved while it was read: the step is retried",
    ),
    # --- Login and rights
    _row((942, 1031, 6550), SourceRefused, "no such object, or no privilege for it", Role.PRIVILEGE),
    _row(
        (1017,), SourceRefused, "user or password is wrong",
        cure="correct the login and password of the connection; the step is not retried, because that would lock the account",
    ),
    _row((1005,), SourceRefused, "no password was given"),
    _row((1045,), SourceRefused, "no privilege to connect", cure="GRANT CREATE SESSION TO {user}"),
    _row(
        (28000,), SourceRefused, "the account is locked",
        cure="find out what locked the account, then run ALTER USER {user} ACCOUNT UNLOCK",
    ),
    _row((28001,), SourceRefused, "the password has expired", cure="give {user} a new password and set it in the connection"),
    _row((28002,), Terminal, "the password will expire"),
    _row((1435, 24964, 65053, 65135), SourceRefused, "the session may not switch to the PDB", cure=_NAME_THE_SERVICE),
    _row((65011,), SourceRefused, "no such PDB", cure="correct `container` in the configuration: SELECT name FROM v$pdbs"),
    _row((65049, 65096), SourceRefused, "a name of a user that the container does not allow"),
    _row(
        (65090,), SourceRefused, "the database has no containers",
        cure="remove `container` from the configuration: the database has no containers",
    ),
    _row(
        (65108,), SourceRefused, "a cursor of another container",
        cure="put the PDB's own service into the connection's extra as `pdb_service`, and "
        f"{report_with('this message')}: a statement was run in another container than the one that parsed it",
    ),
    _row(
        range(20000, 21000), SourceRefused, "an error of a trigger or policy of the database's own", Role.SHOWS_VALUES,
        cure="a trigger or policy of this database raises this error: exempt {user} from it",
    ),
    # --- Limits
    _row(
        (18,), SourceUnavailable, "no session is free",
        cure=_AGAIN + "raise SESSIONS of the database, or lower `parallel_sessions`",
    ),
    _row(
        (20,), SourceUnavailable, "no process is free",
        cure=_AGAIN + "raise PROCESSES of the database, or lower `parallel_sessions`",
    ),
    _row((40, 2391, 2396), SourceBusy, "a limit of the profile or resource plan ended the call", cure=_PROFILE),
    _row((2392, 2394, 2399), SourceUnavailable, "a limit of the profile ended the session", cure=_PROFILE),
    _row((1652, 1653, 30036), SourceBusy, "a tablespace, the temporary one or undo is full"),
    _row((4030, 4031, 4036, 27102), SourceBusy, "memory does not suffice"),
    _row((12850,), SourceBusy, "parallel servers could not be allocated"),
    _row((54, 4021), SourceBusy, "an object is locked"),
    _row((4061, 4065, 4068, 44203), SourceBusy, "a package was recompiled, or a cursor is locked"),
    _row((1013,), SourceBusy, "the call was cancelled"),
    # --- The database starts, stops or is stuck
    _row(
        (257,), SourceUnavailable, "the archiver is stuck",
        cure="the archiver is stuck: free space in the archive destination or the recovery area (V$RECOVERY_FILE_DEST); the "
        "step is retried. Do not delete logs with redo after `landed to SCN` of `redolake status`",
    ),
    _row((1035,), SourceUnavailable, "the database is open to privileged users only", cure=_RESTRICTED),
    _row(
        (1033,), SourceUnavailable, "the database is starting or stopping, or it, a standby or a PDB is MOUNTED",
        cure=_AGAIN + "see whether the database or the PDB is MOUNTED, and open it: ALTER PLUGGABLE DATABASE name OPEN; a "
        "standby: ALTER DATABASE OPEN READ ONLY, and redo apply. Otherwise ask the DBA for the alert log of that time",
    ),
    _row((1034, 1089, 1090, 1092), SourceUnavailable, "the database is starting or stopping"),
    _row((1109, 1219, 1507), SourceUnavailable, "the database or the PDB is not open"),
    _row(
        (16331,), SourceUnavailable, "a PDB whose redo LogMiner needs is closed",
        cure="LogMiner cannot read redo of a closed PDB: open it (ALTER PLUGGABLE DATABASE name OPEN, and SAVE STATE for later "
        "restarts); the step is retried",
    ),
    _row((16456, 12757, 376, 1115), SourceUnavailable, "a switchover, an instance without the service, a file that is offline"),
    _row(
        (15055, 15064, 15077), SourceUnavailable, "ASM is not there",
        cure=_AGAIN + "check that ASM is up and mounts the disk group of the archived logs",
    ),
    _row((12805,), SourceUnavailable, "a parallel server has died"),
    # --- The session and the network
    _row(
        (22, 28, 31, 45, 378, 602, 603, 609, 1012, 1041, 1043, 27146, 28511, 56600), SourceUnavailable,
        "the session or its process has ended",
    ),
    _row((1001, 1002, 24338), SourceUnavailable, "a cursor of a session that has ended"),
    _row((24457, 24459, 24496), SourceUnavailable, "a pool has no connection left"),
    _row((3113, 3114, 3122, 3135), SourceUnavailable, "contact to the database was lost"),
    _row((3136, 12569, 12606, 12609, 12637, 25408), SourceUnavailable, "a login timed out, or a call was not replayed"),
    _row(
        (1170, 12153, 12170, 12535, 12537, 12540, 12543, 12545, 12547, 12549, 12560, 12564, 12570, 12571, 12583, 12592),
        SourceUnavailable, "the network, or a limit of the operating system",
    ),
    _row(
        (12541,), SourceUnavailable, "no listener answers",
        cure="correct the host and port of the connection, or start the listener",
    ),
    _row(
        (12505,), SourceUnavailable, "the listener does not know the SID",
        cure="correct the SID of the connection; `lsnrctl status` on the database host lists the known ones",
    ),
    _row(
        (12514,), SourceUnavailable, "the listener does not know the service",
        cure="correct the service of the connection, or open the PDB; `lsnrctl services` lists the known ones",
    ),
    _row((12526, 12527), SourceUnavailable, "the listener refuses: the database is restricted", cure=_RESTRICTED),
    _row(
        (12528,), SourceUnavailable, "the listener refuses until the database is open",
        cure="wait: the step is retried until the database accepts new connections",
    ),
    _row(
        (12500, 12502, 12516, 12518, 12519, 12520, 12521, 12522, 12523, 12525, 12530), SourceUnavailable,
        "the listener has no handler or no room",
    ),
    _row(
        (12529,), SourceRefused, "the listener's rules refuse this host",
        cure="let the listener or the connection manager accept this host: its filtering rules refuse it",
    ),
    _row(
        (12504,), SourceRefused, "the connection names no service, and the listener has no default one",
        cure="give the connection a service: the listener has no default one",
    ),
    _row((12154,), Terminal, "the TNS alias is unknown"),
    # --- Statements
    _row((604, 4088, 6512, 12801), Terminal, "recursive SQL, a trigger, a line of PL/SQL, a parallel server", Role.WRAPPER),
    _row((NO_SUCH_COLUMN, 31603), Terminal, "no such column, no such object for DBMS_METADATA"),
    _row((1403, 1422), Terminal, "no row, or too many"),
    _row((25191,), Terminal, "an overflow segment of an index-organized table"),
    _row((32589, 44609, 44613, 60526, 65040), Terminal, "an option that the release or the container does not have"),
    _row(
        (
            1, 906, 932, 1400, 1401, 1407, 1426, 1438, 1476, 1481, 1489, 1722, *range(1800, 1900), 2290, 2291, 2292, 6502,
            12899, 12911, 22835, 22921, *range(30004, 30010), 30625, 31011, 31061, *range(40441, 40600), 43853,
        ),
        Terminal, "constraints, conversions, numbers, dates, time zones, lengths, JSON and XML", Role.SHOWS_VALUES,
    ),
)  # fmt: skip


# Codes of the driver itself. They count where the error has no number of Oracle's that is in `TABLE`.
DRIVER_TABLE: tuple[Row, ...] = (
    Row(("DPY-1001", "DPY-4011", "DPY-4033"), SourceUnavailable, "the connection was closed"),
    Row(("DPY-4005",), SourceUnavailable, "a pool has no connection left"),
    Row(("DPY-6000", "DPY-6001", "DPY-6003"), SourceUnavailable, "the listener refuses, or does not know the service"),
    Row(("DPY-6004",), SourceUnavailable, "the proxy of the connection fails"),
    Row(
        ("DPY-6005",), SourceUnavailable, "no connection could be made",
        "correct the host, port and service of the connection, or start the listener",
    ),
    Row(("DPY-4024",), SourceBusy, "a call took longer than `source.call_timeout_seconds`"),
    Row(
        ("DPY-3001",), Terminal, "the thin mode of the driver lacks a feature",
        "the server requires a feature of the driver's thick mode: set thick_mode in the connection's extra",
    ),
    Row(
        ("DPY-3010",), Terminal, "the thin mode of the driver does not know the server",
        "the server is older than 12.1: set thick_mode in the connection's extra",
    ),
    Row(
        ("DPY-3015",), Terminal, "the thin mode of the driver does not know the password verifier",
        "the account has only a 10G password verifier: set its password again, or set thick_mode",
    ),
    Row(
        ("DPY-4000",), Terminal, "the TNS alias is unknown",
        "the TNS alias is unknown: give host and service, or config_dir in the connection's extra",
    ),
)  # fmt: skip

ROWS: Mapping[int | str, Row] = {code: row for row in (*TABLE, *DRIVER_TABLE) for code in row.codes}


def row_of(code: int, full_code: str = "") -> Row | None:
    """Return the row of an ORA number, or of the driver's code if the number is in no row: a listener may refuse with numbers
    that nobody has seen yet."""
    return ROWS.get(code) or ROWS.get(full_code)


def error_class_for(code: int, full_code: str = "") -> type[RedolakeError]:
    """Return the error that a number or a code of the driver becomes."""
    row = row_of(code, full_code)
    return row.becomes if row else Terminal


def _with(role: Role) -> frozenset[int]:
    return frozenset(code for code, row in ROWS.items() if role in row.roles and isinstance(code, int))


BAD_COPY, OUT_OF_REACH, NO_SESSION = _with(Role.BAD_COPY), _with(Role.OUT_OF_REACH), _with(Role.NO_SESSION)
SHOWS_VALUES, WRAPPERS, MISSING_PRIVILEGE = _with(Role.SHOWS_VALUES), _with(Role.WRAPPER), _with(Role.PRIVILEGE)
