"""Which rows of a window are read again, and which wait for the end of their transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from redolake.steps.capture.reread.touched import LATER, by_end, touches
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import OracleType, TableId

COLUMNS = (
    DictionaryColumn("ID", OracleType("NUMBER"), 1, 1, False),
    DictionaryColumn("NAME", OracleType("VARCHAR2"), 2, 2, True),
    DictionaryColumn("BODY", OracleType("CLOB"), 3, 3, True),
)
TABLE = DictionaryTable(TableId("S", "T"), 1, 1, COLUMNS, ("ID",), frozenset(), Scn(1), Scn(1))

CHANGES = {
    "an INSERT": (1, "insert ..", True),
    "a piece of a large object": (10, "DECLARE ..", True),
    "a new value in the row": (3, 'update "S"."T" set "BODY" = \'x\' where "ID" = \'1\'', True),
    "another key": (3, 'update "S"."T" set "ID" = \'2\' where "ID" = \'1\'', True),
    "another column": (3, 'update "S"."T" set "NAME" = \'x\' where "ID" = \'1\' and "NAME" = \'y\'', False),
    "a text like the column's name": (3, 'update "S"."T" set "NAME" = \'"BODY" = \' where "ID" = \'1\'', True),
}


@pytest.mark.parametrize(("code", "sql", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_change_that_may_touch_a_large_object_or_the_key_is_read_again(code: int, sql: str, expected: bool) -> None:
    assert touches({"operation_code": code, "status": 0, "sql_redo": sql}, TABLE, ("ID",)) is expected


def test_an_update_that_names_no_column_is_read_again() -> None:
    assert touches({"operation_code": 3, "status": 2, "sql_redo": 'update .. set "COL 2" = ..'}, TABLE, ("ID",))


@pytest.mark.parametrize("code", [1, 2, 3, 10, 255])
def test_every_change_of_a_table_that_logminer_does_not_show_is_read_again(code: int) -> None:
    whole = replace(TABLE, rereads_rows=True)

    assert touches({"operation_code": code, "status": 2, "sql_redo": "Unsupported"}, whole, ("ID",))
    assert touches({"operation_code": code, "status": 2, "sql_redo": ""}, TABLE, ("ID",)) is (code not in (2, 255))


def waiting(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{"con_id": 3, "pxid": None, "row_id": f"R{n}", **row} for n, row in enumerate(rows)], LATER)


def test_rows_are_read_at_the_commit_forgotten_at_a_rollback_and_wait_until_then() -> None:
    rows = waiting(
        {"xid": "1.1.1", "scn": 10},  # committed
        {"xid": "2.2.2", "scn": 10},  # rolled back
        {"xid": "3.3.3", "scn": 10},  # open
        {"xid": "1.1.1", "scn": 30},  # of the next transaction with that xid
        {"xid": "4.4.4", "pxid": "1.1.1", "scn": 10},  # of a parallel server, whose coordinator committed
        {"xid": "5.5.4294967295", "scn": 10},  # of an unknown transaction
        {"xid": "1.1.1", "con_id": 4, "scn": 10},  # of another container
    )
    ends = pa.Table.from_pylist(
        [
            {"con_id": 3, "xid": "1.1.1", "scn": 20, "operation_code": 7},
            {"con_id": 3, "xid": "1.1.1", "scn": 25, "operation_code": 36},  # of another use of the xid
            {"con_id": 3, "xid": "2.2.2", "scn": 20, "operation_code": 36},
        ]
    )
    now, later = by_end(rows, ends)

    assert now["row_id"].to_pylist() == ["R0", "R4", "R5"]
    assert later["row_id"].to_pylist() == ["R2", "R3", "R6"]
