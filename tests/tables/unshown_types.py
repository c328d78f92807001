"""Tables with one column each of a type that LogMiner does not show, (id, name, v), and changes of all their rows."""

from __future__ import annotations

from tests.fixtures.shop import Shop
from tests.tables.papers import Statements, change

BIG_JSON = f'{{"a":"{"tä" * 9_000}"}}'
TABLES = {
    "SWITCHES": ("BOOLEAN", "TRUE", "FALSE"),
    "DOCUMENTS": ("JSON", """'{"a": 1}'""", """'[1, "ä"]'"""),
    "POINTS": ("VECTOR(2, FLOAT32)", "'[1, 2.5]'", "'[-0.1, 1e10]'"),
    "LETTERS": ("XMLTYPE", "XMLTYPE('<a>ä</a>')", "XMLTYPE('<b/>')"),
    "NOTES": ("LONG", "'a long text'", "'another'"),
    "IMAGES": ("LONG RAW", "HEXTORAW('00ff')", "HEXTORAW('aa')"),
    "POINTERS": ("UROWID", "'AAAR3sAAEAAAACXAAA'", "'AAAR3sAAEAAAACXAAB'"),
    "HOMES": ("home", "home('O''Neil \"Street\"', .5, DATE '2026-02-03', dialled('+1', NULL))", "home(NULL, -7, NULL, NULL)"),
    "DIALS": ("dialled", "dialled('+49 89', NULL, 'ä')", "dialled()"),
    "PLACES": (
        "MDSYS.SDO_GEOMETRY",
        "MDSYS.SDO_GEOMETRY(2001, 8307, MDSYS.SDO_POINT_TYPE(-86.13631, 40.485424, NULL), NULL, NULL)",
        "SDO_GEOMETRY(2003, NULL, NULL, SDO_ELEM_INFO_ARRAY(1, 1003, 3), SDO_ORDINATE_ARRAY(1, 1, 5, 7.5))",
    ),
}
# The text of the two values in the lake, of types of users.
SHOWN = {
    "HOMES": (
        '{"STREET":"O\'Neil \\"Street\\"","SHARE_OF":0.5,"SINCE":"2026-02-03T00:00:00","PHONES":["+1",null]}',
        '{"STREET":null,"SHARE_OF":-7,"SINCE":null,"PHONES":null}',
    ),
    "DIALS": ('["+49 89",null,"ä"]', "[]"),
    "PLACES": (
        '{"SDO_GTYPE":2001,"SDO_SRID":8307,"SDO_POINT":{"X":-86.13631,"Y":40.485424,"Z":null},"SDO_ELEM_INFO":null,'
        '"SDO_ORDINATES":null}',
        '{"SDO_GTYPE":2003,"SDO_SRID":null,"SDO_POINT":null,"SDO_ELEM_INFO":[1,1003,3],"SDO_ORDINATES":[1,1,5,7.5]}',
    ),
}
USER_TYPES = (
    "CREATE TYPE dialled AS VARRAY(3) OF VARCHAR2(20)",
    "CREATE TYPE home AS OBJECT (street VARCHAR2(40), share_of NUMBER(6,2), since DATE, phones dialled)",
    "GRANT EXECUTE ON dialled TO c##redolake",
    "GRANT EXECUTE ON home TO c##redolake",
)


def of_each(*statements: str) -> Statements:
    return [(text.format(table=table, one=one, two=two), ()) for table, (_, one, two) in TABLES.items() for text in statements]


# In several windows: each is read again by itself.
CHANGES: tuple[Statements, ...] = (
    of_each(
        "UPDATE {table} SET v = {two} WHERE id = 1",
        "UPDATE {table} SET name = 'b' WHERE id = 2",
        "UPDATE {table} SET v = NULL WHERE id = 3",
        "DELETE FROM {table} WHERE id = 4",
        "INSERT INTO {table} VALUES (10, 'new', {one})",
        "INSERT INTO {table} VALUES (11, 'gone again', {one})",
        "DELETE FROM {table} WHERE id = 11",
        "UPDATE {table} SET id = 50 WHERE id = 5",
        "SAVEPOINT one",
        "INSERT INTO {table} VALUES (12, 'undone', {one})",
        "DELETE FROM {table} WHERE id = 1",
        "ROLLBACK TO SAVEPOINT one",
    ),
    of_each(
        "UPDATE {table} SET id = 99 WHERE id = 1",  # two rows swap their keys
        "UPDATE {table} SET id = 1 WHERE id = 2",
        "UPDATE {table} SET id = 2 WHERE id = 99",
        "DELETE FROM {table} WHERE id = 50",
        "INSERT INTO {table} VALUES (50, 'again', {two})",
        "UPDATE {table} SET id = 60, v = {two} WHERE id = 10",
        "INSERT INTO {table} VALUES (10, 'another', NULL)",
    ),
)


def fill(shop: Shop) -> None:
    shop.run_sql(*USER_TYPES)
    for table, (type_, one, _) in TABLES.items():
        shop.run_sql(
            f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), v {type_})",
            f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
        )
        change(shop, [(f"INSERT INTO {table} VALUES ({n}, 'a', {one})", ()) for n in range(1, 8)])
