"""The rows that the WHERE clause selects, tested by running it as SQL."""

from __future__ import annotations

import duckdb
import pytest

from redolake.mine.selection import ROOT, MinedContainer, predicate
from redolake.values.table import TableId

PDB = "FREEPDB1"
OF_PDB = MinedContainer(PDB)
ORDERS = (TableId("SHOP", "ORDERS"),)
ROWS = {
    # name: (container, operation code, status, owner, table, id) and whether it is selected
    "a captured name": ((PDB, 1, 0, "SHOP", "ORDERS", 5), True),
    "a captured id under another name": ((PDB, 1, 0, "SHOP", "OLD_ORDERS", 71), True),
    "the same name of another owner": ((PDB, 1, 0, "TEST", "ORDERS", 5), False),
    "another table": ((PDB, 1, 0, "SHOP", "OTHER", 6), False),
    "a captured name in another container": (("OTHER", 1, 0, "SHOP", "ORDERS", 71), False),
    "a start": ((PDB, 6, 0, None, None, 0), True),
    "a commit without a container": ((None, 7, 0, None, None, 0), True),
    "a rollback elsewhere": (("OTHER", 36, 0, None, None, 0), False),
    "a dropped table": ((PDB, 1, 2, "UNKNOWN", "OBJ# 9", 9), True),
    "a table in the recycle bin": ((PDB, 1, 0, "SHOP", "BIN$abc==$0", 9), True),
    "no name at all": ((PDB, 5, 0, None, None, 9), True),
    "DDL of another table, which may exchange a partition with ours": ((PDB, 5, 0, "SHOP", "SALES", 6), True),
    "DDL of another container": (("OTHER", 5, 0, "SHOP", "ORDERS", 71), False),
    "internal bookkeeping": ((PDB, 0, 0, "SHOP", "ORDERS", 71), False),
    "a row lock": ((PDB, 25, 0, "SHOP", "ORDERS", 71), False),
    "a hole, whatever its container": (("OTHER", 34, 1291, None, None, None), True),
    "corruption anywhere": (("OTHER", 0, 1343, None, None, None), True),
    "an unguaranteed row of another container": (("OTHER", 1, 3, "A", "B", 1), False),
}


def kept(row, container=OF_PDB, tables=ORDERS, ids=frozenset({71})):
    text, binds = predicate(tables, ids, container)
    for name, value in sorted(binds.items(), key=lambda b: -len(b[0])):
        text = text.replace(f":{name}", f"'{value}'" if isinstance(value, str) else str(value))
    names = "src_con_name, operation_code, status, seg_owner, table_name, data_obj"
    source = f"(SELECT ?::VARCHAR, ?::INT, ?::INT, ?::VARCHAR, ?::VARCHAR, ?::INT) AS r({names})"
    sql = f"SELECT COUNT(*) FROM {source} WHERE {text.replace('data_obj#', 'data_obj')}"
    return duckdb.execute(sql, list(row)).fetchone()[0] == 1


@pytest.mark.parametrize(("row", "expected"), ROWS.values(), ids=ROWS)
def test_the_predicate_selects_every_row_that_may_matter(row, expected):
    assert kept(row) is expected


ENDS = {
    # name: (container, code, status, ROLLBACK, ROW_ID, SEQUENCE#, id) and whether it is selected
    "the end of a statement that writes a large object": ((PDB, 0, 0, 0, "AAASkmAAHAAAAFmAAA", 2, 71), True),
    "of another table": ((PDB, 0, 0, 0, "AAASkmAAHAAAAFmAAA", 2, 72), False),
    "of another container": (("OTHER", 0, 0, 0, "AAASkmAAHAAAAFmAAA", 2, 71), False),
    "without a ROW_ID": ((PDB, 0, 0, 0, "AAAAAAAAAAAAAAAAAA", 2, 71), False),
    "with the number of an object alone": ((PDB, 0, 0, 0, "AAASkmAAAAAAAAAAAA", 2, 71), False),
    "undone": ((PDB, 0, 0, 1, "AAASkmAAHAAAAFmAAA", 2, 71), False),
    "bookkeeping beside it": ((PDB, 0, 0, 0, "AAASkmAAHAAAAFmAAA", 1, 71), False),
    "in pieces": ((PDB, 0, 5, 0, "AAASkmAAHAAAAFmAAA", 2, 71), False),
}


@pytest.mark.parametrize(("row", "expected"), ENDS.values(), ids=ENDS)
def test_internal_rows_are_selected_where_they_end_a_statement_of_a_table_with_large_objects(row, expected):
    text, binds = predicate(ORDERS, frozenset({70, 71, 72}), OF_PDB, with_objects=frozenset({70, 71}))
    for name, value in sorted(binds.items(), key=lambda b: -len(b[0])):
        text = text.replace(f":{name}", f"'{value}'" if isinstance(value, str) else str(value))
    names = "src_con_name, operation_code, status, rollback, row_id, sequence_no, data_obj, seg_owner, table_name"
    source = f"(SELECT ?::VARCHAR, ?::INT, ?::INT, ?::INT, ?::VARCHAR, ?::INT, ?::INT, NULL, NULL) AS c({names})"
    shown = text.replace("data_obj#", "data_obj").replace("sequence#", "sequence_no")
    assert (duckdb.execute(f"SELECT COUNT(*) FROM {source} WHERE {shown}", list(row)).fetchone()[0] == 1) is expected


@pytest.mark.parametrize(("undo", "selected"), [(None, False), (3, True)], ids=["local", "shared"])
def test_ends_of_the_roots_transactions_are_selected_only_with_shared_undo(undo, selected):
    container = MinedContainer(PDB, undo)

    assert [kept((ROOT, code, 0, None, None, 0), container) for code in (6, 7, 36)] == [selected] * 3
    assert not any(kept((ROOT, code, 0, "SHOP", "ORDERS", 71), container) for code in (1, 5))
    assert not kept(("OTHER", 7, 0, None, None, 0), container)


def test_without_containers_the_predicate_names_none():
    assert kept((None, 1, 0, "SHOP", "ORDERS", 5), container=None)


def test_any_number_of_tables_and_ids_fits_oracles_in_lists():
    tables = [TableId("SHOP", f"T{n}") for n in range(1201)]

    text, binds = predicate(tables, frozenset(range(2400)), OF_PDB)

    assert max(part.count(",") for part in text.split("IN (")[1:]) < 500
    assert set(binds.values()) >= {"T0", "T1200", 0, 2399, "SHOP", PDB}
