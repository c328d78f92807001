"""What the product's comments say of SQLite, psycopg, and Spark's package and client, asked of them without a server."""

from __future__ import annotations

import re
import sqlite3
import stat
import zipfile
from pathlib import Path
from urllib.parse import quote

import fsspec
import psycopg.errors
import pyspark
import pytest
import sqlalchemy
from pyspark.sql import types as T
from pyspark.sql.connect.client import DefaultChannelBuilder

from redolake.host.runtime import NOT_NEEDED, VECTOR_MODULE
from redolake.ledger.base import PASSING
from redolake.steps.shown.history_views import SPARK_TYPES
from redolake.values.common_type import NAMES
from tests.support.assumes import assumes

JARS = Path(pyspark.__file__).parent / "jars"


@assumes(
    "one class of errors says that a table is gone, and that the file is locked",
    of="SQLite",
    used_in="pipelines/redolake/ledger/base.py",
    says="SQLite has one class of errors for all: a table that is gone, a full disk, a lock",
)
def test_sqlite_has_one_class_of_errors(tmp_path: Path) -> None:
    first, second = (sqlite3.connect(tmp_path / "l", timeout=0, isolation_level=None) for _ in range(2))
    first.execute("BEGIN EXCLUSIVE")
    for statement, says in (("BEGIN EXCLUSIVE", "database is locked"), ("SELECT * FROM gone", "database is locked")):
        with pytest.raises(sqlite3.OperationalError, match=says):
            second.execute(statement)
    first.execute("COMMIT")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        second.execute("SELECT * FROM gone")
    first.close()
    second.close()


@assumes(
    "the files beside a database have its mode",
    of="SQLite",
    used_in="pipelines/redolake/ledger/store.py",
    says="SQLite gives the files beside it the mode that it finds",
)
@pytest.mark.parametrize("mode", [0o600, 0o660])
def test_sqlite_gives_files_beside_it_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "l"
    file.touch()
    file.chmod(mode)
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (a)")
    assert {name.name: stat.S_IMODE(name.stat().st_mode) for name in tmp_path.iterdir()} == dict.fromkeys(
        ["l", "l-wal", "l-shm"], mode
    )
    connection.close()


@assumes(
    "the driver begins a transaction before a change of rows, without `isolation_level=None`",
    of="SQLite",
    used_in="pipelines/redolake/ledger/store.py",
    says="the driver would begin transactions where it likes",
)
def test_the_driver_of_sqlite_begins_a_transaction() -> None:
    begun = []
    for options in ({}, {"isolation_level": None}):
        connection = sqlite3.connect(":memory:", **options)  # type: ignore[call-overload]
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (1)")
        begun.append(connection.in_transaction)
        connection.close()
    assert begun == [True, False]


@assumes(
    "a CREATE TABLE is taken back with its transaction",
    of="SQLite",
    used_in="pipelines/redolake/ledger/migrations/env.py",
    says="SQLite's DDL is transactional where the driver begins no transactions by itself",
)
def test_sqlite_takes_back_a_table_with_its_transaction() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT * FROM sqlite_master").fetchall() == []
    connection.close()


@assumes(
    "a write lock that is asked for in the middle of a reading transaction is refused at once, whatever the time-out",
    of="SQLite",
    used_in="pipelines/redolake/ledger/base.py",
    says="SQLite takes its write lock at BEGIN, not in the middle",
)
def test_sqlite_refuses_a_write_lock_after_another_write(tmp_path: Path) -> None:
    first, second = (sqlite3.connect(tmp_path / "l", timeout=60, isolation_level=None) for _ in range(2))
    first.execute("PRAGMA journal_mode = WAL")
    first.execute("CREATE TABLE t (a)")
    second.execute("BEGIN")
    second.execute("SELECT * FROM t").fetchall()
    first.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        second.execute("INSERT INTO t VALUES (2)")
    second.execute("ROLLBACK")
    second.execute("BEGIN IMMEDIATE")
    second.execute("INSERT INTO t VALUES (2)")
    second.execute("COMMIT")
    first.close()
    second.close()


@assumes(
    "what passes by itself has these SQLSTATEs, some of them as an InternalError",
    of="psycopg",
    used_in="pipelines/redolake/ledger/base.py",
    says="The driver makes an InternalError of some of them, as it does of faults",
)
def test_psycopg_has_the_states_that_pass() -> None:
    states = ["08006", "53300", "57P01", "57P03", "57014", "58030", "25006", "25P03", "40001", "40P01", "40003", "55P03"]
    found = {state: psycopg.errors.lookup(state) for state in states}
    assert [state for state in states if not PASSING.match(state)] == []
    assert {state for state, error in found.items() if not issubclass(error, psycopg.OperationalError)} == {"25006", "25P03"}
    assert all(issubclass(found[state], psycopg.InternalError) for state in ("25006", "25P03"))


@assumes(
    "a parameter of a Connect URL that the client does not know is a header, in lower case",
    of="pyspark",
    used_in="pipelines/redolake/host/connect_token.py",
    says="of a header, which Spark makes of each parameter that it does not know",
)
def test_a_connect_client_makes_headers_of_parameters() -> None:
    given = DefaultChannelBuilder("sc://h:1/;use_ssl=true;user_id=u;x-tenant=t")
    assert [pair for pair in given.metadata() if pair[0] == "x-tenant"] == [("x-tenant", "t")]
    assert "use_ssl" not in dict(given.metadata())


@assumes(
    "two types have another name in Delta's log than in SQL",
    of="pyspark",
    used_in="pipelines/redolake/steps/shown/history_views.py",
    says="the others have one name in Delta and Spark SQL",
)
def test_two_types_have_another_name_in_delta() -> None:
    kinds = [
        T.StringType(), T.BinaryType(), T.BooleanType(), T.IntegerType(), T.LongType(), T.FloatType(), T.DoubleType(),
        T.DateType(), T.TimestampType(), T.TimestampNTZType(), T.DecimalType(38, 10),
    ]  # fmt: skip
    differing = {kind.jsonValue(): kind.simpleString() for kind in kinds if kind.jsonValue() != kind.simpleString()}
    assert differing == SPARK_TYPES


@assumes(
    "the launcher always asks for a module that a small Java may lack",
    of="pyspark",
    used_in="pipelines/redolake/host/runtime.py",
    says="Spark's launcher always passes it",
)
def test_the_launcher_asks_for_a_module() -> None:
    (launcher,) = JARS.glob("spark-launcher_*.jar")
    with zipfile.ZipFile(launcher) as jar:
        assert VECTOR_MODULE.encode() in jar.read("org/apache/spark/launcher/JavaModuleOptions.class")


@assumes(
    "it has Hadoop and Parquet, which Delta names as its needs",
    of="pyspark",
    used_in="pipelines/redolake/host/runtime.py",
    says="Delta names them as its needs, but Spark brings newer ones of its own",
)
def test_spark_brings_what_delta_needs() -> None:
    names = [package.partition(":")[2] for package in NOT_NEEDED if "unitycatalog" not in package]
    assert [name for name in names if not list(JARS.glob(f"{name}-*.jar"))] == []


@assumes(
    "the sign ~ is itself in a path, and no pattern",
    of="fsspec",
    used_in="pipelines/redolake/host/paths.py",
    says="unreserved in URLs, and no pattern of Hadoop, Spark or fsspec",
)
def test_a_tilde_is_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "a~2Eb").touch()
    (tmp_path / "a.b").touch()
    assert quote("a~2Eb") == "a~2Eb"
    assert fsspec.filesystem("file").glob(f"{tmp_path}/a~2Eb") == [str(tmp_path / "a~2Eb")]


@assumes(
    "the engine's own types are named otherwise than in Spark",
    of="duckdb",
    used_in="pipelines/redolake/values/common_type.py",
    says="the names of types in the engines that have views",
)
def test_duckdb_knows_the_names_of_types() -> None:
    import duckdb

    for name in (*NAMES["duckdb"].values(), "DECIMAL(38,10)", "BIGINT", "DOUBLE", "FLOAT", "BOOLEAN", "DATE"):
        duckdb.sql(f"SELECT CAST(NULL AS {name})").fetchall()


@assumes(
    "a statement takes 250 windows, named twice",
    of="SQLite",
    used_in="pipelines/redolake/ledger/windows.py",
    says="a statement names each twice, and older versions of SQLite take 999 values",
)
def test_sqlite_takes_the_values_of_a_statement() -> None:
    from redolake.ledger.windows import WINDOWS_AT_ONCE

    values = list(range(2 * WINDOWS_AT_ONCE))
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        marks = ", ".join("?" for _ in values)
        assert connection.exec_driver_sql(f"SELECT 1 WHERE 7 IN ({marks})", tuple(values)).scalar() == 1
    assert len(values) < 999


def test_the_words_of_a_full_disk_are_sqlites(tmp_path: Path) -> None:
    """The page limit stands for the disk."""
    from redolake.ledger.base import NO_SPACE

    connection = sqlite3.connect(tmp_path / "l", isolation_level=None)
    connection.execute("CREATE TABLE t (a)")
    connection.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError) as full:
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    assert re.search(NO_SPACE, str(full.value))
    connection.close()
