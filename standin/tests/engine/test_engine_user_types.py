"""Types of users in the stand-in: created, used as columns, and shown by the dictionary."""

from __future__ import annotations

import pytest

from standin import views
from standin.tests.engine.engine_database import error_code, run

views.register()

TYPES = (
    "CREATE TYPE later OID '82A4AF6A4CD9656DE034080020E0EE3D'",
    "CREATE TYPE item AS OBJECT (name VARCHAR2(10), owner_ref REF later, MEMBER FUNCTION shown RETURN VARCHAR2) NOT FINAL",
    "CREATE OR REPLACE TYPE later AS OBJECT (id NUMBER(3))",
    "CREATE TYPE better_item UNDER item (price NUMBER(6,2))",
    "CREATE TYPE BODY item AS MEMBER FUNCTION shown RETURN VARCHAR2 IS BEGIN RETURN name; END; END;",
    "CREATE TYPE pair AS VARRAY(2) OF NUMBER",
    "CREATE TYPE bag AS TABLE OF item",
    """CREATE TABLE owned (id NUMBER PRIMARY KEY, two pair, l later, b bag)
    NESTED TABLE b STORE AS bags VARRAY two STORE AS LOB twos""",
)
REFUSED = {
    "more elements than the limit": ("INSERT INTO owned (id, two) VALUES (1, pair(1, 2, 3))", 22909),
    "another number of attributes": ("INSERT INTO owned (id, l) VALUES (1, later(1, 2))", 2315),
    "a value too large for its attribute": ("INSERT INTO owned (id, l) VALUES (1, later(1000))", 1438),
    "an instance of another type": ("INSERT INTO owned (id, l) VALUES (1, pair(1))", 932),
    "text for an instance": ("INSERT INTO owned (id, l) VALUES (1, '{}')", 932),
    "a type that is not there": ("CREATE TABLE other (v unheard_of)", 902),
    "a nested table without the name of its table": ("CREATE TABLE other (v bag)", 22913),
    "a name in use": ("CREATE TYPE pair AS VARRAY(3) OF NUMBER", 955),
}


@pytest.fixture
def types(shop):
    for sql in TYPES:
        run(shop, sql)


@pytest.mark.usefixtures("types")
def test_the_dictionary_shows_types_their_columns_and_what_stores_them(shop):
    kinds = run(shop, "SELECT type_name, typecode, attributes FROM user_types ORDER BY type_name")
    columns = run(
        shop, "SELECT column_name, data_type, data_type_owner, column_id FROM user_tab_cols WHERE table_name = 'OWNED'"
    )

    assert kinds == [
        ("BAG", "COLLECTION", 0),
        ("BETTER_ITEM", "OBJECT", 3),
        ("ITEM", "OBJECT", 2),
        ("LATER", "OBJECT", 1),
        ("PAIR", "COLLECTION", 0),
    ]
    assert columns[1:] == [
        ("TWO", "PAIR", "SHOP", 2),
        ("L", "LATER", "SHOP", 3),
        ("SYS_NC00004$", "NUMBER", None, 3),
        ("B", "BAG", "SHOP", 4),
    ]
    assert run(shop, "SELECT table_name FROM user_tables WHERE nested = 'YES'") == [("BAGS",)]


@pytest.mark.usefixtures("types")
@pytest.mark.parametrize(("sql", "code"), REFUSED.values(), ids=REFUSED)
def test_a_refused_statement_has_oracles_code(shop, sql, code):
    assert error_code(shop, sql) == code


@pytest.mark.usefixtures("types")
def test_an_object_column_is_dropped_with_the_columns_that_store_it(shop):
    run(shop, "ALTER TABLE owned DROP COLUMN l")
    run(shop, "INSERT INTO owned (id, two) VALUES (1, pair(1, .5))")

    assert run(shop, "SELECT column_name FROM user_tab_cols WHERE table_name = 'OWNED'") == [("ID",), ("TWO",), ("B",)]
    assert run(shop, "SELECT JSON_OBJECT('v' VALUE two NULL ON NULL) FROM owned") == [('{"v":[1,0.5]}',)]


@pytest.mark.usefixtures("types")
def test_an_added_attribute_is_null_in_the_rows_of_all_tables(shop):
    run(shop, "CREATE TABLE others (id NUMBER, v pair, l later)")
    run(shop, "INSERT INTO others VALUES (1, pair(1.50, 2), later(7))")
    columns = "SELECT column_name FROM user_tab_cols WHERE table_name = 'OTHERS' AND column_id = 3"
    before = run(shop, columns)

    run(shop, "ALTER TYPE later ADD ATTRIBUTE (name VARCHAR2(20), price NUMBER(6,2)) CASCADE")
    run(shop, "INSERT INTO others VALUES (2, NULL, later(8, 'b', .5))")

    shown = run(shop, "SELECT JSON_QUERY(JSON_OBJECT('v' VALUE l NULL ON NULL), '$.v' ERROR ON ERROR) FROM others ORDER BY id")
    assert shown == [('{"ID":7,"NAME":null,"PRICE":null}',), ('{"ID":8,"NAME":"b","PRICE":0.5}',)]
    assert len(run(shop, columns)) == len(before) + 2
    assert run(shop, "SELECT attr_name FROM user_type_attrs WHERE type_name = 'LATER' ORDER BY attr_no")[1:] == [
        ("NAME",),
        ("PRICE",),
    ]
