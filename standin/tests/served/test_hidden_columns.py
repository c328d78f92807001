"""Hidden, invisible, identity and virtual columns of the stand-in: in the dictionary, in queries and in redo."""

from __future__ import annotations

import pytest

from standin.serve import standin
from standin.tests.served.mining_client import add, archived, failure, query, run, start

COLUMNS = """SELECT column_name, column_id, segment_column_id, internal_column_id, hidden_column, virtual_column, user_generated
  FROM all_tab_cols WHERE owner = 'SHOP' AND table_name = :name ORDER BY internal_column_id"""
REDO = "SELECT operation, status, sql_redo FROM v$logmnr_contents WHERE table_name = :name AND operation <> 'DDL'"


@pytest.fixture
def oracle(request):
    with standin(**getattr(request, "param", {})) as running:
        yield running


@pytest.fixture
def shop(oracle):
    with oracle.connect("SHOP") as connection:
        yield connection


def mined(oracle, table: str) -> list[tuple[str, int, str]]:
    """Return the row changes of a table as they are mined now."""
    oracle.database.archive_current()
    with oracle.connect("SYS") as root:
        add(root, *archived(root))
        start(root)
        return query(root, REDO, name=table)


def columns(shop, name: str) -> dict[str, tuple]:
    return {row[0]: row[1:] for row in query(shop, COLUMNS, name=name)}


def test_a_nullable_add_with_a_default_puts_a_guard_column_before_it(shop):
    run(shop, "CREATE TABLE t (a NUMBER)", "ALTER TABLE t ADD b NUMBER DEFAULT 1", "ALTER TABLE t ADD c NUMBER DEFAULT 2")

    assert columns(shop, "T") == {
        "A": (1, 1, 1, "NO", "NO", "YES"),
        "SYS_NC00002$": (None, 2, 2, "YES", "NO", "NO"),
        "B": (2, 3, 3, "NO", "NO", "YES"),
        "C": (3, 4, 4, "NO", "NO", "YES"),
    }


@pytest.mark.parametrize(
    "added",
    ["b NUMBER", "b NUMBER DEFAULT NULL", "b NUMBER DEFAULT 1 NOT NULL"],
    ids=["no default", "default null", "mandatory"],
)
def test_other_additions_need_no_guard(shop, added):
    run(shop, "CREATE TABLE t (a NUMBER)", f"ALTER TABLE t ADD {added}")

    assert list(columns(shop, "T")) == ["A", "B"]


def test_a_table_with_a_large_object_gets_no_guard(shop):
    run(shop, "CREATE TABLE t (a NUMBER, big CLOB)", "ALTER TABLE t ADD b NUMBER DEFAULT 1")

    assert list(columns(shop, "T")) == ["A", "BIG", "B"]


@pytest.mark.parametrize("oracle", [{"guards_added_columns": False}], indirect=True)
def test_before_12c_there_is_no_guard(shop):
    run(shop, "CREATE TABLE t (a NUMBER)", "ALTER TABLE t ADD b NUMBER DEFAULT 1")

    assert list(columns(shop, "T")) == ["A", "B"]


@pytest.mark.parametrize(
    ("oracle", "left"),
    [({}, ["A", "SYS_NC00002$"]), ({"keeps_guards": False}, ["A"])],
    indirect=["oracle"],
    ids=["kept", "dropped"],
)
def test_the_guard_may_outlive_the_columns_that_it_guards(shop, left):
    run(shop, "CREATE TABLE t (a NUMBER)", "ALTER TABLE t ADD b NUMBER DEFAULT 1", "ALTER TABLE t DROP COLUMN b")

    assert list(columns(shop, "T")) == left


FORMS = {
    "name": ("(\"A\",\"SYS_NC00002$\",\"B\") values ('2',HEXTORAW('01'),'9')", '"SYS_NC00002$" = HEXTORAW(\'01\'), "B" = NULL'),
    "number": ("(\"A\",\"COL 2\",\"B\") values ('2',HEXTORAW('01'),'9')", '"COL 2" = HEXTORAW(\'01\'), "B" = NULL'),
    "none": ("(\"A\",\"B\") values ('2','9')", 'set "B" = NULL'),
}


@pytest.mark.parametrize(("oracle", "form"), [({"hidden_columns": form}, form) for form in FORMS], indirect=["oracle"])
def test_rows_store_a_bit_in_the_guard_once_they_store_the_column(oracle, shop, form):
    run(
        shop,
        "CREATE TABLE t (a NUMBER)",
        "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD b NUMBER DEFAULT 1",
        "INSERT INTO t VALUES (2, 9)",
        "UPDATE t SET b = NULL WHERE a = 1",
        "COMMIT",
    )

    inserted, updated = [text for _, status, text in mined(oracle, "T") if status == 0]
    assert FORMS[form][0] in inserted
    assert FORMS[form][1] in updated
    assert query(shop, "SELECT * FROM t ORDER BY a") == [(1, None), (2, 9)]


def test_rows_from_before_a_later_alter_show_the_guard_by_its_number(oracle, shop):
    run(
        shop,
        "CREATE TABLE t (a NUMBER)",
        "ALTER TABLE t ADD b NUMBER DEFAULT 1",
        "INSERT INTO t VALUES (2, 9)",
        "COMMIT",
        "ALTER TABLE t ADD c NUMBER",
    )

    ((operation, status, text),) = mined(oracle, "T")
    assert (operation, status) == ("INSERT", 2)
    assert text.endswith("(\"COL 1\",\"COL 2\",\"COL 3\") values (HEXTORAW('c103'),HEXTORAW('01'),HEXTORAW('c10a'))")


def test_the_guard_can_be_neither_written_nor_dropped(shop):
    run(shop, "CREATE TABLE t (a NUMBER)", "ALTER TABLE t ADD b NUMBER DEFAULT 1")

    for statement in ("INSERT INTO t (sys_nc00002$) VALUES (1)", "ALTER TABLE t DROP COLUMN sys_nc00002$"):
        assert failure(run, shop, statement).code == 14148


def test_unused_columns_keep_their_place_until_a_column_is_dropped(oracle, shop):
    run(
        shop,
        "CREATE TABLE t (a NUMBER, b VARCHAR2(5), c NUMBER, d NUMBER)",
        "INSERT INTO t VALUES (1, 'x', 2, 3)",
        "COMMIT",
        "ALTER TABLE t SET UNUSED (b) CASCADE CONSTRAINTS",
    )
    name, facts = list(columns(shop, "T").items())[1]
    run(shop, "DELETE FROM t", "COMMIT")
    deleted = mined(oracle, "T")[-1][2]
    run(shop, "ALTER TABLE t DROP COLUMN d")

    assert name.startswith("SYS_C00002_")
    assert facts == (None, 2, 2, "YES", "NO", "NO")
    assert f"\"{name}\" = 'x' and \"C\" = '2'" in deleted
    assert {n: f[1] for n, f in columns(shop, "T").items()} == {"A": 1, "C": 2}


def test_drop_unused_columns_renumbers_the_segment(shop):
    run(
        shop,
        "CREATE TABLE t (a NUMBER, b NUMBER, c NUMBER)",
        "ALTER TABLE t SET UNUSED COLUMN b",
        "ALTER TABLE t DROP UNUSED COLUMNS",
    )

    assert {n: f[1] for n, f in columns(shop, "T").items()} == {"A": 1, "C": 2}


def test_invisible_columns_are_stored_logged_and_left_out_of_the_star(oracle, shop):
    run(
        shop,
        "CREATE TABLE t (a NUMBER, hush NUMBER INVISIBLE, b NUMBER)",
        "INSERT INTO t VALUES (1, 2)",
        "INSERT INTO t (a, hush) VALUES (3, 4)",
        "COMMIT",
    )
    hidden = columns(shop, "T")["HUSH"]
    plain = query(shop, "SELECT * FROM t ORDER BY a")
    texts = [text for *_, text in mined(oracle, "T")]
    run(shop, "ALTER TABLE t MODIFY (hush VISIBLE)")

    assert hidden == (None, 2, 2, "YES", "NO", "YES")
    assert plain == [(1, 2), (3, None)]
    assert '("A","HUSH","B") values (\'3\',\'4\',NULL)' in texts[1]
    assert [f[:2] for f in columns(shop, "T").values()] == [(1, 1), (3, 2), (2, 3)]
    assert query(shop, "SELECT * FROM t WHERE a = 3") == [(3, None, 4)]
    run(shop, "ALTER TABLE t MODIFY a INVISIBLE")
    assert [f[0] for f in columns(shop, "T").values()] == [None, 2, 1]


def test_row_archival_hides_archived_rows_unless_the_session_asks_for_all(oracle, shop):
    run(
        shop,
        "CREATE TABLE t (a NUMBER)",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ROW ARCHIVAL",
        "INSERT INTO t VALUES (2)",
        "UPDATE t SET ora_archive_state = '1' WHERE a = 1",
        "COMMIT",
    )
    active = query(shop, "SELECT a FROM t")
    run(shop, "ALTER SESSION SET ROW ARCHIVAL VISIBILITY = ALL")

    assert columns(shop, "T") == {
        "A": (1, 1, 1, "NO", "NO", "YES"),
        "SYS_NC00002$": (None, 2, 2, "YES", "NO", "NO"),
        "ORA_ARCHIVE_STATE": (None, 3, 3, "YES", "NO", "NO"),
    }
    assert active == [(2,)]
    assert query(shop, "SELECT a, ora_archive_state FROM t ORDER BY a") == [(1, "1"), (2, "0")]
    assert mined(oracle, "T")[1][2].endswith("values ('2',HEXTORAW('01'),'0')")


def test_a_table_created_with_row_archival_has_the_state_as_its_first_column(shop):
    run(shop, "CREATE TABLE t (a NUMBER) ROW ARCHIVAL")

    assert {n: f[1] for n, f in columns(shop, "T").items()} == {"ORA_ARCHIVE_STATE": 1, "A": 2}


def test_identity_columns_take_the_values_of_a_sequence(oracle, shop):
    run(
        shop,
        "CREATE TABLE t (id NUMBER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a NUMBER)",
        "CREATE TABLE u (id NUMBER GENERATED BY DEFAULT ON NULL AS IDENTITY (START WITH 1), a NUMBER)",
        "INSERT INTO t (a) VALUES (7)",
        "INSERT INTO u VALUES (NULL, 8)",
        "INSERT INTO u VALUES (50, 9)",
        "COMMIT",
    )
    identity = query(
        shop, "SELECT table_name, identity_column, nullable FROM all_tab_cols WHERE column_name = 'ID' ORDER BY table_name"
    )

    assert failure(run, shop, "INSERT INTO t VALUES (1, 1)").code == 32795
    assert identity == [("T", "YES", "N"), ("U", "YES", "N")]
    assert mined(oracle, "T")[0][2].endswith("values ('1','7')")
    assert query(shop, "SELECT id, a FROM u ORDER BY a") == [(1, 8), (50, 9)]


def test_virtual_columns_are_computed_and_in_no_redo(oracle, shop):
    run(
        shop,
        "CREATE TABLE t (a NUMBER, twice NUMBER GENERATED ALWAYS AS (a * 2) VIRTUAL, b NUMBER)",
        "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO t (a, b) VALUES (1, 5)",
        "UPDATE t SET a = 4",
        "COMMIT",
        "ALTER TABLE t ADD thrice NUMBER AS (a * 3)",
    )

    assert query(shop, "SELECT * FROM t") == [(4, 8, 5, 12)]
    assert columns(shop, "T")["TWICE"] == (2, None, 2, "NO", "YES", "YES")
    assert columns(shop, "T")["B"] == (3, 2, 3, "NO", "NO", "YES")
    assert failure(run, shop, "UPDATE t SET twice = 1").code == 54017
    assert [text.count("COL") for *_, text in mined(oracle, "T")] == [2, 3]


@pytest.mark.parametrize("oracle", [{"extended_strings": True}], indirect=True)
@pytest.mark.parametrize(
    "table",
    ["wide (a NUMBER, b VARCHAR2(4001))", "wide (a NUMBER, b RAW(2001))", "wide (a NUMBER, " + "b" * 31 + " NUMBER)"],
    ids=["32K text", "32K raw", "long name"],
)
def test_rows_that_logminer_cannot_show_are_unsupported(oracle, shop, table):
    run(shop, f"CREATE TABLE {table}", "INSERT INTO wide (a) VALUES (1)", "COMMIT")

    assert mined(oracle, "WIDE") == [("UNSUPPORTED", 2, "Unsupported")]


def test_rows_with_a_valid_time_period_are_unsupported(oracle, shop):
    run(
        shop,
        "CREATE TABLE t (a NUMBER, since DATE, until DATE, PERIOD FOR valid (since, until))",
        "INSERT INTO t (a) VALUES (1)",
        "COMMIT",
    )

    assert columns(shop, "T")["VALID"] == (None, None, 4, "YES", "YES", "NO")
    assert mined(oracle, "T") == [("UNSUPPORTED", 2, "Unsupported")]


@pytest.mark.parametrize("oracle", [{"long_names": True}], indirect=True)
def test_releases_that_know_long_names_show_such_rows(oracle, shop):
    run(shop, f"CREATE TABLE t (a NUMBER, {'b' * 31} NUMBER)", "INSERT INTO t VALUES (1, 2)", "COMMIT")

    assert mined(oracle, "T")[0][0] == "INSERT"


def test_a_long_text_needs_extended_strings(shop):
    assert failure(run, shop, "CREATE TABLE t (a VARCHAR2(4001))").code == 910
