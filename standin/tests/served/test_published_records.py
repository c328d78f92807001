"""What LogMiner showed on real databases, as others published it, is what the stand-in shows of statements of the same meaning:
value by value, and in the same order within each transaction."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from standin.serve import StandIn, standin
from standin.tests.served.mining_client import ADD, END, add, archived, query, run
from tests.published import autonomous
from tests.published.redo_text import read
from tests.published.scenarios import SCENARIOS, SECOND, Row, Scenario, published

# The readings of what releases write in different ways: those of 26ai.
AS_PUBLISHED: dict[str, Any] = {
    "lob_rows": "statement", "null_updates": "all", "young_columns": "null",
}  # fmt: skip
MINE = """BEGIN DBMS_LOGMNR.START_LOGMNR(STARTSCN => :first, ENDSCN => :last, OPTIONS =>
    DBMS_LOGMNR.COMMITTED_DATA_ONLY + DBMS_LOGMNR.NO_ROWID_IN_STMT + {}); END;"""
ONLINE = "DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG"
IN_REDO = "DBMS_LOGMNR.DICT_FROM_REDO_LOGS + DBMS_LOGMNR.DDL_DICT_TRACKING"
ROWS = """SELECT xid, operation, table_name, sql_redo, csf FROM v$logmnr_contents
    WHERE seg_owner = 'SHOP' AND operation IN ('INSERT', 'UPDATE', 'DELETE')"""
PUBLISHED = published()


@pytest.fixture(scope="module")
def oracle() -> Iterator[StandIn]:
    with standin(threads=2, archive_lag_target=0, **AS_PUBLISHED) as running:
        yield running


def mined(oracle: StandIn, scenario: Scenario) -> list[list[Row]]:
    """Run a scenario, and return LogMiner's rows of each transaction, in the order of the first rows."""
    first, second = (oracle.connect("SHOP", instance_name=name) for name in ("FREE1", "FREE2"))
    with first, second, oracle.connect("SYS") as dba, oracle.connect(oracle.capture_user) as miner:
        run(first, *scenario.ddl)
        if scenario.dictionary_in_redo:
            run(dba, "BEGIN DBMS_LOGMNR_D.BUILD(OPTIONS => DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;")
        (start,) = query(dba, "SELECT current_scn FROM v$database")[0]
        for statement in scenario.work:
            if statement == "switch":
                run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
            else:
                run(second if statement.startswith(SECOND) else first, statement.removeprefix(SECOND))
        (end,) = query(dba, "SELECT current_scn FROM v$database")[0]
        run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
        with miner.cursor() as cursor:
            for number, name in enumerate(archived(miner)):
                cursor.execute(ADD.format("ADDFILE" if number else "NEW"), name=name)
            cursor.execute(MINE.format(IN_REDO if scenario.dictionary_in_redo else ONLINE), first=start, last=end)
        rows = query(miner, ROWS)
        run(miner, END)
        run(first, *(f"DROP TABLE {name} PURGE" for name in scenario.tables))
    return by_transaction(rows)


def by_transaction(rows: list[tuple[bytes, str, str, str, int]]) -> list[list[Row]]:
    found: dict[bytes, list[Row]] = {}
    text = ""
    for xid, operation, table, sql, continues in rows:
        text += sql.replace("\n", " ").replace("\r", "")  # as the published files were extracted
        if not continues:
            read_as, before, after = read(text)
            assert read_as == operation
            found.setdefault(xid, []).append((operation, table, before, after))
            text = ""
    return list(found.values())


@pytest.mark.parametrize("name", SCENARIOS)
def test_logminer_shows_what_it_showed_on_a_real_oracle(oracle: StandIn, name: str) -> None:
    found = mined(oracle, SCENARIOS[name])

    assert sorted(found, key=_in_order) == sorted(PUBLISHED[name], key=_in_order)


def _in_order(transaction: list[Row]) -> str:
    """Return a key by which transactions are sorted: of which came first nothing is published where they share an SCN."""
    return json.dumps(transaction, sort_keys=True)


def test_every_published_scenario_is_compared() -> None:
    assert SCENARIOS.keys() == PUBLISHED.keys()
    assert sum(len(rows) for work in PUBLISHED.values() for rows in work) == 658


def test_texts_are_those_of_an_autonomous_database() -> None:
    """Letter by letter, the undo too."""
    shown = """SELECT operation, sql_redo, sql_undo FROM v$logmnr_contents
        WHERE table_name = 'TEST_LOGMINER_DEMO'"""
    with standin(archive_lag_target=0) as fresh, fresh.connect("SHOP") as shop, fresh.connect("SYS") as dba:
        run(shop, autonomous.CREATED, autonomous.LOGGED, *autonomous.WORK)
        shop.commit()
        run(dba, "ALTER SYSTEM ARCHIVE LOG CURRENT")
        with fresh.connect(fresh.capture_user) as miner:
            add(miner, *archived(miner))
            run(miner, f"BEGIN DBMS_LOGMNR.START_LOGMNR(OPTIONS => {ONLINE}); END;")
            rows = query(miner, shown)

    found = [tuple(text and re.sub("'AAA[A-Za-z0-9+/]{15}'", "'<row>'", text) for text in row) for row in rows]
    expected = [tuple(text and text.replace('"ADMIN"', '"SHOP"') for text in row) for row in autonomous.SHOWN]
    assert found == expected
