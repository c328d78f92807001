"""What LogMiner shows of large objects and documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.questions.asking import LOGGED, mines

mines(
    "Which rows of a statement that writes CLOBs or BLOBs have a ROW_ID",
    "CREATE TABLE q_clob (id NUMBER(9) PRIMARY KEY, a CLOB)",
    LOGGED.format("q_clob"),
    "INSERT INTO q_clob VALUES (1, RPAD('x', 3000, 'x'))",
    "UPDATE q_clob SET a = RPAD('y', 3500, 'y')",
    "INSERT INTO q_clob VALUES (2, NULL)",
)
mines(
    "Is there one undo row for such a statement?",
    "CREATE TABLE q_clob (id NUMBER(9) PRIMARY KEY, a CLOB, b NUMBER(9))",
    LOGGED.format("q_clob"),
    "INSERT INTO q_clob VALUES (1, 'x', 1)",
    "UPDATE q_clob SET b = 2",
    "SAVEPOINT s1",
    "UPDATE q_clob SET a = RPAD('y', 3500, 'y')",
    "ROLLBACK TO SAVEPOINT s1",
)
mines(
    "Does LogMiner show XMLTYPE documents without COMMITTED_DATA_ONLY",
    "CREATE TABLE q_xml (id NUMBER(9) PRIMARY KEY, a XMLTYPE)",
    LOGGED.format("q_xml"),
    "INSERT INTO q_xml VALUES (1, XMLTYPE('<a>x</a>'))",
    "UPDATE q_xml SET a = XMLTYPE('<a>yy</a>')",
)
mines(
    "What does the INSERT of a NULL document look like",
    "CREATE TABLE q_xml (id NUMBER(9) PRIMARY KEY, a XMLTYPE)",
    LOGGED.format("q_xml"),
    "INSERT INTO q_xml VALUES (1, NULL)",
)
mines(
    "Which length does XML DOC WRITE declare",
    "CREATE TABLE q_xml (id NUMBER(9) PRIMARY KEY, a XMLTYPE)",
    LOGGED.format("q_xml"),
    "INSERT INTO q_xml VALUES (1, XMLTYPE('<a>' || UNISTR('\\00FC\\D83D\\DE00') || '</a>'))",
)


def write_object(text: str, offset: int = 1) -> Callable[[Any], None]:
    """Return a step that writes into the one CLOB of q_object, as DBMS_LOB.WRITE does."""

    def write(connection: Any) -> None:
        cursor = connection.cursor()
        ((found,),) = cursor.execute("SELECT a FROM q_object FOR UPDATE", fetch_lobs=True).fetchall()
        found.write(text, offset)

    return write


OBJECT = (
    "CREATE TABLE q_object (id NUMBER(9) PRIMARY KEY, a CLOB)",
    LOGGED.format("q_object"),
    "INSERT INTO q_object VALUES (1, RPAD('x', 3000, 'x'))",
)
mines("Is a LOB_WRITE shown as undone", *OBJECT, "SAVEPOINT s1", write_object("abc"), "ROLLBACK TO SAVEPOINT s1")
mines(
    "Do offsets and lengths of a CLOB count characters beyond the BMP once or twice",
    *OBJECT,
    write_object("\N{MUSICAL SYMBOL G CLEF}b"),
    write_object("c", 3),
)
mines("Is the amount in `dbms_lob.write` always the length of its value", *OBJECT, write_object("y"), write_object("z" * 5000))
mines(
    "Does LogMiner show the object of a row that SHRINK SPACE or a partition key moves",
    *OBJECT,
    "ALTER TABLE q_object ENABLE ROW MOVEMENT",
    "DELETE FROM q_object",
    "INSERT INTO q_object VALUES (2, RPAD('y', 3000, 'y'))",
    "ALTER TABLE q_object SHRINK SPACE",
)
