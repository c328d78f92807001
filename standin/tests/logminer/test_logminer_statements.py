"""SQL_REDO and SQL_UNDO, compared with the text that LogMiner shows."""

import pytest

from standin.logminer.dictionary import MISMATCH, VERSION_MISMATCH, OnlineCatalog, ResolvedTable, unresolved
from standin.logminer.literals import Nls
from standin.logminer.statements import Layout, TableText
from standin.model import DatabaseState, SqlType, TableColumn, TableDef
from standin.redo_file import Op

NLS = Nls("YYYY-MM-DD HH24:MI:SS", "YYYY-MM-DD HH24:MI:SS.FF9")
BARE = Layout(NLS, delimiter="", rowid=False)
ROW = "AAAR3sAAEAAAACXAAA"
ONE, TWO = b"\xc1\x02", b"\xc1\x03"
DAY = bytes.fromhex("787e021c0e2e3c")
T = ResolvedTable(
    "S", "T", {1: ("ID", SqlType("NUMBER")), 2: ("NAME", SqlType("VARCHAR2")), 3: ("D", SqlType("DATE"))}, 0, None
)

DATE_TEXT = "TO_DATE('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS')"
REDO = {
    "insert": (Op.INSERT, {}, {1: ONE, 2: b"O'Reilly", 3: DAY}, False,
               f"""insert into "S"."T"("ID","NAME","D") values ('1','O''Reilly',{DATE_TEXT})"""),
    "insert of NULLs": (Op.INSERT, {}, {1: ONE, 2: None, 3: None}, False,
                        """insert into "S"."T"("ID","NAME","D") values ('1',NULL,NULL)"""),
    "update": (Op.UPDATE, {1: ONE, 2: b"a"}, {2: b"b"}, False,
               """update "S"."T" set "NAME" = 'b' where "ID" = '1' and "NAME" = 'a'"""),
    "update to NULL": (Op.UPDATE, {1: ONE, 2: b"b", 3: None}, {2: None}, False,
                       """update "S"."T" set "NAME" = NULL where "ID" = '1' and "NAME" = 'b' and "D" IS NULL"""),
    "columns in segment order": (Op.UPDATE, {2: b"a", 1: ONE}, {2: b"b", 1: TWO}, False,
                                 """update "S"."T" set "ID" = '2', "NAME" = 'b' where "ID" = '1' and "NAME" = 'a'"""),
    "delete": (Op.DELETE, {1: ONE, 2: b"x", 3: DAY}, {}, False,
               f"""delete from "S"."T" where "ID" = '1' and "NAME" = 'x' and "D" = {DATE_TEXT}"""),
    "undone insert": (Op.DELETE, {}, {}, True, f"""delete from "S"."T" where ROWID = '{ROW}'"""),
    "undone update": (Op.UPDATE, {}, {2: b"old"}, True, """update "S"."T" set "NAME" = 'old'"""),
    "undone delete": (Op.INSERT, {}, {1: ONE, 2: b"x", 3: None}, True,
                      """insert into "S"."T"("ID","NAME","D") values ('1','x',NULL)"""),
}  # fmt: skip
UNDO = {
    "insert": (Op.INSERT, {}, {1: ONE, 2: b"x"}, False, """delete from "S"."T" where "ID" = '1' and "NAME" = 'x'"""),
    "update": (
        Op.UPDATE,
        {1: ONE, 2: b"a"},
        {2: b"b"},
        False,
        """update "S"."T" set "NAME" = 'a' where "ID" = '1' and "NAME" = 'b'""",
    ),
    "delete": (Op.DELETE, {1: ONE, 2: b"x"}, {}, False, """insert into "S"."T"("ID","NAME") values ('1','x')"""),
    "row of a rollback": (Op.DELETE, {}, {}, True, None),
}  # fmt: skip


@pytest.mark.parametrize(("op", "before", "after", "rollback", "text"), REDO.values(), ids=REDO)
def test_sql_redo_is_written_as_by_oracle(op, before, after, rollback, text):
    assert TableText(T, BARE).redo(op, before, after, ROW, rollback=rollback) == text


@pytest.mark.parametrize(("op", "before", "after", "rollback", "text"), UNDO.values(), ids=UNDO)
def test_sql_undo_reverses_the_change(op, before, after, rollback, text):
    assert TableText(T, BARE).undo(op, before, after, ROW, rollback=rollback) == text


def test_rowid_and_delimiter_are_written_by_default():
    text = TableText(T, Layout(NLS)).redo(Op.DELETE, {1: ONE}, {}, ROW, rollback=False)

    assert text == f"""delete from "S"."T" where "ID" = '1' and ROWID = '{ROW}';"""


def test_a_row_of_a_dropped_table_is_generic():
    text = TableText(unresolved(45522), Layout(NLS)).redo(
        Op.INSERT, {}, {1: b"EF_GH", 2: b"Technical Writer", 3: b"\xc2\x29", 4: None}, ROW, rollback=False
    )

    assert text == (
        """insert into "UNKNOWN"."OBJ# 45522"("COL 1","COL 2","COL 3","COL 4") values """
        "(HEXTORAW('45465f4748'),HEXTORAW('546563686e6963616c20577269746572'),HEXTORAW('c229'),NULL);"
    )


def test_where_clauses_contain_no_lobs():
    table = ResolvedTable("S", "T", {1: ("ID", SqlType("NUMBER")), 2: ("DOC", SqlType("CLOB"))}, 0, None)
    text = TableText(table, BARE)

    assert text.redo(Op.INSERT, {}, {1: ONE, 2: b""}, ROW, rollback=False) == (
        """insert into "S"."T"("ID","DOC") values ('1',EMPTY_CLOB())"""
    )
    assert text.redo(Op.DELETE, {1: ONE, 2: b"abc"}, {}, ROW, rollback=False) == """delete from "S"."T" where "ID" = '1'"""


def table(name: str, object_id: int, version: int) -> TableDef:
    return TableDef("S", name, 3, object_id, object_id, version, [TableColumn("ID", SqlType("NUMBER"), 1)])


def test_the_catalog_contains_only_current_definitions():
    state = DatabaseState(tables={(3, "S", "T"): table("T", 7, 2)}, dropped={8: table("GONE", 8, 1)})
    catalog = OnlineCatalog(state)

    now, before, recycled, purged = (catalog.resolve(3, *key, True) for key in ((7, 2), (7, 1), (8, 1), (9, 1)))

    assert (now.name, now.status, now.info, list(now.columns)) == ("T", 0, None, [1])
    assert (before.name, before.status, before.info, before.columns) == ("T", 2, VERSION_MISMATCH, {})
    assert recycled.name.startswith("BIN$")
    assert recycled.name.endswith("==$0")
    assert len(recycled.name) == 30
    assert (purged.owner, purged.name, purged.info) == ("UNKNOWN", "OBJ# 9", MISMATCH)
