"""DBA_EXTENTS, and reads of the ranges of ROWIDs between its extents."""

from __future__ import annotations

from standin import views
from standin.tests.engine.engine_database import logon, open_database, run

views.register()


def test_ranges_of_rowids_between_extents_have_each_row_once():
    database = open_database()
    shop, sys = logon(database), logon(database, "SYS")
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY)")
    for n in range(2500):
        run(shop, "INSERT INTO t VALUES (:1)", n)
    shop.commit()
    extents = run(sys, "SELECT relative_fno, block_id FROM dba_extents WHERE segment_name = 'T' ORDER BY block_id")
    ((segment,),) = run(sys, "SELECT data_object_id FROM dba_objects WHERE object_name = 'T' AND object_type = 'TABLE'")
    create = "SELECT DBMS_ROWID.ROWID_CREATE(1, :1, :2, :3, 0) FROM dual"
    ((cut,),) = run(shop, create, segment, *extents[1])
    low = run(shop, "SELECT id FROM t WHERE ROWID < CHARTOROWID(:1)", cut)
    high = run(shop, "SELECT id FROM t WHERE ROWID >= CHARTOROWID(:1) AND ROWID < CHARTOROWID(:2)", cut, cut)
    rest = run(shop, "SELECT id FROM t WHERE ROWID >= CHARTOROWID(:1)", cut)

    assert len(extents) == 2
    assert (len(low), high, len(rest)) == (1600, [], 900)
    assert sorted(low + rest) == [(n,) for n in range(2500)]
    assert 0 < len(run(shop, "SELECT id FROM t SAMPLE (10) ORDER BY id")) < 500
    database.close()
