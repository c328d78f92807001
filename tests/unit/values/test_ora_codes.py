"""The table of ORA and DPY codes: each becomes one error of ours, and no other module has a code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redolake.errors import LogMinerFailed, SourceBusy, SourceRefused, SourceUnavailable, Terminal, Transient
from redolake.values.ora_codes import BAD_COPY, DRIVER_TABLE, ROWS, TABLE, error_class_for

ROOT = Path(__file__).parents[3]

# ORA codes by cause, and the error that each becomes.
RECONNECT, AGAIN, REFUSE, STOP, BY_ITSELF = SourceUnavailable, SourceBusy, SourceRefused, Terminal, LogMinerFailed
FACTS = {
    "LogMiner: an archived log cannot be opened or read": ([308, 312, 313, 334, 1284, 1285, 27037], STOP),
    "LogMiner: the file holds another sequence": ([310, 1368], STOP),
    "LogMiner: corruption": ([353, 354, 368, 1343], STOP),
    "an internal error, which the driver reports as a lost connection": ([600], STOP),
    "a wrapper without a cause": ([604, 6512, 12801], STOP),
    "a cursor of another container": ([65108], REFUSE),
    "a closed PDB, as after a restart": ([16331], RECONNECT),
    "sessions, processes, restricted mode": ([18, 20, 1035], RECONNECT),
    "limits that end the session": ([2392, 2394, 2399], RECONNECT),
    "limits that end the call": ([40], AGAIN),
    "parallel servers": ([12805], RECONNECT),
    "parallel servers not allocated": ([12850], AGAIN),
    "a login that timed out, packets, a call not replayed": ([3136, 12569, 12606, 12609, 12637, 25408], RECONNECT),
    "ASM": ([15055, 15064, 15077], RECONNECT),
    "recompiled packages, a lock on a cursor": ([4061, 4065, 44203], AGAIN),
    "a table that is moved or truncated while it is read": ([8103], AGAIN),
    "LogMiner: slaves and memory": ([1280, 1303, 1304, 1341], AGAIN),
    "LogMiner: range, dates, options": ([1281, 1282, 1283], STOP),
    "LogMiner: another incarnation, twice in the list, not in it": ([1286, 1287, 1289, 1290], STOP),
    "LogMiner: a log is missing, or none was added": ([1291, 1292], STOP),
    "LogMiner: dictionary and options of a start": ([*range(1293, 1303)], STOP),
    "LogMiner: the session was lost or is in no state": ([1306, 1323], RECONNECT),
    "LogMiner: no session to end": ([1307], STOP),
    "LogMiner: misuse": ([*range(1308, 1315), *range(1316, 1323)], STOP),
    "LogMiner: the list changed during the select": ([1315], AGAIN),
    "LogMiner: another character set": ([1288], REFUSE),
    "LogMiner: another database, no ARCHIVELOG, compatibility": ([1324, 1325, 1326], STOP),
    "LogMiner: a lock on the dictionary, one build at a time": ([1327, 1328], AGAIN),
    "LogMiner: the rest": ([*range(1329, 1333), *range(1334, 1341), 1342, 1346, 1347, *range(1349, 1357), 1358, 1371], STOP),
    "LogMiner's dictionary could not be established": ([1333], BY_ITSELF),
    "the listener refuses until the database is open": ([12526, 12527, 12528, 12514], RECONNECT),
    "the listener's rules, no service": ([12529, 12504], REFUSE),
    "XStream": ([26653, 25303], STOP),
    "options and containers that no longer exist": ([44609, 44613, 65040, 32589, 60526], STOP),
    "AS OF an SCN that is no longer available": ([1555, 22924, 1466, 8180], REFUSE),
    "an SCN or a time that is not known": ([8181, 8186], STOP),
    "cancelled": ([1013], AGAIN),
    "cursors of a killed session": ([1001, 1002, 24338], RECONNECT),
    "temp, tablespace, undo full": ([1652, 1653, 30036], AGAIN),
    "memory": ([4030, 4031, 4036, 27102], AGAIN),
    "a session that may not switch the container": ([1435, 24964, 65053, 65135], REFUSE),
    "missing privilege, no such object": ([942, 1031, 1435, 6550], REFUSE),
    "no such column, no such object for DBMS_METADATA": ([904, 31603], STOP),
    "locks": ([54, 4021], AGAIN),
    "no rows, or too many": ([1403, 1422], STOP),
    "the profile's limits": ([2391, 2396], AGAIN),
    "time zones, IOT overflow": ([1882, 25191], STOP),
    "a standby writes nothing": ([16000, 16003], REFUSE),
    "a standby is too far behind": ([3172, 3173], AGAIN),
    "mounted, not open": ([1219, 1507, 1109], RECONNECT),
    "password, account, CREATE SESSION": ([1017, 28000, 28001, 1045], REFUSE),
    "a password that will expire": ([28002], STOP),
    "listener": ([12505, 12514, 12516, 12518, 12519, 12520, 12521, 12528], RECONNECT),
    "network": ([12541, 12170, 12535, 12543, 12545, 1170, 12537, 12547, 12570, 12571, 12583, 12153], RECONNECT),
    "TNS alias": ([12154], STOP),
    "lost contact": ([3113, 3114, 3135, 3122], RECONNECT),
    "session or process died": ([28, 31, 1012, 1041, 1043, 22, 45, 378, 602, 603, 609, 27146, 28511, 56600], RECONNECT),
    "starting, stopping": ([1033, 1034, 1089, 1090, 1092], RECONNECT),
    "errors the driver calls recoverable": ([376, 1115, 12757, 16456], RECONNECT),
    "a pool without a connection": ([24457, 24459, 24496], RECONNECT),
    "the archiver is stuck": ([257], RECONNECT),
}
DRIVER_FACTS = {
    **dict.fromkeys(["DPY-1001", "DPY-4005", "DPY-4011", "DPY-4033", "DPY-6000", "DPY-6001", "DPY-6003"], SourceUnavailable),
    "DPY-6005": SourceUnavailable,
    "DPY-4024": SourceBusy,
    **dict.fromkeys(["DPY-3001", "DPY-3010", "DPY-3015", "DPY-3022", "DPY-4000", "DPY-5000", "DPY-5006"], Terminal),
}


@pytest.mark.parametrize(("codes", "kind"), FACTS.values(), ids=FACTS)
def test_each_code_is_known_as_its_error(codes: list[int], kind: type[Exception]) -> None:
    assert {code: ROWS[code].becomes for code in codes} == dict.fromkeys(codes, kind)


@pytest.mark.parametrize(("code", "kind"), DRIVER_FACTS.items())
def test_driver_codes_without_an_ora_number_are_sorted(code: str, kind: type[Exception]) -> None:
    assert error_class_for(0, code) is kind


def test_no_code_is_in_two_rows() -> None:
    assert len(ROWS) == sum(len(row.codes) for row in (*TABLE, *DRIVER_TABLE))


def test_every_code_that_makes_mining_try_another_copy_is_terminal_without_one() -> None:
    assert {ROWS[code].becomes for code in BAD_COPY} == {Terminal}


def test_an_error_that_is_not_tried_again_and_has_a_cure_is_a_refusal() -> None:
    assert {row.becomes for row in TABLE if row.cure and not issubclass(row.becomes, Transient)} == {SourceRefused}


def test_no_other_module_spells_a_code_of_oracle() -> None:
    """Names, not numbers, are compared with the code of an error."""
    number = re.compile(r"ora_code\s*(?:==|!=|(?:not )?in)\s*[\d({\[]|frozenset\(\s*\{\s*\d{3,5}\b")
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "pipelines" / "redolake").rglob("*.py"))
        if path.name != "ora_codes.py" and number.search(path.read_text())
    ]

    assert found == []


CODES = {
    (1017, ""): SourceRefused,
    (942, ""): SourceRefused,
    (3113, "DPY-4011"): SourceUnavailable,
    (0, "DPY-6005"): SourceUnavailable,
    (600, "DPY-4011"): Terminal,  # the driver calls it a lost connection; its number is in no table of transient codes
    (4036, ""): SourceBusy,
    (12345, ""): Terminal,
}


@pytest.mark.parametrize(("code", "kind"), CODES.items())
def test_the_ora_number_chooses_the_error_class(code: tuple[int, str], kind: type[Exception]) -> None:
    assert error_class_for(*code) is kind
