"""Snapshot SELECTs lose no digit, and the first window starts early enough."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolake.errors import SourceRefused
from redolake.source.dictionary import oracle_type
from redolake.source.facts import ActiveTransaction
from redolake.source.handover import Handover, first_window_start
from redolake.source.quoting import quote
from redolake.source.snapshot import snapshot_sql
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.redo import Incarnation, LogCopy, LogFile, RedoFacts
from redolake.values.scn import Scn
from redolake.values.table import OracleType, TableId

TYPES = {
    "NUMBER": (("NUMBER", 22, 0, None, None), OracleType("NUMBER")),
    "NUMBER(10,2)": (("NUMBER", 22, 0, 10, 2), OracleType("NUMBER", precision=10, scale=2)),
    "NUMBER(5,-2)": (("NUMBER", 22, 0, 5, -2), OracleType("NUMBER", precision=5, scale=-2)),
    "INTEGER": (("NUMBER", 22, 0, None, 0), OracleType("NUMBER", precision=38, scale=0)),
    "FLOAT": (("FLOAT", 22, 0, 126, None), OracleType("FLOAT", precision=126)),
    "VARCHAR2(10 CHAR)": (("VARCHAR2", 40, 10, None, None), OracleType("VARCHAR2", length=10)),
    "RAW(16)": (("RAW", 16, 0, None, None), OracleType("RAW", length=16)),
    "DATE": (("DATE", 7, 0, None, None), OracleType("DATE")),
    "TIMESTAMP(3)": (("TIMESTAMP(3)", 11, 0, None, 3), OracleType("TIMESTAMP", scale=3)),
    "TIMESTAMP WITH TIME ZONE": (
        ("TIMESTAMP(6) WITH TIME ZONE", 13, 0, None, 6),
        OracleType("TIMESTAMP WITH TIME ZONE", scale=6),
    ),
    "INTERVAL": (
        ("INTERVAL DAY(2) TO SECOND(6)", 11, 0, 2, 6),
        OracleType("INTERVAL DAY TO SECOND", precision=2, scale=6),
    ),
    "CLOB": (("CLOB", 4000, 0, None, None), OracleType("CLOB")),
}


@pytest.mark.parametrize(("data_type", "expected"), TYPES.values(), ids=TYPES)
def test_dictionary_columns_become_a_type(data_type, expected):
    assert oracle_type(*data_type) == expected


def column(name, *kind, hidden=False, virtual=False, **more):
    return DictionaryColumn(name, OracleType(*kind, **more), 1, 1, True, hidden, virtual)


def table(*columns, key=("ID",)):
    return DictionaryTable(TableId("SHOP", "Odd Name"), 1, 1, columns, key, frozenset(), Scn(1), Scn(2))


def test_types_that_arrow_cannot_hold_exactly_are_fetched_as_text():
    sql = snapshot_sql(
        table(
            column("ID", "NUMBER", precision=10, scale=0),
            column("N", "NUMBER"),
            column("R", "NUMBER", precision=5, scale=-2),
            column("T", "TIMESTAMP", scale=9),
            column("U", "TIMESTAMP", scale=6),
            column("V", "NUMBER", virtual=True),
            column("SYS_NC00009$", "RAW", hidden=True),
        ),
        ordered=True,
    )

    assert sql == (
        'SELECT "ID",\n'
        "       TO_CHAR(\"N\", 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,''') AS \"N\",\n"
        "       TO_CHAR(\"R\", 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,''') AS \"R\",\n"
        "       TO_CHAR(\"T\", 'SYYYY-MM-DD HH24:MI:SS.FF9', 'NLS_CALENDAR=GREGORIAN') AS \"T\",\n"
        '       "U"\n'
        '  FROM "SHOP"."Odd Name" AS OF SCN :scn\n'
        ' ORDER BY "ID"'
    )


@pytest.mark.parametrize("columns", ["all", frozenset({"D", "S", "N"})])
def test_dates_are_fetched_as_text_where_the_configuration_or_a_second_reading_asks_for_it(columns):
    dates = column("D", "DATE"), column("s", "TIMESTAMP", scale=3), column("N", "NUMBER", precision=5, scale=0)

    assert snapshot_sql(table(*dates), dates_as_text=columns) == (
        "SELECT TO_CHAR(\"D\", 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN') AS \"D\",\n"
        "       TO_CHAR(\"s\", 'SYYYY-MM-DD HH24:MI:SS.FF3', 'NLS_CALENDAR=GREGORIAN') AS \"s\",\n"
        '       "N"\n'
        '  FROM "SHOP"."Odd Name" AS OF SCN :scn'
    )


def test_rowids_are_read_as_text_beside_the_columns():
    sql = snapshot_sql(table(column("N", "NUMBER", precision=5, scale=0), key=()), rowid=True)

    assert sql == 'SELECT "N",\n       ROWIDTOCHAR(ROWID) AS "_rowid"\n  FROM "SHOP"."Odd Name" AS OF SCN :scn'


@given(st.text(max_size=140))
def test_no_name_gets_out_of_its_quotes(name):
    try:
        shown = quote(name)
    except SourceRefused:
        assert not name or '"' in name or "\0" in name or len(name.encode("utf-8", "surrogatepass")) > 128
    else:
        assert shown == f'"{name}"'
        assert '"' not in shown[1:-1]


def log(thread, sequence, first, end, *, gone=False):
    copy = LogCopy(1, f"/a/{thread}_{sequence}", "D" if gone else "A", deleted=gone)
    return LogFile(thread, sequence, 11, Scn(first), None if end is None else Scn(end), (copy,) if end else ())


def facts(*logs):
    archived, online = [g for g in logs if g.next_scn], [g for g in logs if not g.next_scn]
    return RedoFacts(7, Scn(999), (), tuple(archived), tuple(online), (Incarnation(11, Scn(1), "CURRENT", Scn(0)),))


STARTS = {
    "one log earlier": ([log(1, 1, 100, 200), log(1, 2, 200, 300), log(1, 3, 300, None)], 250, 100),
    "one log earlier than the current one": ([log(1, 1, 100, 200), log(1, 2, 200, None)], 250, 100),
    "the first log when there is none earlier": ([log(1, 1, 100, None)], 250, 100),
    "not in a deleted log": ([log(1, 1, 100, 200, gone=True), log(1, 2, 200, None)], 250, 200),
    "the lowest of all threads": (
        [log(1, 1, 100, 200), log(1, 2, 200, None), log(2, 1, 50, 90), log(2, 2, 90, 220), log(2, 3, 220, None)],
        250,
        90,
    ),
    "not below the oldest log a thread still has": (
        [log(1, 1, 100, 200), log(1, 2, 200, None), log(2, 5, 150, None)],
        250,
        150,
    ),
}


@pytest.mark.parametrize(("logs", "start_scn", "expected"), STARTS.values(), ids=STARTS)
def test_the_first_window_starts(logs, start_scn, expected):
    assert first_window_start(facts(*logs), Scn(start_scn)) == expected


def test_a_log_whose_archived_copy_is_deleted_is_not_read_from_its_online_group():
    # |x1-200|-2-> where the group of log 1 is not overwritten yet
    known = facts(log(1, 1, 100, 200), log(1, 2, 200, None))
    purged = replace(log(1, 1, 100, 200), copies=(LogCopy(1, None, "D", deleted=True),))
    online = replace(log(1, 1, 100, 200), copies=())
    known = replace(known, archived=(purged,), online=(online, *(g for g in known.online if g.sequence == 2)))

    assert first_window_start(known, Scn(250)) == 200
    archiving = replace(purged, copies=(LogCopy(1, "/a/1", "A", archived=False),))
    assert first_window_start(replace(known, archived=(archiving,)), Scn(250)) == 100


def test_mining_starts_before_the_oldest_open_transaction():
    waiting = ActiveTransaction("1.2.3", Scn(400), 3)

    assert Handover(Scn(500), (waiting,), Scn(501)).start_scn == 400
    assert Handover(Scn(500), (), Scn(501)).start_scn == 500
