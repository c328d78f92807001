"""What LogMiner shows of changes and DDL."""

from __future__ import annotations

from typing import Any

from tests.oracle.conftest import Database
from tests.oracle.questions.asking import LOGGED, mined, mines
from tests.oracle.questions.question import asks

mines(
    "Do undo rows lack supplemental log data (STATUS 3)",
    "CREATE TABLE q_undo (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    LOGGED.format("q_undo"),
    "SAVEPOINT s1",
    "INSERT INTO q_undo VALUES (1, 1)",
    "UPDATE q_undo SET a = 2",
    "ROLLBACK TO SAVEPOINT s1",
    accepted=".*, undo.*",
)
mines(
    "Does LogMiner show the value of a UROWID column",
    "CREATE TABLE q_urowid (id NUMBER(9) PRIMARY KEY, at UROWID)",
    LOGGED.format("q_urowid"),
    "INSERT INTO q_urowid VALUES (1, 'AAAR0xAAMAAAACDAAA')",
)
mines(
    "Which ADDs bring a guard column",
    "CREATE TABLE q_guard (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    LOGGED.format("q_guard"),
    "INSERT INTO q_guard (id) VALUES (1)",
    "ALTER TABLE q_guard ADD (b NUMBER(9) DEFAULT 7)",
    "INSERT INTO q_guard (id) VALUES (2)",
    "UPDATE q_guard SET b = 8",
)
mines(
    "Does SQL_REDO show guard and unused columns by name",
    "CREATE TABLE q_unused (id NUMBER(9) PRIMARY KEY, a NUMBER(9), b NUMBER(9))",
    LOGGED.format("q_unused"),
    "INSERT INTO q_unused VALUES (1, 2, 3)",
    "ALTER TABLE q_unused SET UNUSED (a)",
    "ALTER TABLE q_unused ADD (c NUMBER(9) DEFAULT 7)",
    "INSERT INTO q_unused (id, b) VALUES (2, 3)",
    "UPDATE q_unused SET b = 4",
)
mines(
    "Does WHERE show a column that is younger than the row",
    "CREATE TABLE q_younger (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    LOGGED.format("q_younger"),
    "INSERT INTO q_younger VALUES (1, 1)",
    "ALTER TABLE q_younger ADD (b NUMBER(9))",
    "UPDATE q_younger SET a = 2",
    "DELETE FROM q_younger",
)
mines(
    "What does an UPDATE show that sets to NULL what is NULL",
    "CREATE TABLE q_null (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    LOGGED.format("q_null"),
    "INSERT INTO q_null (id) VALUES (1)",
    "UPDATE q_null SET a = NULL",
)
mines(
    "Are names beyond 30 bytes UNSUPPORTED on every release",
    f"CREATE TABLE q_long (id NUMBER(9) PRIMARY KEY, {'n' * 31} NUMBER(9))",
    LOGGED.format("q_long"),
    "INSERT INTO q_long VALUES (1, 1)",
    "UPDATE q_long SET id = 2",
)
for kind, value in (("XMLTYPE", "'<a/>'"), ("LONG", "'x'"), ("BOOLEAN", "TRUE"), ("JSON", "'{}'"), ("VECTOR", "'[1]'")):
    mines(
        "Does every row of a table with a BOOLEAN, JSON, VECTOR, XMLTYPE or LONG column have a ROW_ID",
        f"CREATE TABLE q_{kind.lower()} (id NUMBER(9) PRIMARY KEY, a {kind}, b NUMBER(9))",
        LOGGED.format(f"q_{kind.lower()}"),
        f"INSERT INTO q_{kind.lower()} VALUES (1, {value}, 1)",
        f"UPDATE q_{kind.lower()} SET b = 2",
        f"DELETE FROM q_{kind.lower()}",
    )
mines(
    "How does LogMiner show an UPDATE of the key of an index-organized table",
    "CREATE TABLE q_iot (id NUMBER(9) PRIMARY KEY, a NUMBER(9)) ORGANIZATION INDEX",
    LOGGED.format("q_iot"),
    "INSERT INTO q_iot VALUES (1, 1)",
    "INSERT INTO q_iot VALUES (2, 2)",
    "UPDATE q_iot SET id = id + 1",
    "SAVEPOINT s1",
    "UPDATE q_iot SET id = id + 10",
    "ROLLBACK TO SAVEPOINT s1",
)
mines(
    "Does a table with DISABLE LOGICAL REPLICATION still follow its own log groups",
    "CREATE TABLE q_replication (id NUMBER(9) PRIMARY KEY, a NUMBER(9))",
    "ALTER TABLE q_replication ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
    "ALTER TABLE q_replication DISABLE LOGICAL REPLICATION",
    "INSERT INTO q_replication VALUES (1, 1)",
    "UPDATE q_replication SET a = 2",
)
mines(
    "What does redo contain when Oracle rewrites the rows for an ADD that is not optimized",
    "CREATE TABLE q_rewritten (id NUMBER(9) PRIMARY KEY, a CLOB)",
    LOGGED.format("q_rewritten"),
    "INSERT INTO q_rewritten VALUES (1, 'x')",
    "ALTER TABLE q_rewritten ADD (b NUMBER(9) DEFAULT 7 NOT NULL)",
)
mines(
    "Does LogMiner show changes of a table with a BFILE or nested table column",
    "CREATE TABLE q_bfile (id NUMBER(9) PRIMARY KEY, a BFILE, b NUMBER(9))",
    LOGGED.format("q_bfile"),
    "INSERT INTO q_bfile VALUES (1, BFILENAME('D', 'f'), 1)",
    "UPDATE q_bfile SET b = 2",
)
mines(
    "Does LogMiner show a row with an extended string as UNSUPPORTED",
    "CREATE TABLE q_extended (id NUMBER(9) PRIMARY KEY, a VARCHAR2(32767))",
    LOGGED.format("q_extended"),
    "INSERT INTO q_extended VALUES (1, RPAD('x', 10, 'x'))",
    "UPDATE q_extended SET a = RPAD('y', 10000, 'y')",
)


@asks("Which SEG_OWNER and TABLE_NAME have the DDL rows of TRUNCATE CLUSTER")
def drop_a_cluster(database: Database) -> str:
    database.run(database.dba, [f"GRANT CREATE CLUSTER TO {database.scratch.user}"], database.pdb_dsn)
    steps = (
        "CREATE CLUSTER q_cluster (id NUMBER(9))",
        "CREATE INDEX q_cluster_index ON CLUSTER q_cluster",
        "CREATE TABLE q_clustered (id NUMBER(9) PRIMARY KEY, a NUMBER(9)) CLUSTER q_cluster (id)",
        LOGGED.format("q_clustered"),
        "INSERT INTO q_clustered VALUES (1, 1)",
        "TRUNCATE CLUSTER q_cluster",
        "DROP CLUSTER q_cluster INCLUDING TABLES",
    )
    return "\n".join(mined(database, steps))


@asks("What does LogMiner show of DBMS_REDEFINITION.FINISH_REDEF_TABLE")
def redefine_a_table(database: Database) -> str:
    names = f"'{database.scratch.user}', 'Q_REDEFINED', 'Q_INTERIM'"
    redefine = "".join(f"DBMS_REDEFINITION.{step}_REDEF_TABLE({names}); " for step in ("START", "FINISH"))

    def run(connection: Any) -> None:
        connection.commit()  # it waits for open transactions
        database.as_sysdba(f"BEGIN {redefine}END;", dsn=database.pdb_dsn)

    create = [f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, a NUMBER(9))" for name in ("q_redefined", "q_interim")]
    return "\n".join(mined(database, (*create, LOGGED.format("q_redefined"), "INSERT INTO q_redefined VALUES (1, 1)", run)))
