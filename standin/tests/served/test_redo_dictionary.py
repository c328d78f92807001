"""A dictionary in the stand-in's redo: DBMS_LOGMNR_D.BUILD, DICT_FROM_REDO_LOGS and DDL_DICT_TRACKING."""

from __future__ import annotations

import pytest

from standin.serve import standin
from standin.tests.served.mining_client import add, archived, failure, query, run

BUILD = "BEGIN DBMS_LOGMNR_D.BUILD(OPTIONS => DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;"
START = "BEGIN DBMS_LOGMNR.START_LOGMNR(STARTSCN => :first, OPTIONS => :options); END;"
REDO_LOGS, TRACKING = 32, 8
TEXTS = "SELECT sql_redo FROM v$logmnr_contents WHERE operation IN ('INSERT', 'UPDATE') AND seg_owner IN ('SHOP', 'UNKNOWN')"
MARKED = "SELECT sequence#, dictionary_begin, dictionary_end FROM v$archived_log ORDER BY sequence#"


@pytest.fixture
def oracle():
    with standin() as running:
        yield running


def start(connection, options, first=0):
    with connection.cursor() as cursor:
        cursor.execute(START, first=first, options=options)


def lived(oracle) -> None:
    """Build a dictionary, then change a table and its columns; each part is in a log of its own."""
    with oracle.connect("SHOP") as shop, oracle.connect("SYS") as root:
        run(shop, "CREATE TABLE t (a NUMBER, b VARCHAR2(9))")
        run(root, BUILD)
        oracle.database.archive_current()
        run(shop, "INSERT INTO t VALUES (1, 'one')", "COMMIT")
        oracle.database.archive_current()
        run(shop, "ALTER TABLE t RENAME COLUMN b TO c", "ALTER TABLE t ADD d NUMBER")
        run(
            shop,
            "INSERT INTO t VALUES (2, 'two', 2)",
            "COMMIT",
            "RENAME t TO u",
            "INSERT INTO u VALUES (3, 'three', 3)",
            "COMMIT",
        )
        oracle.database.archive_current()
        run(shop, "DROP TABLE u PURGE")
        oracle.database.archive_current()


def test_each_row_is_shown_under_the_names_of_its_time(oracle):
    lived(oracle)

    with oracle.connect("SYS") as root:
        add(root, *archived(root))
        start(root, REDO_LOGS + TRACKING)
        texts = [text for (text,) in query(root, TEXTS)]

    assert [text.partition(" values")[0] for text in texts] == [
        'insert into "SHOP"."T"("A","B")',
        'insert into "SHOP"."T"("A","C","D")',
        'insert into "SHOP"."U"("A","C","D")',
    ]


def test_without_tracking_a_later_version_is_generic(oracle):
    lived(oracle)

    with oracle.connect("SYS") as root:
        add(root, *archived(root))
        start(root, REDO_LOGS)
        texts = [text for (text,) in query(root, TEXTS)]

    assert [text.partition(" values")[0] for text in texts][:2] == [
        'insert into "SHOP"."T"("A","B")',
        'insert into "SHOP"."T"("COL 1","COL 2","COL 3")',
    ]


def test_the_views_mark_the_logs_of_the_dictionary(oracle):
    lived(oracle)

    with oracle.connect("SYS") as root:
        marked = query(root, MARKED)
        add(root, *archived(root))
        start(root, REDO_LOGS + TRACKING, query(root, "SELECT max(first_change#) FROM v$archived_log")[0][0])
        (found,) = query(root, "SELECT required_start_scn, start_scn FROM v$logmnr_parameters")

    assert [flags for _, *flags in marked].count(["YES", "YES"]) == 1
    assert found[0] < found[1]


@pytest.mark.parametrize(("left_out", "code"), [(0, 1371), (1, 1291)])
def test_the_dictionary_and_all_redo_after_it_are_needed(oracle, left_out, code):
    lived(oracle)

    with oracle.connect("SYS") as root:
        built = next(n for n, (_, begins, _) in enumerate(query(root, MARKED)) if begins == "YES")
        logs = archived(root)[built:]
        add(root, *(log for n, log in enumerate(logs) if n != left_out))
        assert failure(start, root, REDO_LOGS + TRACKING).code == code
