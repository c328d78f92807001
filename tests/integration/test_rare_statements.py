"""Statements whose redo is more than it seems: FLASHBACK TABLE, errors that are logged or passed over, temporary, immutable and
blockchain tables, indexes that a MOVE leaves UNUSABLE, and DDL that fails. Without Spark and Delta."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracledb
import pytest

from redolake import steps
from redolake.config import Pipeline
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.references.plain_ddl import Contradiction
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor

NO_SPARK = "no Spark"
OF_T = "SHOP.*T"  # T itself, and what Oracle makes beside it: SYS_TEMP_FBT, ERR$_T
BY_N = "PARTITION BY RANGE (n) (PARTITION low VALUES LESS THAN (100), PARTITION high VALUES LESS THAN (MAXVALUE))"


@pytest.fixture
def shop(tmp_path: Path, request: Any) -> Iterator[Shop]:
    with open_shop(tmp_path, **getattr(request, "param", {})) as opened:
        yield opened


def create(shop: Shop, name: str, more: str = "ENABLE ROW MOVEMENT") -> None:
    shop.run_sql(
        f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, n NUMBER(9) CHECK (n < 1000), a VARCHAR2(5)) {more}",
        f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        *(f"INSERT INTO {name} VALUES ({n}, {n}, 'old')" for n in (1, 2, 3)),
    )


def loaded(shop: Shop, tables: tuple[Any, ...] = ("SHOP.T",), **settings: Any) -> Pipeline:
    pipeline = shop.pipeline(tables=list(tables), **settings)
    steps.take_snapshot(pipeline, source=shop.params, spark=NO_SPARK)
    caught_up(shop, pipeline, NO_SPARK)
    return pipeline


def held(pipeline: Pipeline) -> dict[str, str]:
    return {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.error}


def fetched(shop: Shop, query: str) -> list[tuple[Any, ...]]:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        return list(cursor.execute(query).fetchall())


def is_equal(shop: Shop, lake: PlainLake, pipeline: Pipeline, *names: str) -> bool:
    """Return whether the tables, whose columns are ID, N and A, have the source's rows and are not held."""
    assert held(pipeline) == {}
    assert {t.state for t in steps.read_status(pipeline).tables} == {"live"}

    def ours(name: str) -> list[tuple[Any, ...]]:
        rows = lake.tables[f"{pipeline.lake}/shop/{name}"].rows.values()
        return sorted((int(key), None if n is None else int(n), a) for key, n, a, *_ in rows)

    return all(ours(name) == fetched(shop, f"SELECT id, n, a FROM {name} ORDER BY id") for name in names)


# --- FLASHBACK TABLE

FLASHBACKS = {
    "DDL after the rows": ({}, ""),
    "DDL before the rows": ({"flashback_redo": "before"}, ""),
    "without a DDL row": ({"flashback_redo": "none"}, ""),
    "a partitioned table": ({}, BY_N),
}


@pytest.mark.parametrize(("shop", "more"), FLASHBACKS.values(), ids=FLASHBACKS, indirect=["shop"])
def test_flashback_of_tables_to_an_scn_arrives_as_their_rows(shop: Shop, lake: PlainLake, more: str) -> None:
    for name in ("t", "u"):
        create(shop, name, f"{more} ENABLE ROW MOVEMENT")
    pipeline = loaded(shop, (OF_T, "SHOP.U"), new_tables="capture")
    scn = fetched(shop, "SELECT current_scn FROM v$database")[0][0]
    shop.run_sql(
        "UPDATE t SET a = 'new' WHERE id = 1", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (4, 4, 'new')",
        "UPDATE u SET id = 9, n = 500 WHERE id = 3",
    )  # fmt: skip
    caught_up(shop, pipeline, NO_SPARK)
    before = fetched(shop, "SELECT rowid FROM t WHERE id = 3")
    shop.run_sql(f"FLASHBACK TABLE t, shop.u TO SCN {scn}")

    assert fetched(shop, "SELECT id, n, a FROM t ORDER BY id") == [(n, n, "old") for n in (1, 2, 3)]
    assert fetched(shop, "SELECT rowid FROM t WHERE id = 3") == before  # a row that has not changed since stays
    caught_up(shop, pipeline, NO_SPARK)
    assert is_equal(shop, lake, pipeline, "t", "u")
    notes = {f.subject: f.what for f in run_doctor(pipeline, shop.params)}
    assert "temporary table" in notes["SHOP.SYS_TEMP_FBT"]


def test_flashback_to_a_time_is_one_to_the_scn_of_that_time(shop: Shop, lake: PlainLake) -> None:
    create(shop, "t")
    pipeline = loaded(shop)
    clock = shop.oracle.database.clock
    clock.skip(10)  # an SCN is remembered every three seconds
    then = fetched(shop, "SELECT TO_CHAR(SYSTIMESTAMP, 'YYYY-MM-DD HH24:MI:SS') FROM dual")[0][0]
    clock.skip(10)
    shop.run_sql("UPDATE t SET a = 'new' WHERE id = 1", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (4, 4, 'new')")
    for statement, code in (
        ("TO TIMESTAMP TO_TIMESTAMP('1999-01-01', 'YYYY-MM-DD')", 8180),
        ("TO RESTORE POINT before_it", 3001),
    ):
        with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code:05d}"):
            shop.run_sql(f"FLASHBACK TABLE t {statement}")
    shop.run_sql(f"FLASHBACK TABLE t TO TIMESTAMP TO_TIMESTAMP('{then}', 'YYYY-MM-DD HH24:MI:SS') DISABLE TRIGGERS")
    assert fetched(shop, "SELECT id, n, a FROM t ORDER BY id") == [(n, n, "old") for n in (1, 2, 3)]
    caught_up(shop, pipeline, NO_SPARK)
    assert is_equal(shop, lake, pipeline, "t")


def test_flashback_to_an_scn_is_followed_where_rowid_is_the_key(shop: Shop) -> None:
    lake = PlainLake()  # which knows ROWIDs
    with lake.in_place_of_spark():
        create(shop, "t")
        pipeline = loaded(shop, ({"table": "SHOP.T", "key": "rowid"},))
        scn = fetched(shop, "SELECT current_scn FROM v$database")[0][0]
        shop.run_sql("UPDATE t SET a = 'new' WHERE id = 1", "DELETE FROM t WHERE id = 2", f"FLASHBACK TABLE t TO SCN {scn}")
        shop.run_sql("UPDATE t SET a = 'later' WHERE id <> 3")
        caught_up(shop, pipeline, NO_SPARK)
    rows = lake.tables[f"{pipeline.lake}/shop/t"].rows
    assert {key[0] for key in rows} == {row[0] for row in fetched(shop, "SELECT rowid FROM t")}
    assert is_equal(shop, lake, pipeline, "t")


def test_flashback_to_an_scn_is_refused_as_oracle_does(shop: Shop) -> None:
    create(shop, "t", "")
    create(shop, "u")
    shop.run_sql("CREATE TABLE child (id NUMBER(9) REFERENCES u) ENABLE ROW MOVEMENT")
    shop.run_sql("CREATE GLOBAL TEMPORARY TABLE g (id NUMBER(9))")
    scn = fetched(shop, "SELECT current_scn FROM v$database")[0][0]
    shop.run_sql("INSERT INTO u VALUES (5, 5, 'new')", "INSERT INTO child VALUES (5)")
    for code, statement in {
        8189: f"FLASHBACK TABLE t TO SCN {scn}",
        8181: "FLASHBACK TABLE u TO SCN 99999999",
        2091: f"FLASHBACK TABLE u TO SCN {scn}",
        1466: "FLASHBACK TABLE u TO SCN 2000001",
        38305: "FLASHBACK TABLE nothing TO BEFORE DROP",
        942: f"FLASHBACK TABLE nothing TO SCN {scn}",
        8193: f"FLASHBACK TABLE g TO SCN {scn}",
    }.items():
        with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code:05d}"):
            shop.run_sql(statement)
    assert fetched(shop, "SELECT MAX(id) FROM u") == [(5,)]


# --- Rows that a statement passes over

PASSED_OVER = {
    "at": "INSERT INTO {t} SELECT id + 1, n, 'more' FROM {t}",  # a duplicate key
    "bt": "INSERT INTO {t} VALUES (3, 3, 'x')",  # a key in use
    "ct": "INSERT INTO {t} SELECT id + 10, n, a || n || 'long' || id FROM {t}",  # a value that is too long
    "dt": "UPDATE {t} SET n = n * 400, a = 'upd'",  # a check
    "et": "DELETE FROM {t}",  # a child row
    "ft": (
        "MERGE INTO {t} t USING (SELECT id + 2 AS id, id * 900 AS n FROM {t}) s ON (t.id = s.id) "
        "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, 'made')"
    ),
}


def test_rows_whose_errors_are_logged_are_undone_in_the_redo(shop: Shop, lake: PlainLake) -> None:
    for name in PASSED_OVER:
        create(shop, name)
        shop.run_sql(f"CREATE TABLE child_of_{name[0]} (id NUMBER(9) REFERENCES {name})")
        shop.run_sql(f"INSERT INTO child_of_{name[0]} VALUES (2)", f"BEGIN DBMS_ERRLOG.CREATE_ERROR_LOG('{name}'); END;")
    pipeline = loaded(shop, (OF_T,), new_tables="capture")
    for name, statement in PASSED_OVER.items():
        shop.run_sql(f"{statement.format(t=name)} LOG ERRORS INTO err$_{name} ('night ' || 7) REJECT LIMIT UNLIMITED")
    caught_up(shop, pipeline, NO_SPARK)

    for name, statement in PASSED_OVER.items():
        logged = fetched(shop, f"SELECT ora_err_tag$, ora_err_optyp$, id FROM err$_{name}")
        assert logged, name
        assert {(tag, kind) for tag, kind, _ in logged} == {("night 7", statement[0])} or statement.startswith("MERGE")
    assert is_equal(shop, lake, pipeline, *PASSED_OVER)


def test_errors_beyond_the_limit_take_the_statement_back_and_stay_logged(shop: Shop, lake: PlainLake) -> None:
    create(shop, "t")
    shop.run_sql("BEGIN DBMS_ERRLOG.CREATE_ERROR_LOG('T', 'FAULTS'); END;")
    pipeline = loaded(shop)
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (7, 7, 'kept')")
        for limit in ("", "REJECT LIMIT 1"):
            with pytest.raises(oracledb.IntegrityError, match="ORA-00001"):
                cursor.execute(f"INSERT INTO t SELECT id + 1, n, 'more' FROM t LOG ERRORS INTO faults {limit}")
        with pytest.raises(oracledb.IntegrityError, match="ORA-00001"):  # an UPDATE of keys is not logged
            cursor.execute("UPDATE t SET id = 2 WHERE id = 1 LOG ERRORS INTO faults REJECT LIMIT UNLIMITED")
        connection.commit()
    caught_up(shop, pipeline, NO_SPARK)
    assert len(fetched(shop, "SELECT * FROM faults")) == 3
    assert is_equal(shop, lake, pipeline, "t")
    for code, statement in {
        942: "DELETE FROM t LOG ERRORS INTO nowhere",
        38900: "DELETE FROM t LOG ERRORS INTO t",
        955: "BEGIN DBMS_ERRLOG.CREATE_ERROR_LOG('T', 'FAULTS'); END;",
    }.items():
        with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code:05d}"):
            shop.run_sql(statement)


@pytest.mark.parametrize("hint", ["IGNORE_ROW_ON_DUPKEY_INDEX(t (id))", "IGNORE_ROW_ON_DUPKEY_INDEX(t, t_key)"])
def test_a_row_with_a_key_in_use_that_a_hint_ignores_is_undone_in_the_redo(shop: Shop, lake: PlainLake, hint: str) -> None:
    shop.run_sql("CREATE TABLE t (id NUMBER(9) CONSTRAINT t_key PRIMARY KEY, n NUMBER(9) UNIQUE, a VARCHAR2(5))")
    shop.run_sql("ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS", "INSERT INTO t VALUES (2, 2, 'old')")
    pipeline = loaded(shop)
    shop.run_sql(f"INSERT /*+ {hint} */ INTO t SELECT LEVEL, LEVEL + 7, 'new' FROM dual CONNECT BY LEVEL < 5")
    with pytest.raises(oracledb.IntegrityError, match="ORA-00001"):  # the key of another index
        shop.run_sql(f"INSERT /*+ {hint} */ INTO t VALUES (9, 8, 'no')")
    caught_up(shop, pipeline, NO_SPARK)
    assert fetched(shop, "SELECT id, a FROM t ORDER BY id") == [(1, "new"), (2, "old"), (3, "new"), (4, "new")]
    assert is_equal(shop, lake, pipeline, "t")
    for code, wrong in {38913: hint.replace("id", "a").replace("key", "keys"), 38912: "IGNORE_ROW_ON_DUPKEY_INDEX(t)"}.items():
        with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code}"):
            shop.run_sql(f"INSERT /*+ {wrong} */ INTO t VALUES (9, 9, 'no')")


# --- Temporary tables

TEMPORARY = {"without redo of rows": {}, "with rows that LogMiner does not show": {"temporary_rows": "unshown"}}


@pytest.mark.parametrize("shop", TEMPORARY.values(), ids=TEMPORARY, indirect=True)
def test_rows_of_temporary_tables_reach_no_table_and_hold_none(shop: Shop, lake: PlainLake) -> None:
    create(shop, "t", f"{BY_N} ENABLE ROW MOVEMENT")
    shop.run_sql("CREATE GLOBAL TEMPORARY TABLE kept_t (id NUMBER(9) PRIMARY KEY, n NUMBER(9)) ON COMMIT PRESERVE ROWS")
    pipeline = loaded(shop, (OF_T,), new_tables="capture")
    shop.run_sql(
        "CREATE GLOBAL TEMPORARY TABLE gone_t (id NUMBER(9) PRIMARY KEY, a VARCHAR2(5))",
        "INSERT INTO kept_t SELECT id, n FROM t",
        "UPDATE kept_t SET n = n + 10",
        "DELETE FROM kept_t WHERE id = 1",
        "INSERT INTO gone_t VALUES (1, 'x')",
        "INSERT INTO t SELECT id + 20, n, 'temp' FROM kept_t",
        "SAVEPOINT here",
        "UPDATE kept_t SET n = 0",
        "ROLLBACK TO SAVEPOINT here",
        "UPDATE t SET n = (SELECT n FROM kept_t WHERE kept_t.id = t.id) WHERE id IN (SELECT id FROM kept_t)",
        "COMMIT",
        "INSERT INTO t SELECT COUNT(*) + 50, COUNT(*), 'none' FROM gone_t",
        "TRUNCATE TABLE gone_t",
        "DROP TABLE gone_t PURGE",
    )
    caught_up(shop, pipeline, NO_SPARK)
    assert fetched(shop, "SELECT id, n FROM t ORDER BY id") == [(1, 1), (2, 12), (3, 13), (22, 12), (23, 13), (50, 0)]
    assert is_equal(shop, lake, pipeline, "t")
    assert [t.table for t in steps.read_status(pipeline).tables] == ["SHOP.T"]
    whys = [f.what for f in run_doctor(pipeline, shop.params) if f.subject == "SHOP.KEPT_T"]
    assert whys
    assert all("temporary table" in what for what in whys)


def test_a_session_sees_its_own_rows_of_a_temporary_table(shop: Shop) -> None:
    shop.run_sql("CREATE GLOBAL TEMPORARY TABLE g (id NUMBER(9) PRIMARY KEY, n NUMBER(9)) ON COMMIT PRESERVE ROWS")
    count, insert = "SELECT COUNT(*) FROM g", "INSERT INTO g VALUES (1, 1)"
    with shop.oracle.connect("SHOP") as one, shop.oracle.connect("SHOP") as other, one.cursor() as mine, other.cursor() as its:
        for cursor in (mine, its):
            cursor.execute(insert)  # the key is each session's own
        one.commit()
        other.rollback()
        assert [cursor.execute(count).fetchone() for cursor in (mine, its)] == [(1,), (0,)]
        with pytest.raises(oracledb.IntegrityError, match="ORA-00001"):
            mine.execute(insert)
        for statement in ("DROP TABLE g", "CREATE INDEX g_n ON g (n)", "ALTER TABLE g ADD (m NUMBER)"):
            with pytest.raises(oracledb.DatabaseError, match="ORA-14452"):
                its.execute(statement)
        its.execute("TRUNCATE TABLE g")
        assert mine.execute(count).fetchone() == (1,)
        mine.execute("TRUNCATE TABLE g")
        assert mine.execute(count).fetchone() == (0,)
        its.execute("ALTER TABLE g ADD (m NUMBER)")
        mine.execute("INSERT INTO g VALUES (1, 1, 1)")
        one.commit()
    shop.run_sql("DROP TABLE g")  # the sessions with rows have ended


# --- Immutable tables

IMMUTABLE = "NO DROP UNTIL 16 DAYS IDLE NO DELETE UNTIL 16 DAYS AFTER INSERT"


@pytest.mark.parametrize("shop", [{}, {"hidden_columns": "number"}], indirect=True)
def test_an_immutable_table_is_captured_without_the_columns_of_oracle(shop: Shop, lake: PlainLake) -> None:
    shop.run_sql(
        f"CREATE IMMUTABLE TABLE t (id NUMBER(9) PRIMARY KEY, n NUMBER(9), a VARCHAR2(5)) {IMMUTABLE}",
        "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO t VALUES (1, 1, 'old')",
    )
    pipeline = loaded(shop, (OF_T,), new_tables="capture")
    shop.run_sql("INSERT INTO t SELECT id + 1, n, 'new' FROM t", "INSERT INTO t (n, id) VALUES (5, 5)")
    shop.run_sql(f"CREATE IMMUTABLE TABLE late_t (id NUMBER(9) PRIMARY KEY, n NUMBER(9), a VARCHAR2(5)) {IMMUTABLE}")
    shop.run_sql("ALTER TABLE late_t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS", "INSERT INTO late_t VALUES (1, 1, 'late')")
    caught_up(shop, pipeline, NO_SPARK)
    steps.take_snapshot(pipeline, ["SHOP.LATE_T"], source=shop.params, spark=NO_SPARK)
    shop.run_sql("INSERT INTO late_t VALUES (2, 2, 'later')")
    caught_up(shop, pipeline, NO_SPARK)
    assert is_equal(shop, lake, pipeline, "t", "late_t")
    assert {len(row) for row in lake.tables[f"{pipeline.lake}/shop/t"].rows.values()} == {3}
    hidden = fetched(shop, "SELECT column_name FROM user_tab_cols WHERE table_name = 'T' AND hidden_column = 'YES'")
    assert ("ORABCTAB_CREATION_TIME$",) in hidden
    assert fetched(shop, 'SELECT COUNT("ORABCTAB_CREATION_TIME$"), COUNT("ORABCTAB_HASH$") FROM t') == [(3, 0)]

    for code, statement in {
        5715: "UPDATE t SET n = 9",
        5723: "DROP TABLE t",
        5741: IMMUTABLE.replace("16", "5"),
    }.items():
        with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code:05d}"):
            shop.run_sql(f"CREATE IMMUTABLE TABLE x (id NUMBER) {statement}" if statement.startswith("NO") else statement)
    merge = "MERGE INTO t USING (SELECT 1 AS i FROM dual) s ON (t.id = s.i) WHEN MATCHED THEN UPDATE SET n = 9"
    for statement in (
        "DELETE FROM t",
        "TRUNCATE TABLE t",
        "ALTER TABLE t ADD (m NUMBER)",
        "ALTER TABLE t DROP COLUMN n",
        merge,
    ):
        with pytest.raises(oracledb.DatabaseError, match="ORA-05715"):
            shop.run_sql(statement)


# --- Blockchain tables

CHAINED = f'{IMMUTABLE} HASHING USING "SHA2_512" VERSION "v1"'
CHAINS = [{"chained_rows": reading} for reading in ("update", "insert", "unsupported")]


@pytest.mark.parametrize(("shop", "key"), [*((one, None) for one in CHAINS), ({}, "rowid")], indirect=["shop"])
def test_rows_of_a_blockchain_table_arrive_without_their_chain(shop: Shop, key: str | None) -> None:
    lake = PlainLake(replays=key is None)
    with lake.in_place_of_spark():
        shop.run_sql(f"CREATE BLOCKCHAIN TABLE t (id NUMBER(9) PRIMARY KEY, n NUMBER(9), a VARCHAR2(5)) {CHAINED}")
        shop.run_sql("ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS", "INSERT INTO t VALUES (1, 1, 'old')")
        pipeline = loaded(shop, ({"table": "SHOP.T", **({"key": key} if key else {})},))
        with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO t VALUES (2, 2, 'gone')")
            connection.rollback()
            cursor.executemany("INSERT INTO t VALUES (:1, :2, 'new')", [(3, 3), (4, 4)])
            cursor.execute("SAVEPOINT here")
            cursor.execute("INSERT INTO t VALUES (5, 5, 'gone')")
            cursor.execute("ROLLBACK TO here")
            connection.commit()
        caught_up(shop, pipeline, NO_SPARK)
        reading = shop.oracle.database.options.chained_rows
        if reading == "unsupported":
            assert "LogMiner cannot show a change of the table (UNSUPPORTED)" in held(pipeline)["SHOP.T"]
        else:
            assert is_equal(shop, lake, pipeline, "t") if key is None else held(pipeline) == {}
            rows = lake.tables[f"{pipeline.lake}/shop/t"].rows.values()
            assert {len(row) for row in rows} == {3 if key is None else 4}
            assert sorted(int(row[-3]) for row in rows) == [1, 3, 4]
    numbers = 'SELECT "ORABCTAB_SEQ_NUM$", LENGTH("ORABCTAB_HASH$") FROM t ORDER BY id'
    counted = [number for number, _ in fetched(shop, numbers)]
    assert counted == sorted(set(counted))
    assert {length for _, length in fetched(shop, numbers)} == {128}
    for statement, code in {
        "DELETE FROM t": 5715,
        "DROP TABLE t": 5723,
        f"CREATE BLOCKCHAIN TABLE u (i NUMBER) {IMMUTABLE}": 905,
    }.items():
        with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code:05d}"):
            shop.run_sql(statement)
    with pytest.raises(oracledb.DatabaseError, match="ORA-05729"):
        shop.run_sql(f"CREATE BLOCKCHAIN TABLE u (i NUMBER) {CHAINED}", user="SYS")


# --- Indexes that are UNUSABLE

REPAIRS = {
    "built again": "ALTER INDEX {} REBUILD ONLINE",
    "moved": "ALTER TABLE {} MOVE ONLINE",
}


def test_statements_that_need_an_unusable_index_fail_and_reach_no_table(shop: Shop, lake: PlainLake) -> None:
    for name, more in (("t", ""), ("p", f"{BY_N} ENABLE ROW MOVEMENT")):
        create(shop, name, more)
        shop.run_sql(f"CREATE INDEX {name}_a ON {name} (a)", f"ALTER TABLE {name} MODIFY (n DEFAULT 5)")
    shop.run_sql("CREATE TABLE child (id NUMBER(9) REFERENCES t)")
    pipeline = loaded(shop, ("SHOP.T", "SHOP.P"), on_ddl={"truncate": "follow"})
    shop.run_sql("ALTER TABLE t MOVE", "ALTER TABLE p MOVE PARTITION high", "ALTER TABLE p MOVE PARTITION low TABLESPACE users")
    states = "SELECT index_name, status FROM user_indexes WHERE table_name IN ('T', 'P')"
    assert {status for _, status in fetched(shop, states)} == {"UNUSABLE"}

    for name in ("t", "p"):
        with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute(f"UPDATE {name} SET a = 'new' WHERE id = 1")  # of the other index, which is passed over
            for statement in (
                f"INSERT INTO {name} VALUES (4, 4, 'new')", f"DELETE FROM {name} WHERE id = 2", f"UPDATE {name} SET id = 9",
                f"MERGE INTO {name} USING (SELECT 7 i FROM dual) s ON (id = s.i) WHEN NOT MATCHED THEN INSERT (id) VALUES (i)",
                "INSERT INTO child VALUES (1)",
            ):  # fmt: skip
                with pytest.raises(oracledb.DatabaseError, match=r"ORA-01502: index 'SHOP\.\w+'"):
                    cursor.execute(statement)
            cursor.execute("ALTER SESSION SET skip_unusable_indexes = FALSE")
            with pytest.raises(oracledb.DatabaseError, match="ORA-01502"):
                cursor.execute(f"UPDATE {name} SET a = 'not' WHERE id = 2")
            connection.commit()
    caught_up(shop, pipeline, NO_SPARK)
    assert is_equal(shop, lake, pipeline, "t", "p")

    key = dict(fetched(shop, "SELECT table_name, index_name FROM user_constraints WHERE constraint_type = 'P'"))
    for name in ("t", "p"):
        shop.run_sql(
            f"ALTER INDEX {key[name.upper()]} REBUILD ONLINE",
            f"INSERT INTO {name} VALUES (4, 4, 'new')",
            f"DELETE FROM {name} WHERE id = 2",
        )
    shop.run_sql("ALTER INDEX t_a UNUSABLE", "UPDATE t SET id = 9 WHERE id = 3", "DROP TABLE child", "TRUNCATE TABLE t")
    assert set(fetched(shop, states)) >= {("T_A", "VALID"), (key["T"], "VALID"), ("P_A", "UNUSABLE")}
    shop.run_sql("INSERT INTO t VALUES (1, 1, 'last')")
    caught_up(shop, pipeline, NO_SPARK)
    assert is_equal(shop, lake, pipeline, "t", "p")


# --- Local times

ZONES = {zone: {"time_zone": zone} for zone in ("+00:00", "-05:30", "Europe/Berlin")}


@pytest.mark.parametrize("shop", ZONES.values(), ids=ZONES, indirect=True)
def test_local_times_are_stored_in_the_zone_of_the_database(shop: Shop, lake: PlainLake) -> None:
    """Redo from before a DDL has their bytes; those of a region hold the table."""
    shop.run_sql("CREATE TABLE t (id NUMBER(9) PRIMARY KEY, l TIMESTAMP(6) WITH LOCAL TIME ZONE)")
    shop.run_sql(
        "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS", "INSERT INTO t VALUES (1, TIMESTAMP '2026-07-01 12:00:00.5')"
    )
    zone = shop.oracle.database.options.time_zone
    assert fetched(shop, "SELECT DBTIMEZONE FROM dual") == [(zone,)]
    pipeline = loaded(shop)
    shop.run_sql("INSERT INTO t VALUES (2, TIMESTAMP '2026-07-02 23:30:00.25')")
    caught_up(shop, pipeline, NO_SPARK)
    shop.run_sql("INSERT INTO t VALUES (3, TIMESTAMP '2026-12-31 23:30:00')", "ALTER TABLE t ADD (late NUMBER(9))")
    if ":" in zone:
        caught_up(shop, pipeline, NO_SPARK)
    else:  # where Spark's batch holds the table
        with pytest.raises(Contradiction, match="which has no fixed offset"):
            caught_up(shop, pipeline, NO_SPARK)
    rows = {int(key): str(local) for key, local, *_ in lake.tables[f"{pipeline.lake}/shop/t"].rows.values()}
    expected = {1: "2026-07-01 12:00:00.500000+00:00", 2: "2026-07-02 23:30:00.250000+00:00", 3: "2026-12-31 23:30:00+00:00"}
    assert rows == {key: at for key, at in expected.items() if key < 3 or ":" in zone}
    assert held(pipeline) == {}


# --- DDL that fails

# With what holds the table where LogMiner shows the DDL's row, whose transaction is rolled back; None where nothing does.
FAILING = {
    "a unique index": ("CREATE UNIQUE INDEX {0}_a ON {0} (a)", None),
    "a unique key": ("ALTER TABLE {} ADD UNIQUE (a)", None),
    "a foreign key": ("ALTER TABLE {} ADD FOREIGN KEY (n) REFERENCES parents", None),
    "a mandatory column": ("ALTER TABLE {} MODIFY (n NOT NULL)", None),
    "another datatype": ("ALTER TABLE {} MODIFY (n VARCHAR2(20))", "narrows the type"),
    "another key": ("ALTER TABLE {} DROP PRIMARY KEY ADD PRIMARY KEY (n)", "changes the primary key"),
    "a column beside a key": ("ALTER TABLE {} ADD (late NUMBER(9)) ADD UNIQUE (a)", "LATE is not in the dictionary"),
    "a column with a default": ("ALTER TABLE {} ADD (late NUMBER(9) DEFAULT 5) ADD UNIQUE (a)", "no longer in the dictionary"),
    "a table from a query": ("CREATE TABLE {}_t AS SELECT id, n / 0 AS n FROM {0}", None),
}
READINGS = {reading: {"failed_ddl": reading} for reading in ("none", "transaction", "row")}


@pytest.mark.parametrize("shop", READINGS.values(), ids=READINGS, indirect=True)
def test_a_ddl_that_failed_reaches_no_table(shop: Shop, lake: PlainLake) -> None:
    names = [f"f{number}" for number in range(len(FAILING))]
    for name in names:
        create(shop, name)
        shop.run_sql(f"INSERT INTO {name} VALUES (9, NULL, 'old')")
    shop.run_sql("CREATE TABLE parents (id NUMBER(9) PRIMARY KEY)")
    pipeline = loaded(shop, ("SHOP.F*",), new_tables="capture")
    for name, (statement, _) in zip(names, FAILING.values(), strict=True):
        with pytest.raises(oracledb.DatabaseError):
            shop.run_sql(statement.replace("{}", "{0}").format(name))
        shop.run_sql(f"INSERT INTO {name} (id, n, a) VALUES (20, 20, 'next')")
    caught_up(shop, pipeline, NO_SPARK)
    shop.run_sql(*(f"INSERT INTO {name} (id, n, a) VALUES (21, 21, 'last')" for name in names))
    caught_up(shop, pipeline, NO_SPARK)  # after a reading of the dictionary that is later than the DDL
    is_shown = shop.oracle.database.options.failed_ddl == "row"
    expected = {f"SHOP.{name.upper()}": why for name, (_, why) in zip(names, FAILING.values(), strict=True) if why and is_shown}
    found = held(pipeline)
    assert found.keys() == expected.keys()
    assert all(expected[table] in why for table, why in found.items()), found
    assert len(steps.read_status(pipeline).tables) == len(names)
    for table in found:
        steps.take_snapshot(pipeline, [table], replace=True, source=shop.params, spark=NO_SPARK)
    assert is_equal(shop, lake, pipeline, *names)


# --- Rows that LogMiner cannot show

LONG = "a_name_of_a_column_with_more_than_thirty_bytes"


@pytest.fixture(params=[True, False], ids=["replayed", "folded"])
def either_lake(request: Any) -> Iterator[PlainLake]:
    found = PlainLake(replays=request.param)
    with found.in_place_of_spark():
        yield found


def with_object(shop: Shop) -> Pipeline:
    """Return a pipeline of a table with a column of a type that is left out: LogMiner may show none of its rows."""
    shop.run_sql("CREATE TYPE pair AS OBJECT (x NUMBER, y NUMBER)")
    shop.run_sql("CREATE TABLE t (id NUMBER(9) PRIMARY KEY, n NUMBER(9), a VARCHAR2(5), o pair)")
    shop.run_sql("ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS", "INSERT INTO t (id, n, a) VALUES (1, 1, 'old')")
    create(shop, "u")
    return loaded(shop, ({"table": "SHOP.T", "exclude_columns": ["O"]}, "SHOP.U"))


@pytest.mark.parametrize("shop", [{"object_rows": "unsupported"}], indirect=True)
def test_a_change_that_logminer_cannot_show_holds_the_table_once_it_commits(shop: Shop, either_lake: PlainLake) -> None:
    pipeline = with_object(shop)
    with shop.oracle.connect("SHOP") as undone, shop.oracle.connect("SHOP") as late:
        for connection, key in ((undone, 2), (late, 3)):
            connection.cursor().execute(f"INSERT INTO t (id, n, a) VALUES ({key}, {key}, 'new')")
        undone.rollback()
        shop.run_sql("INSERT INTO u VALUES (7, 7, 'one')")
        caught_up(shop, pipeline, NO_SPARK)
        assert is_equal(shop, either_lake, pipeline, "t", "u")
        late.commit()
    shop.run_sql("INSERT INTO u VALUES (8, 8, 'two')")
    caught_up(shop, pipeline, NO_SPARK)
    assert list(held(pipeline)) == ["SHOP.T"]
    assert "LogMiner cannot show a change of the table (UNSUPPORTED)" in held(pipeline)["SHOP.T"]
    assert len(either_lake.tables[f"{pipeline.lake}/shop/t"].rows) == 1
    assert len(either_lake.tables[f"{pipeline.lake}/shop/u"].rows) == 5


def test_a_change_after_a_ddl_that_gave_a_long_name_holds_the_table(shop: Shop, lake: PlainLake) -> None:
    create(shop, "t")
    pipeline = loaded(shop)
    shop.run_sql("DELETE FROM t WHERE id = 2", f"ALTER TABLE t ADD ({LONG} NUMBER(9))", "UPDATE t SET n = 5 WHERE id = 1")
    caught_up(shop, pipeline, NO_SPARK)
    assert "(UNSUPPORTED)" in held(pipeline)["SHOP.T"]
    shop.run_sql(f"ALTER TABLE t RENAME COLUMN {LONG} TO short")
    steps.take_snapshot(pipeline, ["SHOP.T"], replace=True, source=shop.params, spark=NO_SPARK)
    shop.run_sql("UPDATE t SET n = 6 WHERE id = 1")
    caught_up(shop, pipeline, NO_SPARK)
    assert is_equal(shop, lake, pipeline, "t")
