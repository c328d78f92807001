"""Questions about connections, containers and rights."""

from __future__ import annotations

import oracledb

from tests.oracle.conftest import Database
from tests.oracle.questions.asking import change, code_of, empty_scratch, sysdba
from tests.oracle.questions.question import asks


@asks("Does a statement parsed in one container fail in another", "no error|ORA-65108")
def reuse_a_cursor(database: Database) -> str:
    with sysdba(database) as connection:
        cursor = connection.cursor()
        query = "SELECT COUNT(*) FROM v$database"
        cursor.execute(query).fetchall()
        connection.cursor().execute(f"ALTER SESSION SET CONTAINER = {database.container}")
        return code_of(lambda: cursor.execute(query).fetchall())


@asks("Does SET CONTAINER accept a name in double quotes", r"no error|ORA-\d+")
def quote_a_container(database: Database) -> str:
    with sysdba(database) as connection:
        return code_of(lambda: connection.cursor().execute(f'ALTER SESSION SET CONTAINER = "{database.container}"'))


@asks("Does SET CONTAINER work with python-oracledb's thin mode", r"(upper|lower) case: .+")
def switch_in_either_case(database: Database) -> str:
    def switch(user: str) -> None:
        who = database.reader
        with oracledb.connect(user=user, password=who.password, dsn=who.dsn) as connection:
            for container in (database.container, "CDB$ROOT"):
                connection.cursor().execute(f"ALTER SESSION SET CONTAINER = {container}")

    user = database.reader.user
    return f"upper case: {code_of(lambda: switch(user.upper()))}; lower case: {code_of(lambda: switch(user.lower()))}"


@asks("What does a common user get from a PDB that is mounted", "(ORA-01033|ORA-01109|ORA-12514|DPY-6001).*", breaks=True)
def connect_to_a_mounted_pdb(database: Database) -> str:
    who = database.reader

    def switch() -> None:
        with oracledb.connect(user=who.user, password=who.password, dsn=who.dsn) as connection:
            connection.cursor().execute(f"ALTER SESSION SET CONTAINER = {database.container}")
            connection.cursor().execute("SELECT COUNT(*) FROM all_tables")

    database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} CLOSE IMMEDIATE")
    try:
        service = code_of(lambda: oracledb.connect(user=who.user, password=who.password, dsn=database.pdb_dsn).close())
        return f"{service} from its service, {code_of(switch)} after SET CONTAINER"
    finally:
        database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} OPEN")


@asks("Is FLASHBACK checked for tables in an EXISTS that is never run", r"ORA-\d+")
def look_back_without_the_grant(database: Database) -> str:
    """Two tables, FLASHBACK on one: Redolake learns which one lacks it if Oracle refuses the whole SELECT."""
    reader, password, owner = "REDOLAKE_Q", "Question_1", database.scratch.user
    exists = [f"EXISTS (SELECT 1 FROM {owner}.{table} AS OF SCN {{0}})" for table in ("q_granted", "q_refused")]
    query = f"SELECT COUNT(*) FROM dual WHERE 1 = 0 AND ({' OR '.join(exists)})"
    database.run(
        database.dba,
        [f'CREATE USER {reader} IDENTIFIED BY "{password}"', f"GRANT CREATE SESSION TO {reader}"],
        database.pdb_dsn,
    )
    try:
        create = [f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY)" for table in ("q_granted", "q_refused")]
        grants = [f"GRANT SELECT, FLASHBACK ON q_granted TO {reader}", f"GRANT SELECT ON q_refused TO {reader}"]
        change(database, *create, *grants)
        ((scn,),) = database.as_sysdba("SELECT current_scn FROM v$database")
        with oracledb.connect(user=reader, password=password, dsn=database.pdb_dsn) as connection:
            return code_of(lambda: connection.cursor().execute(query.format(scn)).fetchall())
    finally:
        database.run(database.dba, [f"DROP USER {reader} CASCADE"], database.pdb_dsn)
        empty_scratch(database)


@asks("Are tables of Label Security listed in ALL_POLICIES, and who may read ALL_SA_TABLE_POLICIES")
def look_for_label_security(database: Database) -> str:
    who = database.reader
    ((value,),) = database.as_sysdba("SELECT value FROM v$option WHERE parameter = 'Oracle Label Security'")
    with oracledb.connect(user=who.user, password=who.password, dsn=database.pdb_dsn) as connection:
        code = code_of(lambda: connection.cursor().execute("SELECT COUNT(*) FROM all_sa_table_policies").fetchall())
    return f"V$OPTION {value}; ALL_SA_TABLE_POLICIES: {code}"
