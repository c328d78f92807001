"""Turns what the driver raises into our errors: family by number, with the statement's name and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipelines.errors import RedolakeError, SourceRefused, Terminal, error_class_for
from pipelines.source.grants import missing_grants

DRIVER = re.compile(r"DPY-\d{4}")
ORA = re.compile(r"ORA-(\d{5})")
TRANSIENT_CURE = "nothing at first: the step is tried again; if it stays, ask the DBA for the alert log of that time"

CURES = {
    257: "nothing here, it is tried again: the archiver is stuck; give the archive destination or the recovery area space "
    "(V$RECOVERY_FILE_DEST), and do not delete logs above the position that `redolake status` shows",
    1017: "correct login and password of the connection; it is not tried again, for that would lock the account",
    1045: "GRANT CREATE SESSION TO {user}",
    12505: "correct the SID of the connection, or see `lsnrctl status` on the database host",
    12514: "correct the service of the connection, or open the PDB: `lsnrctl services` lists what the listener knows",
    12541: "correct host and port of the connection, or start the listener",
    28000: "ALTER USER {user} ACCOUNT UNLOCK, after finding out who locked it",
    28001: "give {user} a new password and put it into the connection",
    1435: "correct the owner's name",
    65049: "GRANT SET CONTAINER TO {user} CONTAINER=ALL",
    65011: "correct `container` in the configuration: SELECT name FROM v$pdbs",
    1555: "raise UNDO_RETENTION, or read the table again at a newer SCN",
    1466: "the table was altered after that SCN: read it again at a newer SCN",
}
DRIVER_CURES = {
    257: "nothing here, it is tried again: the archiver is stuck; give the archive destination or the recovery area space "
    "(V$RECOVERY_FILE_DEST), and do not delete logs above the position that `redolake status` shows",
    "DPY-3010": "the server is older than 12.1: use thick_mode in the connection's extra",
    "DPY-3015": "the account has only a 10G password verifier: set its password anew, or use thick_mode",
    "DPY-3001": "the server demands what only thick_mode can do: set thick_mode in the connection's extra",
    "DPY-4000": "the TNS alias is unknown: give host and service, or config_dir in the connection's extra",
    "DPY-6005": "correct host, port and service of the connection, or start the listener",
}
SIMILAR = re.compile(r"[Ss]imilar to ORA-(\d{5})")


@dataclass(frozen=True, slots=True)
class DriverError:
    """What the driver's error object tells: `code` is 0 for errors that are the driver's own."""

    code: int
    full_code: str
    message: str


def ora_number(error: DriverError) -> int:
    """The number to sort by: ORA-00604 is only a wrapper, and the driver hides listener codes in its own text."""
    if error.code == 604:
        inner = [int(n) for n in ORA.findall(error.message) if int(n) != 604]
        return inner[0] if inner else 604
    if error.code:
        return error.code
    similar = SIMILAR.search(error.message)
    return int(similar[1]) if similar else 0


def translate(error: DriverError, doing: str, *, sql: str = "", user: str = "", dsn: str = "") -> RedolakeError:
    """The typed error for `error`, met while `doing` (a statement's name, or `connect`)."""
    number = ora_number(error)
    kind = error_class_for(number, error.full_code)
    if number in (942, 1031, 6550):
        cure = missing_grants(sql, user) or "ask the DBA for the right that the statement needs"
    else:
        cure = CURES.get(number) or DRIVER_CURES.get(error.full_code) or ""
    if not cure:
        cure = TRANSIENT_CURE if not issubclass(kind, Terminal) else "look the code up; the step stopped and changed nothing"
    if kind is Terminal and number in CURES:
        kind = SourceRefused
    first_line = error.message.splitlines()[0] if error.message else error.full_code
    nested = "; ".join(line for line in error.message.splitlines()[1:] if ORA.match(line) or DRIVER.match(line))
    what = f"{first_line}; {nested}" if nested else first_line
    return kind(
        what, cure=cure.format(user=user or "the user"), ora_code=number or None, doing=doing, user=user, dsn=dsn or None
    )
