"""The number of a driver error decides which of our errors it becomes."""

from __future__ import annotations

import pytest
from oracledb.errors import ERR_ORACLE_ERROR_XREF

from redolake.errors import LogMinerFailed, SourceBusy, SourceRefused, SourceUnavailable, Terminal, Transient
from redolake.source.failures import DriverError, translate, without_values
from redolake.values.ora_codes import INTERNAL, error_class_for


def refused_by_listener(code: int) -> DriverError:
    text = f"DPY-6005: cannot connect\nDPY-6000: Listener refused connection. (Similar to ORA-{code})"
    return DriverError(0, "DPY-6005", text)


CASES = {
    "a wrong password": (DriverError(1017, "ORA-01017", "ORA-01017: invalid"), SourceRefused, 1017, "lock the account"),
    "an unknown service": (
        DriverError(0, "DPY-6005", 'DPY-6005: cannot connect\nDPY-6001: Service "X" is not registered (Similar to ORA-12514)'),
        SourceUnavailable,
        12514,
        "service",
    ),
    "no listener": (DriverError(0, "DPY-6005", "DPY-6005: cannot connect\n[Errno 111]"), SourceUnavailable, None, "listener"),
    "a lost session reported by the driver": (
        DriverError(3113, "DPY-4011", "DPY-4011: closed\nORA-03113: end-of-file"),
        SourceUnavailable,
        3113,
        "retried",
    ),
    "a restricted database": (refused_by_listener(12526), SourceUnavailable, 12526, "RESTRICTED"),
    "restricted or blocking": (refused_by_listener(12527), SourceUnavailable, 12527, "RESTRICTED"),
    "a starting database": (refused_by_listener(12528), SourceUnavailable, 12528, "retried"),
    "a listener's code that no table has": (refused_by_listener(12599), SourceUnavailable, 12599, "listener"),
    "a listener that filters": (refused_by_listener(12529), SourceRefused, 12529, "filtering"),
    "a listener without a default service": (refused_by_listener(12504), SourceRefused, 12504, "service"),
    "a lost session with a code that no table has": (
        DriverError(12999, "DPY-4011", "DPY-4011: closed\nORA-12999: new"),
        SourceUnavailable,
        12999,
        "retried",
    ),
    "LogMiner's internal error": (
        DriverError(600, "ORA-00600", "ORA-00600: internal error code, arguments: [krvrdccs10], [], []"),
        LogMinerFailed,
        600,
        "incident",
    ),
    "LogMiner's internal error that ended the session": (
        DriverError(600, "DPY-4011", "DPY-4011: closed\nORA-00600: internal error code, arguments: [krvrdGetUID], [1]"),
        LogMinerFailed,
        600,
        "incident",
    ),
    "LogMiner's internal error in PL/SQL": (
        DriverError(6512, "ORA-06512", "ORA-06512: at line 1\nORA-00600: internal error code, arguments: [krvrdccs30], []"),
        LogMinerFailed,
        600,
        "incident",
    ),
    "an internal error of other code": (
        DriverError(600, "ORA-00600", "ORA-00600: internal error code, arguments: [kcratr1_lostwrt], []"),
        Terminal,
        600,
        "stopped",
    ),
    "no dictionary of LogMiner": (DriverError(1333, "ORA-01333", "ORA-01333: failed"), LogMinerFailed, 1333, "retried"),
    "a wrapped error": (
        DriverError(604, "ORA-00604", "ORA-00604: recursive\nORA-01284: cannot open\nORA-00308: gone"),
        Terminal,
        1284,
        "stopped",
    ),
    "a parallel server's error": (
        DriverError(12801, "ORA-12801", "ORA-12801: server P000\nORA-00604: recursive\nORA-01555: snapshot too old"),
        Terminal,
        1555,
        "UNDO_RETENTION",
    ),
    "an error below a line of PL/SQL": (
        DriverError(6512, "ORA-06512", "ORA-06512: at line 1\nORA-04036: PGA\nORA-06512: at line 2"),
        SourceBusy,
        4036,
        "retried",
    ),
    "a closed PDB": (
        DriverError(16331, "ORA-16331", 'ORA-16331: container "PDB2" is not open'),
        SourceUnavailable,
        16331,
        "ALTER PLUGGABLE DATABASE",
    ),
    "a limit of the profile": (DriverError(2399, "ORA-02399", "ORA-02399: exceeded"), SourceUnavailable, 2399, "PROFILE"),
    "a logon trigger's own error": (
        DriverError(
            4088,
            "ORA-04088",
            "ORA-04088: trigger 'SYS.CHECK'\nORA-00604: recursive\nORA-20001: not from here\nORA-06512: at line 3",
        ),
        SourceRefused,
        20001,
        "exempt",
    ),
    "a bare wrapper": (DriverError(604, "ORA-00604", "ORA-00604: recursive"), Terminal, 604, "stopped"),
    "an internal error under a DPY code": (
        DriverError(600, "DPY-4011", "DPY-4011: closed\nORA-00600: internal error"),
        Terminal,
        600,
        "stopped",
    ),
    "memory": (DriverError(4036, "ORA-04036", "ORA-04036: PGA"), SourceBusy, 4036, "retried"),
    "a call that took too long": (DriverError(0, "DPY-4024", "DPY-4024: call timeout"), SourceBusy, None, "retried"),
    "a stuck archiver": (DriverError(257, "ORA-00257", "ORA-00257: Archiver error."), SourceUnavailable, 257, "space"),
    "undo overwritten": (DriverError(1555, "ORA-01555", "ORA-01555: snapshot too old"), Terminal, 1555, "UNDO_RETENTION"),
}


@pytest.mark.parametrize(("error", "kind", "code", "cure"), CASES.values(), ids=CASES)
def test_the_error_number_decides_class_and_cure(error, kind, code, cure):
    translated = translate(error, "a statement", user="C##CDC")

    assert isinstance(translated, kind)
    assert translated.ora_code == code
    assert cure in translated.cure


@pytest.mark.parametrize(
    "why", ["[Errno 111] Connection refused", "timed out", "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"]
)
def test_why_no_connection_could_be_made_is_in_the_error(why):
    text = f"DPY-6005: cannot connect to database.\n{why}\nHelp: https://docs.oracle.com"

    assert translate(DriverError(0, "DPY-6005", text), "connect").what == f"DPY-6005: cannot connect to database; {why}"


def test_what_the_driver_calls_a_lost_or_closed_connection_is_tried_again():
    """By python-oracledb's own table of the codes under which it reports DPY-4011 and DPY-4005."""
    lost = [code for code, dpy in ERR_ORACLE_ERROR_XREF.items() if dpy in (4011, 4005) and code != INTERNAL]

    assert len(lost) > 20
    assert [code for code in lost if not issubclass(error_class_for(code), Transient)] == []


PRIVILEGES = {
    "SELECT current_scn FROM v$database": "GRANT SELECT ON SYS.V_$DATABASE TO C##CDC",
    "SELECT 1 FROM gv$transaction": "GRANT SELECT ON SYS.GV_$TRANSACTION TO C##CDC",
    "BEGIN DBMS_LOGMNR.END_LOGMNR; END;": "GRANT EXECUTE ON SYS.DBMS_LOGMNR TO C##CDC",
    "SELECT 1 FROM cdb_tables": "GRANT SELECT ON SYS.CDB_TABLES TO C##CDC",
    "SELECT scn FROM v$logmnr_contents": "GRANT SELECT ON SYS.V_$LOGMNR_CONTENTS TO C##CDC; GRANT LOGMINING TO C##CDC",
    'SELECT "A" FROM "S"."T" AS OF SCN :scn': 'GRANT SELECT, FLASHBACK ON "S"."T" TO C##CDC',
}


@pytest.mark.parametrize(("sql", "grants"), PRIVILEGES.items())
def test_a_missing_privilege_is_reported_as_the_grant_to_run(sql, grants):
    error = translate(DriverError(942, "ORA-00942", "ORA-00942: table or view does not exist"), "x", sql=sql, user="C##CDC")

    assert isinstance(error, SourceRefused)
    assert error.cure == grants


VALUES = {
    "ORA-01722: unable to convert string value containing 'HUNTER2' to a number: SHOP.T.V": "ORA-01722",
    "ORA-01858: a non-numeric character was found instead of a numeric one: 'HUNTER2'": "ORA-01858",
    "ORA-12899: value too large for column SHOP.T.V (actual: 7, maximum: 5) HUNTER2": "ORA-12899",
    "ORA-20001: row HUNTER2 is not for you": "ORA-20001",
    "ORA-00604: recursive\nORA-01426: numeric overflow HUNTER2\nthe row HUNTER2": "ORA-01426",
}


@pytest.mark.parametrize(("message", "code"), VALUES.items(), ids=VALUES.values())
def test_an_error_of_reading_rows_keeps_its_code_and_no_value(message, code):
    number = int(message[4:9])
    found = without_values(DriverError(number, f"ORA-{number:05}", message))
    error = translate(found, "a statement")

    assert code in error.what
    assert "HUNTER2" not in str(error)


def test_an_error_that_names_a_file_or_a_segment_keeps_its_text():
    text = 'ORA-01555: snapshot too old: rollback segment number 7 with name "_SYSSMU7" too small'

    assert without_values(DriverError(1555, "ORA-01555", text)).message == text
