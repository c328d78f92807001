"""Statements with large objects, a savepoint that takes them back, and the rows that LogMiner showed of them on 26ai.

Source: Debezium's tests of dbz#1960 (AbstractFindRolledBackRangeTest, September 2026), 26ai Free 23.26.2, cases 1 to 27, whose
lists leave out LOB_TRIM and 32K_END. Letters are operations, in capitals with a ROWID: insert, update, delete; locator, write;
document begin, piece, end; long string x begin, y write; - INTERNAL, = INTERNAL with a ROWID; ! undo rows. A blank stands
between statements.
"""

from __future__ import annotations

STRING, CLOB, XML, LONG = "str0 VARCHAR2(50)", "lob0 CLOB", "xml0 XMLTYPE", "ext0 VARCHAR2(8000)"


def document(n: int) -> str:
    return f"XMLTYPE('<XML0><ID>1</ID><V>{n}</V></XML0>')"


def outside(n: int) -> str:
    return f"RPAD('LOB0-1-', 1985, '{n}')"


def long(n: int) -> str:
    return f"RPAD('EXT0-1-', 4000, '{n}')"


def insert(**values: str) -> str:
    return f"INSERT INTO t (id, {', '.join(values)}) VALUES (1, {', '.join(values.values())})"


def update(**values: str) -> str:
    return f"UPDATE t SET {', '.join(f'{name} = {value}' for name, value in values.items())} WHERE id = 1"


def call(text: str) -> str:
    return f"DECLARE loc CLOB; BEGIN SELECT lob0 INTO loc FROM t WHERE id = 1 FOR UPDATE; DBMS_LOB.{text}; END;"


WRITE = call(f"WRITE(loc, 1985, 1, {outside(1)})")
# Columns beside ID, statements before the savepoint, those after it, and the rows of both and of the undo.
CASES: dict[str, tuple[list[str], list[str], list[str], str]] = {
    "1 insert": ([STRING], [], [insert(str0="'a'")], "I D!"),
    "2 insert, empty": ([CLOB], [], [insert(lob0="EMPTY_CLOB()")], "i= D!"),
    "3 insert, inside the row": ([CLOB], [], [insert(lob0="'a'")], "iU D!"),
    "4 insert, outside": ([XML, CLOB, LONG], [], [insert(xml0=document(0), lob0=outside(0), ext0=long(0))], "ilwxybpe= D!"),
    "5 insert, inside and outside": (
        [LONG, XML, CLOB, "lob1 CLOB"], [], [insert(ext0=long(0), xml0=document(0), lob0=outside(0), lob1="'a'")],
        "ixylwbpeU D!",
    ),
    "6 update": ([STRING], [insert(str0="'a'")], [update(str0="'b'")], "I U U!"),
    "7 update, empty": ([CLOB], [insert(lob0="NULL")], [update(lob0="EMPTY_CLOB()")], "iU u= U!"),
    "8 update, inside": ([CLOB], [insert(lob0="'a'")], [update(lob0="'b'")], "iU uU U!"),
    "9 update, outside": (
        [XML, CLOB, LONG], [insert(xml0=document(0), lob0="'a'", ext0="'a'")],
        [update(xml0=document(1), lob0=outside(1), ext0=long(1))], "ibpeU lwxybpe= U!",
    ),
    "10 update of a document": ([XML], [insert(xml0=document(0))], [update(xml0=document(1))], "ibpe= bpe= U!"),
    "11 update, outside and another column": (
        [STRING, XML, CLOB, LONG], [insert(str0="'a'", ext0="'a'", lob0="'a'")],
        [update(str0="'b'", xml0=document(1), ext0=long(1), lob0=outside(1))], "iU uxylwbpe= U!",
    ),
    "12 update of a document and another column": (
        [STRING, XML], [insert(str0="'a'", xml0=document(0))], [update(str0="'b'", xml0=document(1))], "ibpe= ubpe= U!",
    ),
    "13 update, inside and outside": (
        [CLOB, XML, "lob1 CLOB", LONG], [insert(lob0="'a'", xml0=document(0), ext0="'a'", lob1="'a'")],
        [update(lob0=outside(1), xml0=document(1), ext0=long(1), lob1="'b'")], "ibpeU lwxybpeU U!",
    ),
    "14 update of all": (
        [STRING, CLOB, XML, "lob1 CLOB", LONG], [insert(str0="'a'", lob0="'a'", ext0="'a'", lob1="'a'")],
        [update(str0="'b'", ext0=long(1), xml0=document(1), lob0=outside(1), lob1="'b'")], "iU uxylwbpeU U!",
    ),
    "15 and 26 write": ([CLOB], [insert(lob0="'a'")], [WRITE], "iU LW= U!"),
    "16 and 27 trim": ([CLOB], [insert(lob0="'LOB0-1-00'")], [call("TRIM(loc, 8)")], "iU L= U!"),
    "17 delete": (
        [STRING, CLOB, XML, "lob1 CLOB", LONG],
        [insert(str0="'a'", lob0=outside(0), xml0=document(0), ext0=long(0), lob1="'a'")], ["DELETE FROM t WHERE id = 1"],
        "ilwxybpeU D I!",
    ),
    "18 three changes": (
        [STRING], [insert(str0="'a'"), "INSERT INTO t VALUES (2, 'a')"],
        ["INSERT INTO t VALUES (3, 'a')", "UPDATE t SET str0 = 'b' WHERE id = 2", "DELETE FROM t WHERE id = 1"],
        "I I I U D I!U!D!",
    ),
    "19 update, outside alone": ([CLOB], [insert(lob0="'a'")], [update(lob0=outside(0))], "iU lw= U!"),
    "20 update after an empty object": (
        [STRING, CLOB], [insert(str0="'a'", lob0="EMPTY_CLOB()")], [update(str0="'b'")], "i= U U!",
    ),
    "21 update of empty objects": (
        [CLOB, "lob1 CLOB"], [insert(lob0="NULL", lob1="NULL"), update(lob0="EMPTY_CLOB()", lob1="EMPTY_CLOB()")],
        [update(lob0=outside(2), lob1="'b'")], "iU u= lwU U!",
    ),
    "22 update of an object outside": (
        [CLOB, LONG], [insert(lob0="'a'", ext0="'a'"), update(lob0=outside(1))], [update(lob0="'b'", ext0=long(2))],
        "iU lw= xyU U!",
    ),
    "23 update after an insert outside": (
        [STRING, CLOB], [insert(str0="'a'", lob0=outside(0))], [update(str0="'b'")], "ilw= U U!",
    ),
    "24 update after one of a document": (
        [XML, LONG, CLOB], [insert(xml0=document(0), ext0="'a'", lob0="'a'"), update(xml0=document(1))],
        [update(ext0="'b'", lob0=outside(2))], "ibpeU bpe= lwU U!",
    ),
    "25 update of documents": (
        [LONG, XML], [insert(ext0="'a'", xml0=document(0)), update(ext0=long(1), xml0=document(1))],
        [update(ext0="'b'", xml0=document(2))], "ibpeU xybpe= bpeU U!",
    ),
}  # fmt: skip
