"""Object types, collections, types of packages, JSON, BFILE and proxies, as the unmodified driver gets and binds them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import oracledb
import pyarrow as pa
import pytest

from standin.serve import StandIn, standin

TYPES = (
    "CREATE TYPE inner_part AS OBJECT (n NUMBER(6,2), t NVARCHAR2(20))",
    "CREATE TYPE inner_parts AS VARRAY(3) OF inner_part",
    "CREATE TYPE numbers AS TABLE OF NUMBER",
    """CREATE TYPE whole AS OBJECT (id INTEGER, at TIMESTAMP(6) WITH TIME ZONE, day DATE, bytes RAW(4), long_text CLOB,
        part inner_part, parts inner_parts, counted numbers)""",
    "CREATE TABLE wholes (id NUMBER PRIMARY KEY, v whole, n numbers) NESTED TABLE n STORE AS wholes_n",
    """CREATE PACKAGE lists AS TYPE named IS RECORD (n PLS_INTEGER, yes BOOLEAN, own inner_part);
        TYPE many IS TABLE OF named INDEX BY PLS_INTEGER; TYPE texts IS TABLE OF VARCHAR2(30); END;""",
)
WHOLE = """whole(7, TO_TIMESTAMP_TZ('2026-01-02 03:04:05.5 +02:00', 'YYYY-MM-DD HH24:MI:SS.FF TZH:TZM'), DATE '2026-01-02',
    HEXTORAW('00FF'), 'a longer text', inner_part(-1.5, 'ä'), inner_parts(inner_part(2, NULL), NULL), numbers())"""


@pytest.fixture(scope="module")
def oracle() -> Iterator[StandIn]:
    with standin() as oracle:
        yield oracle


@pytest.fixture(scope="module")
def shop(oracle: StandIn) -> Iterator[Any]:
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for text in TYPES:
            cursor.execute(text)
        yield connection


def plain(value: Any) -> Any:
    """Return an object as a dictionary of its attributes, a collection as a list, a large object as its text."""
    if isinstance(value, oracledb.LOB):
        return value.read()
    if not isinstance(value, oracledb.DbObject):
        return value
    if value.type.iscollection:
        return [plain(element) for element in value.aslist()]
    return {attribute.name: plain(getattr(value, attribute.name)) for attribute in value.type.attributes}


def fetched(connection: Any, sql: str, *binds: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, binds)
        return [tuple(map(plain, row)) for row in cursor]


def test_an_object_comes_with_all_of_its_parts_and_goes_back_as_it_came(shop: Any) -> None:
    whole = {
        "ID": 7,
        "AT": datetime(2026, 1, 2, 3, 4, 5, 500_000),
        "DAY": datetime(2026, 1, 2),
        "BYTES": b"\x00\xff",
        "LONG_TEXT": "a longer text",
        "PART": {"N": -1.5, "T": "ä"},
        "PARTS": [{"N": 2, "T": None}, None],
        "COUNTED": [],
    }
    with shop.cursor() as cursor:
        cursor.execute(f"INSERT INTO wholes VALUES (1, {WHOLE}, numbers(1, NULL, 2.5))")
        cursor.execute("SELECT v, n FROM wholes")
        value, numbers = cursor.fetchone()
        numbers.append(10**20)
        cursor.execute("INSERT INTO wholes VALUES (2, :1, :2)", [value, numbers])
    rows = fetched(shop, "SELECT id, v, n FROM wholes UNION ALL SELECT 3, NULL, NULL FROM dual ORDER BY 1")

    assert rows == [(1, whole, [1, None, 2.5]), (2, whole, [1, None, 2.5, 10**20]), (3, None, None)]
    assert fetched(shop, "SELECT JSON_OBJECT('v' VALUE n NULL ON NULL) FROM wholes WHERE id = 2")[0] == (
        '{"v":[1,null,2.5,100000000000000000000]}',
    )
    shop.rollback()


def test_a_long_collection_and_a_long_text_have_long_images(shop: Any) -> None:
    numbers = shop.gettype("NUMBERS").newobject(list(range(3000)))
    text = "ä" * 5000
    with shop.cursor() as cursor:
        cursor.execute("SELECT :1, whole(1, NULL, NULL, NULL, :2, NULL, NULL, NULL) FROM dual", [numbers, text])
        found, whole = cursor.fetchone()

        assert found.aslist() == list(range(3000))
        assert whole.LONG_TEXT.read() == text


def test_returning_brings_an_object(shop: Any) -> None:
    with shop.cursor() as cursor:
        made = cursor.var(shop.gettype("NUMBERS"))
        cursor.execute("INSERT INTO wholes (id, n) VALUES (9, numbers(4, 5)) RETURNING n INTO :1", [made])

        assert made.getvalue()[0].aslist() == [4, 5]
    shop.rollback()


def test_types_of_packages_and_of_rows_have_their_parts(shop: Any) -> None:
    named, many, row = (shop.gettype(name) for name in ("LISTS.NAMED", "SHOP.LISTS.MANY", "WHOLES%ROWTYPE"))

    assert [(a.name, a.type) for a in named.attributes[:2]] == [
        ("N", oracledb.DB_TYPE_BINARY_INTEGER),
        ("YES", oracledb.DB_TYPE_BOOLEAN),
    ]
    assert named.attributes[2].type.name == "INNER_PART"
    assert (many.element_type.name, many.package_name) == ("NAMED", "LISTS")
    assert shop.gettype("LISTS.TEXTS").element_type == oracledb.DB_TYPE_VARCHAR
    assert [a.name for a in row.attributes] == ["ID", "V", "N"]


@pytest.mark.parametrize("name", ["UNHEARD_OF", "LISTS.UNHEARD_OF", "SYSTEM.INNER_PART"])
def test_a_type_that_is_not_there_has_no_shape(shop: Any, name: str) -> None:
    with pytest.raises(oracledb.Error, match="DPY-2035"):
        shop.gettype(name)


def test_sql_takes_no_type_of_a_package(shop: Any) -> None:
    texts = shop.gettype("LISTS.MANY").newobject()
    with shop.cursor() as cursor, pytest.raises(oracledb.DatabaseError, match="ORA-00932"):
        cursor.execute("INSERT INTO wholes (id, n) VALUES (5, :1)", [texts])


def test_json_comes_as_objects_in_rows_and_as_texts_in_a_data_frame(shop: Any) -> None:
    with shop.cursor() as cursor:
        cursor.execute("CREATE TABLE docs (id NUMBER, v VARCHAR2(50) CHECK (v IS JSON), c CLOB CHECK (c IS JSON (STRICT)))")
        cursor.execute("""INSERT INTO docs VALUES (1, '[1, 2.50]', '{"a": "b"}')""")
        with pytest.raises(oracledb.DatabaseError, match="ORA-02290"):
            cursor.execute("INSERT INTO docs VALUES (2, '[1, 2', NULL)")
        cursor.execute("SELECT v, c FROM docs")
        rows = cursor.fetchall()
    # Of the statement whose rows were fetched the driver makes no frame with a CLOB (DPY-3030): it keeps the converters.
    frame = pa.table(shop.fetch_df_all("SELECT c, v FROM docs"))

    assert rows == [([1, 2.5], {"a": "b"})]
    assert frame.to_pylist() == [{"C": '{"a": "b"}', "V": "[1, 2.50]"}]


def test_a_file_outside_the_database_has_its_names(shop: Any) -> None:
    with shop.cursor() as cursor:
        cursor.execute("SELECT BFILENAME('DIRECTORY', 'file.txt') FROM dual")
        (found,) = cursor.fetchone()

        assert found.getfilename() == ("DIRECTORY", "file.txt")
        with pytest.raises(oracledb.DatabaseError, match="ORA-22285"):
            found.read()


@pytest.mark.parametrize(
    ("text", "is_warned"),
    [
        ("PROCEDURE shown AS BEGIN NULL END;", True),
        ("PROCEDURE shown AS BEGIN NULL; END;", False),
        ("FUNCTION counted RETURN NUMBER AS BEGIN RETURN CASE WHEN 1 = 1 THEN 2 END; END;", False),
        ("TYPE broken AS OBJECT (x unheard_of)", True),
    ],
)
def test_what_does_not_compile_is_stored_with_a_warning(shop: Any, text: str, is_warned: bool) -> None:
    kind, name = text.split()[:2]
    with shop.cursor() as cursor:
        cursor.execute(f"CREATE OR REPLACE {text}")
        assert (cursor.warning is not None) is is_warned
        cursor.execute("SELECT status FROM user_objects WHERE object_name = :1", [name.upper()])
        assert cursor.fetchone() == ("INVALID" if is_warned else "VALID",)
        cursor.execute(f"DROP {kind} {name}")


def test_a_user_connects_as_another_where_that_one_allows_it(oracle: StandIn) -> None:
    with oracle.connect("SYSTEM", dsn=oracle.pdb_dsn) as system, system.cursor() as cursor:
        for name in ("gate", "client", "other"):
            cursor.execute(f"CREATE USER {name} IDENTIFIED BY secret")
            cursor.execute(f"GRANT CREATE SESSION TO {name}")
        cursor.execute("ALTER USER client GRANT CONNECT THROUGH gate")
    with oracle.connect("GATE[CLIENT]", password="secret") as connection:
        sql = "SELECT SYS_CONTEXT('USERENV', 'SESSION_USER'), SYS_CONTEXT('USERENV', 'PROXY_USER') FROM dual"
        assert fetched(connection, sql) == [("CLIENT", "GATE")]
    with pytest.raises(oracledb.DatabaseError, match="ORA-28150"):
        oracle.connect("GATE[OTHER]", password="secret")
