"""Translate the driver's errors into ours: the class by error number, with the failed statement's name and a cure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pipelines.errors import LOGMINER_ARGUMENT, LogMinerFailed, RedolakeError, SourceRefused, Terminal, error_class_for
from pipelines.source.grants import missing_grants

DRIVER = re.compile(r"DPY-\d{4}")
ORA = re.compile(r"ORA-(\d{5})")
TRANSIENT_CURE = "wait: the step is retried. If it keeps failing, ask the DBA for the alert log of that time"
UNKNOWN_CURE = "look up the code in Oracle's error manual; the step stopped and changed nothing"

INTERNAL = 600
# Constraints, conversions, numbers, dates, lengths, JSON and XML: the value may be part of the text.
OF_VALUES = frozenset(
    {
        1, 906, 932, 1400, 1401, 1407, 1426, 1438, 1476, 1481, 1489, 1722, *range(1800, 1900), 2290, 2291, 2292, 6502, 12899,
        12911, 22835, 22921, *range(30004, 30010), 30625, 31011, 31061, *range(40441, 40600), 43853,
    }
)  # fmt: skip
LOGMINER_CURE = (
    "wait: the step is retried. If it comes again, give the DBA this text with its time: the alert log and the incident (adrci)"
    " have the trace, Oracle Support knows the argument and its patch. If the redo of that log cannot be read at all, "
    "`redolake recover` lists the choices"
)
RESTRICTED = "wait: the step is retried. A DBA ends the restricted mode: ALTER SYSTEM DISABLE RESTRICTED SESSION"
NAME_THE_SERVICE = (
    "this session may not switch to the PDB: put the PDB's own service into the connection's extra as `pdb_service` (`lsnrctl "
    "services` lists it)"
)
UNDO = "raise UNDO_RETENTION, or read the table again at a newer SCN"
ASM = "wait: the step is retried. If it keeps failing, check that ASM is up and mounts the disk group of the archived logs"
PROFILE = (
    "wait: the step is retried. If it keeps failing, give {user} a profile and a resource plan without this limit (ALTER USER "
    "{user} PROFILE ..)"
)
CURES = {
    18: "wait: the step is retried. If it keeps failing, raise SESSIONS of the database, or lower `parallel_sessions`",
    20: "wait: the step is retried. If it keeps failing, raise PROCESSES of the database, or lower `parallel_sessions`",
    40: PROFILE,
    257: "the archiver is stuck: free space in the archive destination or the recovery area (V$RECOVERY_FILE_DEST); the step "
    "is retried. Do not delete logs that end above `landed to SCN` of `redolake status`",
    1017: "correct the login and password of the connection; the step is not retried, because that would lock the account",
    1035: RESTRICTED,
    1045: "GRANT CREATE SESSION TO {user}",
    2391: PROFILE,
    2392: PROFILE,
    2394: PROFILE,
    2396: PROFILE,
    2399: PROFILE,
    8103: "the table was truncated or moved while it was read: the step is retried",
    12505: "correct the SID of the connection; `lsnrctl status` on the database host lists the known ones",
    12514: "correct the service of the connection, or open the PDB; `lsnrctl services` lists the known ones",
    12504: "give the connection a service: the listener has no default one",
    12526: RESTRICTED,
    12527: RESTRICTED,
    12528: "wait: the step is retried until the database accepts new connections",
    12529: "let the listener or the connection manager accept this host: its filtering rules refuse it",
    12541: "correct the host and port of the connection, or start the listener",
    15055: ASM,
    15064: ASM,
    15077: ASM,
    16331: "LogMiner cannot read redo of a closed PDB: open it (ALTER PLUGGABLE DATABASE name OPEN, and SAVE STATE for later "
    "restarts); the step is retried",
    28000: "find out what locked the account, then run ALTER USER {user} ACCOUNT UNLOCK",
    28001: "give {user} a new password and set it in the connection",
    1435: NAME_THE_SERVICE,
    24964: NAME_THE_SERVICE,
    65053: NAME_THE_SERVICE,
    65090: "remove `container` from the configuration: the database has no containers",
    65108: "put the PDB's own service into the connection's extra as `pdb_service`, and report this: a statement was run in "
    "another container than the one that parsed it",
    65135: NAME_THE_SERVICE,
    65011: "correct `container` in the configuration: SELECT name FROM v$pdbs",
    1555: UNDO,
    8180: UNDO,
    22924: "raise RETENTION of the large object's segment, or read the table again at a newer SCN",
    1466: "a DDL changed the table after that SCN, or seconds before it: take the snapshot again; before `verify`, let capture "
    "and apply pass the DDL",
}
DRIVER_CURES = {
    "DPY-3010": "the server is older than 12.1: set thick_mode in the connection's extra",
    "DPY-3015": "the account has only a 10G password verifier: set its password again, or set thick_mode",
    "DPY-3001": "the server requires a feature of the driver's thick mode: set thick_mode in the connection's extra",
    "DPY-4000": "the TNS alias is unknown: give host and service, or config_dir in the connection's extra",
    "DPY-6005": "correct the host, port and service of the connection, or start the listener",
}
# Recursive SQL, a trigger, a line of PL/SQL, a parallel query server: the error that they report follows on the next lines.
WRAPPERS = frozenset({604, 4088, 6512, 12801})
RAISED = range(20000, 21000)  # by RAISE_APPLICATION_ERROR, mostly in logon triggers
RAISED_CURE = "a trigger or policy of this database raises this error: exempt {user} from it"
MISSING_PRIVILEGE = frozenset({942, 1031, 6550})
SIMILAR = re.compile(r"[Ss]imilar to ORA-(\d{5})")


@dataclass(frozen=True, slots=True)
class DriverError:
    """The driver's error object. `code` is 0 for the driver's own errors."""

    code: int
    full_code: str
    message: str


def ora_number(error: DriverError) -> int:
    """Return the ORA number that decides the class: that of the cause below a wrapper, or of the listener in a DPY text."""
    if error.code in WRAPPERS:
        return next((n for n in map(int, ORA.findall(error.message)) if n not in WRAPPERS), error.code)
    if error.code:
        return error.code
    similar = SIMILAR.search(error.message)
    return int(similar[1]) if similar else 0


def without_values(error: DriverError) -> DriverError:
    """Return the error with a text that contains no value of a row: since 23ai texts of failed conversions do, and those of
    triggers and policies may."""
    lines = [line for line in error.message.splitlines() if ORA.match(line) or DRIVER.match(line)]
    shown = [f"{line.partition(':')[0]}: its text may contain row data" if has_value(line) else line for line in lines]
    return replace(error, message="\n".join(shown) or error.full_code)


def has_value(line: str) -> bool:
    number = ORA.match(line)
    return number is not None and (int(number[1]) in OF_VALUES or int(number[1]) in RAISED)


def is_of_logminer(number: int, error: DriverError) -> bool:
    """Return whether an internal error has an argument of LogMiner's code."""
    return number == INTERNAL and LOGMINER_ARGUMENT.search(error.message) is not None


def translate(error: DriverError, doing: str, *, sql: str = "", user: str = "", dsn: str = "") -> RedolakeError:
    """Return the typed error for `error`, raised while `doing` (a statement's name, or `connect`)."""
    number = ora_number(error)
    kind = LogMinerFailed if is_of_logminer(number, error) else error_class_for(number, error.full_code)
    if number in MISSING_PRIVILEGE:
        cure = missing_grants(sql, user) or "ask the DBA for the privilege that the statement needs"
    else:
        cure = (
            (LOGMINER_CURE if kind is LogMinerFailed else "")
            or CURES.get(number)
            or DRIVER_CURES.get(error.full_code)
            or (RAISED_CURE if number in RAISED else "")
        )
    if not cure:
        cure = UNKNOWN_CURE if issubclass(kind, Terminal) else TRANSIENT_CURE
    if kind is Terminal and (number in CURES or number in RAISED):
        kind = SourceRefused
    first_line = error.message.splitlines()[0] if error.message else error.full_code
    nested = "; ".join(line for line in error.message.splitlines()[1:] if ORA.match(line) or DRIVER.match(line))
    what = f"{first_line}; {nested}" if nested else first_line
    return kind(
        what, cure=cure.format(user=user or "the user"), ora_code=number or None, doing=doing, user=user, dsn=dsn or None
    )
