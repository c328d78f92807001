"""The 42 statements of Debezium's parser tests (LogMinerDmlParserTest), shortened: what each says, or why it is refused.

Debezium parses each of them. A row that is refused here holds its table; a value that is guessed would be wrong in silence.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from redolake.decode.changes import decode_changes
from redolake.decode.compiled.changes import decode_compiled
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from tests.unit.decode.redo_text import redo_batch

TEXT = OracleType("VARCHAR2", 400)
TYPES = {
    "TS": OracleType("TIMESTAMP", 11, None, 6),
    "D": OracleType("DATE", 7),
    "UT": OracleType("OBJECT"),
    "N": OracleType("NVARCHAR2", 400),
    "C": OracleType("CLOB"),
    "BL": OracleType("BLOB"),
    "J": OracleType("JSON"),
}  # by the first letters of a column's name; other columns are VARCHAR2
DAY, NEXT_DAY = datetime(2020, 2, 1), datetime(2020, 2, 2)
TO_DATE = "TO_DATE('2020-02-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')"
TO_NEXT = TO_DATE.replace("-01 ", "-02 ")
CHINESE = r"UNISTR('\963F\72F8(\60CA\FF09\FF082161')"

# The columns of the table, the statement, and the values before and after, without NULLs.
READ: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "1 DBZ-3078: a bare point, and types that LogMiner does not show": (
        "ID TS UT D UT2 C1 X",
        """insert into "S"."T"("ID","TS","UT","D","UT2","C1") values """
        f"('1',TO_TIMESTAMP('2020-02-01 00:00:00.'),Unsupported Type,{TO_DATE},Unsupported Type,NULL);",
        {},
        {"ID": "1", "TS": DAY, "D": DAY},
    ),
    "2 DBZ-3078: the same in SET and WHERE, and NULL after =": (
        "ID TS UT D C1 X",
        f"""update "S"."T" set "TS" = TO_TIMESTAMP('2020-02-02 00:00:00.'), "UT" = Unsupported Type, "D" = {TO_NEXT}, """
        "\"C1\" = NULL where \"ID\" = '1' and \"TS\" = TO_TIMESTAMP('2020-02-01 00:00:00.') and \"UT\" = Unsupported Type and "
        f'"D" = {TO_DATE} and "C1" = NULL and "X" IS NULL;',
        {"ID": "1", "TS": DAY, "D": DAY},
        {"ID": "1", "TS": NEXT_DAY, "D": NEXT_DAY},
    ),
    "3 DBZ-3078: the same in a DELETE": (
        "ID TS UT D X",
        """delete from "S"."T" where "ID" = '1' and "TS" = TO_TIMESTAMP('2020-02-01 00:00:00.') and """
        f'"UT" = Unsupported Type and "D" = {TO_DATE} and "X" IS NULL;',
        {"ID": "1", "TS": DAY, "D": DAY},
        {},
    ),
    "4 DBZ-3235: an UPDATE without WHERE": (
        "A B", """update "S"."T" set "A" = '1', "B" = NULL;""", {}, {"A": "1"},
    ),
    "5 DBZ-3235: a DELETE without WHERE": ("A B", 'delete from "S"."T";', {}, {}),
    "6 DBZ-4194: a table's alias": (
        "A B", """update "S"."T" a set a."A" = '1', a."B" = NULL;""", {}, {"A": "1"},
    ),
    "7 DBZ-4194: an alias, and a type that LogMiner does not show": (
        "A UT", """delete from "S"."T" a where a."A" = '1' and a."UT" = Unsupported Type;""", {"A": "1"}, {},
    ),
    "9 DBZ-4891: quotes doubled": (
        "A", """update "S"."T" set "A" = 'I love ''it''' where "A" = 'use ''that'' now'""",
        {"A": "use 'that' now"}, {"A": "I love 'it'"},
    ),
    "11 DBZ-3305: a function ends the text": (
        "A D", f"""update "S"."T" set "A" = '0', "D" = {TO_DATE};""", {}, {"A": "0", "D": DAY},
    ),
    "12 DBZ-3367: brackets in UNISTR, and a blank before the columns": (
        "N1 N2", f'insert into "S"."T" ("N1","N2") values ({CHINESE},NULL);', {}, {"N1": "阿狸(惊）（2161"},
    ),
    "13 DBZ-3367: in SET and WHERE": (
        "N1 N2", f'update "S"."T" set "N2" = {CHINESE} where "N1" = {CHINESE};',
        {"N1": "阿狸(惊）（2161"}, {"N1": "阿狸(惊）（2161", "N2": "阿狸(惊）（2161"},
    ),
    "14 DBZ-3367: in a DELETE": (
        "N1 N2", f'delete from "S"."T" where "N1" = {CHINESE};', {"N1": "阿狸(惊）（2161"}, {},
    ),
    "15 DBZ-3413: a doubled quote in VALUES": (
        "A B", """insert into "S"."T"("A","B") values ('Bob''s dog','0');""", {}, {"A": "Bob's dog", "B": "0"},
    ),
    "16 DBZ-3413: a doubled quote in WHERE": (
        "A B", """update "S"."T" set "B" = '1' where "A" = 'Bob''s dog' and "B" = '0';""",
        {"A": "Bob's dog", "B": "0"}, {"A": "Bob's dog", "B": "1"},
    ),
    "17 DBZ-3413: a doubled quote in a DELETE": (
        "A B", """delete from "S"."T" where "A" = 'Bob''s dog' and "B" = '1';""", {"A": "Bob's dog", "B": "1"}, {},
    ),
    "18 DBZ-3892: a chain of UNISTR in VALUES": (
        "A N", r"""insert into "S"."T"("A","N") values ('1',UNISTR('\0412') || UNISTR('\043F'));""",
        {}, {"A": "1", "N": "Вп"},
    ),
    "19 DBZ-3892: a chain in SET": (
        "A N", r"""update "S"."T" set "N" = UNISTR('\0412') || UNISTR('\043F') where "A" = '1' and "N" IS NULL;""",
        {"A": "1"}, {"A": "1", "N": "Вп"},
    ),
    "20 DBZ-3892: a chain in WHERE": (
        "A N", r"""update "S"."T" set "N" = NULL where "A" = '1' and "N" = UNISTR('\0412') || UNISTR('\043F');""",
        {"A": "1", "N": "Вп"}, {"A": "1"},
    ),
    "21 DBZ-3892: a chain in a DELETE": (
        "A N", r"""delete from "S"."T" where "A" = '1' and "N" = UNISTR('\0412') || UNISTR('\043F');""",
        {"A": "1", "N": "Вп"}, {},
    ),
    "22 large objects, whose values are read again": (
        "A C1 BL C2", """update "S"."T" set "A" = 'x', "C1" = 'X', "BL" = HEXTORAW('0E') where "A" = '1';""",
        {"A": "1"}, {"A": "x"},
    ),
    "23 large objects are in no WHERE": ("A C1", """delete from "S"."T" where "A" = '1';""", {"A": "1"}, {}),
    "24 DBZ-5521: || in text, and a blank before the columns": (
        "A B", """insert into "S"."T" ("A","B") values ('I||am','test||case');""", {}, {"A": "I||am", "B": "test||case"},
    ),
    "25 DBZ-5521: || in SET and WHERE": (
        "A B", """update "S"."T" set "A" = 'x||y' where "A" = 'I||am' and "B" = 'a||b';""",
        {"A": "I||am", "B": "a||b"}, {"A": "x||y", "B": "a||b"},
    ),
    "26 DBZ-5521: || in a DELETE": (
        "A B", """delete from "S"."T" where "A" = 'I||am' and "B" = 'a||b';""", {"A": "I||am", "B": "a||b"}, {},
    ),
    "33 DBZ-8200: quotes left single, one of them before a letter that was lost": (
        "A K", """update "S"."T" set "A" = '" j'ai gliss?e, l'?paule malgr? tout"' where "K" = '7';""",
        {"K": "7"}, {"A": "\" j'ai gliss?e, l'?paule malgr? tout\"", "K": "7"},
    ),
    "34 DBZ-8034: a quote left single within a word": (
        "A K", """update "S"."T" set "A" = '"il s'est tourné"' where "K" = '7';""",
        {"K": "7"}, {"A": "\"il s'est tourné\"", "K": "7"},
    ),
    "36 DBZ-9191: the same in VALUES": (
        "A B", """insert into "S"."T"("A","B") values ('1','la pompe d'aspiration, l’eau s'est');""",
        {}, {"A": "1", "B": "la pompe d'aspiration, l’eau s'est"},
    ),
    "41 dbz#1884: JSON without a value yet, which is read again": (
        "A J", """insert into "S"."T"("A","J") values ('1',/* JSON */ EMPTY_BLOB());""", {}, {"A": "1"},
    ),
    "42 dbz#1884: JSON in Oracle's binary form, which is read again": (
        "A J", """update "S"."T" set "J" = /* JSON */ HEXTORAW('ff4a5a01') where "A" = '1';""", {"A": "1"}, {"A": "1"},
    ),
}  # fmt: skip

NO_BYTES = "one hexadecimal digit is no byte, so that the test's text is none of LogMiner's"
AMBIGUOUS = "a text that ends where another begins has two readings, once quotes are left single: one of them would be guessed"
# The columns, the statement, the error, and why it is right.
REFUSED: dict[str, tuple[str, str, str, str]] = {
    "8 DBZ-3258: a number in a row of COL n": (
        "A", 'insert into "UNKNOWN"."OBJ# 74858"("COL 1") values (1)', "VARCHAR2(400) written as NUMBER",
        "a row without column names has internal bytes: 1 is none, and might be a value of any type",
    ),
    "10 DBZ-4891: a bracket within the last literal": (
        "A", """insert into "S"."T" ("A") values ('''D'' rulez')'""", "a literal has no end",
        "the statement is cut off within a value, or a quote is missing in one: which text it was is not known",
    ),
    "27 DBZ-3401: COL n": (
        "A B", """insert into "S"."T" ("COL 1","COL 2") values (HEXTORAW('a'),HEXTORAW('b'));""", "hexadecimal", NO_BYTES,
    ),
    "28 DBZ-3401: COL n in another order": (
        "A B", """insert into "S"."T" ("COL 2","COL 1") values (HEXTORAW('b'),HEXTORAW('a'));""", "hexadecimal", NO_BYTES,
    ),
    "29 DBZ-3401: COL n in SET and WHERE": (
        "A B", """update "S"."T" set "COL 1" = HEXTORAW('c') where "COL 1" = HEXTORAW('a') and "COL 2" = HEXTORAW('b');""",
        "hexadecimal", NO_BYTES,
    ),
    "30 DBZ-3401: the same in another order": (
        "A B", """update "S"."T" set "COL 2" = HEXTORAW('d') where "COL 2" = HEXTORAW('b') and "COL 1" = HEXTORAW('a');""",
        "hexadecimal", NO_BYTES,
    ),
    "31 DBZ-3401: COL n in a DELETE": (
        "A B", """delete from "S"."T" where "COL 1" = HEXTORAW('a') and "COL 2" = HEXTORAW('b');""", "hexadecimal", NO_BYTES,
    ),
    "32 DBZ-3401: the same in another order": (
        "A B", """delete from "S"."T" where "COL 2" = HEXTORAW('b') and "COL 1" = HEXTORAW('a');""", "hexadecimal", NO_BYTES,
    ),
    "35 DBZ-8869: quotes left single at the end of a word": (
        "A B K", """update "S"."T" set "B" = 'citta', due', "A" = 'altra', tre?' where "K" = '1' and "A" = 'x';""",
        "not understood after literal", AMBIGUOUS,
    ),
    "37 DBZ-9366: one quote doubled and another left single in VALUES": (
        "A B", """insert into "S"."T"("A","B") values ('x','séquelle d''une entorse, d'un kyste');""",
        "quotes stand side by side", "two quotes may be one that was doubled, or two that were left single",
    ),
    "38 DBZ-9366: the same in SET": (
        "A B", """update "S"."T" set "B" = 'd''une ou d'un kyste' where "A" = 'x' and "B" = 'd''une entorse';""",
        "quotes stand side by side", "two quotes may be one that was doubled, or two that were left single",
    ),
    "39 dbz#2070: quotes left single at both ends": (
        "A B C1", """insert into "S"."T"("A","B","C1") values ('x',''one'',''two'');""", "not understood after literal",
        AMBIGUOUS,
    ),
    "40 dbz#2070: the same in SET, and doubled in WHERE": (
        "A B", """update "S"."T" set "B" = ''one'' where "A" = 'x' and "B" = '''two''';""", "not understood after literal",
        AMBIGUOUS,
    ),
}  # fmt: skip
CODES = {"insert": 1, "delete": 2, "update": 3}


def decoded(columns: str, sql: str, decode: Any) -> tuple[str | None, dict[str, Any], dict[str, Any]]:
    """Return the error, and the values before and after that are not NULL."""
    names = columns.split()
    kinds = {name: TYPES.get(name.rstrip("12"), TEXT) for name in names}
    made = tuple(Column(11 + n, name, kinds[name], 1 + n) for n, name in enumerate(names))
    of = TableVersion(TableId("S", "T"), Scn(1), 1, 1, made, (11,), 99)
    (row,) = decode(redo_batch((CODES[sql[:6]], sql, 2 if '"COL ' in sql else 0)), of, {}).to_pylist()
    before, after = ({c.name: row[f"{x}{c.id}"] for c in made if row[f"{x}{c.id}"] is not None} for x in "on")
    return row["error"], before, after if sql[:6] != "delete" else {}


# Statements that other connectors have published.
OTHERS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "estuary: quotes and back quotes in a column's name": (
        "`Meta/'wtf'~ID` A", """insert into "S"."T"("`Meta/'wtf'~ID`","A") values ('1','it''s');""",
        {}, {"`Meta/'wtf'~ID`": "1", "A": "it's"},
    ),
    "singer-io: an UPDATE taken back, found by its ROWID": (
        "A", """update "S"."T" set "A" = 'ROLLEDBACK' where ROWID = 'AAAM2dAAAAAABTLAAA';""", {}, {"A": "ROLLEDBACK"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("decode", [decode_changes, decode_compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize(("columns", "sql", "before", "after"), [*READ.values(), *OTHERS.values()], ids=[*READ, *OTHERS])
def test_a_statement_with_one_meaning_is_read(
    columns: str, sql: str, before: dict[str, Any], after: dict[str, Any], decode: Any
) -> None:
    assert decoded(columns, sql, decode) == (None, before, after)


@pytest.mark.parametrize("decode", [decode_changes, decode_compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize(("columns", "sql", "error", "why"), REFUSED.values(), ids=REFUSED)
def test_a_statement_without_one_meaning_is_refused(columns: str, sql: str, error: str, why: str, decode: Any) -> None:
    found, _, _ = decoded(columns, sql, decode)

    assert found is not None, why
    assert error in found


def test_each_of_the_42_has_its_answer() -> None:
    assert sorted(int(name.split()[0]) for name in [*READ, *REFUSED]) == list(range(1, 43))
