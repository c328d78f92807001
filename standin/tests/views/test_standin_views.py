"""The V$ and dictionary views."""

from collections import Counter
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from standin import views
from standin.engine.database.standby import Standby
from standin.engine.redo.archived_logs import ArchivedLogs
from standin.engine.redo.archiver import Archiver
from standin.engine.redo.clock import Clock
from standin.engine.redo.writer import RedoWriter
from standin.engine.sessions.catalog import VIEWS
from standin.engine.settings.options import DatabaseOptions
from standin.engine.storage.segment import Rows
from standin.engine.storage.storage import Index
from standin.engine.transactions.transaction import Branch
from standin.model import (
    PDB,
    ArchivedCopy,
    ArchiveDestination,
    Constraint,
    DatabaseIncarnation,
    DatabaseState,
    LogGroup,
    NumberSequence,
    OnlineLog,
    OpenTransaction,
    PdbIdentity,
    Policy,
    RedoThreadState,
    SqlType,
    TableColumn,
    TableDef,
    User,
)
from standin.views.columns import columns_of

AT = datetime(2026, 2, 28, 13, 45, 59)

views.register()


def orders() -> TableDef:
    columns = [
        TableColumn("ID", SqlType("NUMBER", precision=12, scale=0), 1, nullable=False),
        TableColumn("NAME", SqlType("VARCHAR2", 400, 100), 2, nullable=False),
        TableColumn("AT", SqlType("TIMESTAMP WITH TIME ZONE", 13, scale=3), 3),
        TableColumn("SYS_NC00004$", SqlType("RAW", 8), 4, hidden=True, kind="guard"),
    ]
    key = Constraint("ORDERS_PK", "P", ["ID"])
    return TableDef("SHOP", "ORDERS", PDB, 70, 71, 1, columns, [key], [LogGroup("SYS_C01", "ALL COLUMN LOGGING")], AT, AT)


def database_state(**changes) -> DatabaseState:
    logs = [
        OnlineLog(1, 1, "/redo01.log", 5, 90, AT, 100, AT, "INACTIVE", True),
        OnlineLog(2, 1, "/redo02.log", 6, 100, AT),
    ]
    copies = [
        ArchivedCopy(1, 1, 5, 7, 1, AT, 90, AT, 100, AT, 1, "/a/1_5.arc", 10, completed_at=AT),
        ArchivedCopy(2, 1, 5, 7, 1, AT, 90, AT, 100, AT, 2, None, 10, deleted=True, status="D"),
    ]
    users = (
        User("C##ALL", "x", 1, container_data=True),
        User("C##BLIND", "x", 1),
        User("SHOP", "x", PDB, privileges={"CREATE SESSION", "SELECT_CATALOG_ROLE"}),
        User("OTHER", "x", PDB, grants={("SELECT", "SHOP.ORDERS")}),
        User("NOBODY", "x", PDB),
    )
    return DatabaseState(
        policies=[Policy("P1", "SHOP", "ORDERS", kind, "1 = 1") for kind in ("VPD", "LABEL", "REDACTION")],
        pdb=PdbIdentity(b"\x03" * 16, 3, 3, []),
        users={user.name: user for user in users},
        tables={(PDB, "SHOP", "ORDERS"): orders()},
        incarnations=[DatabaseIncarnation(1, 1, AT, 0, 7)],
        threads={1: RedoThreadState(1, "FREE", logs=logs, checkpoint_scn=100)},
        archived=copies,
        destinations=[ArchiveDestination(1, "/a"), ArchiveDestination(2, "/b")],
        transactions={(1, 2, 3): OpenTransaction((1, 2, 3), PDB, 1, 95, AT, 42, "SHOP")},
        **changes,
    )


def select(view, *columns, user="C##ALL", container=1, state=None):
    state = state or database_state()
    key, extra = Index("ORDERS_PK", ("ID",), True), Index("ORDERS_AT", ("AT", "NAME"), False)
    stores = {
        t.object_id: SimpleNamespace(definition=t, indexes=[key, extra], rows=Rows(), part_of={}) for t in state.tables.values()
    }
    database = SimpleNamespace(
        state=state, lock=nullcontext(), clock=Clock(123), tables=SimpleNamespace(stores=stores), options=DatabaseOptions()
    )
    database.archiver = Archiver(state, database.clock, database.lock, lambda: None)
    database.standby = Standby(state, database.clock)
    database.sequences = {(PDB, "SHOP", "IDS"): NumberSequence(1, 1, 99, cycle=False, order=False, cache=20, start=1)}
    database.redo = RedoWriter(state, database.clock, database.archiver)
    database.archived_logs = ArchivedLogs(state, database.clock, Path())
    session = SimpleNamespace(
        nls={}, container=container, user=user, account=state.users[user], database=database, thread=1, number=42,
        statistics=Counter(), operation="load", on_standby=False, current_scn=123,
    )  # fmt: skip
    database.sessions = {42: session}
    database.statements = {"shop": {"SELECT 1 FROM dual": 2}}
    database.branches = {(1, b"global", b"branch"): Branch((1, b"global", b"branch"), container, is_prepared=True)}
    source = VIEWS[view]
    places = {column.name: place for place, column in enumerate(source.columns)}
    rows = list(source.rows(session, frozenset(columns)))
    assert all(len(row) == len(places) for row in rows)
    return [tuple(row[places[column]] for column in columns) for row in rows]


@pytest.mark.parametrize("view", sorted(name for name in VIEWS if not name.startswith(("V$LOGMNR", "V$SESSION", "GV$SESSION"))))
def test_every_row_has_a_value_for_each_column(view):
    for user, container in (("C##ALL", 1), ("SHOP", PDB)):
        select(view, user=user, container=container)


def test_a_current_log_has_no_end_yet():
    assert select("V$LOG", "SEQUENCE#", "STATUS", "NEXT_CHANGE#") == [(5, "INACTIVE", 100), (6, "CURRENT", 2**64 - 1)]


def test_each_destination_of_an_archived_log_is_a_row():
    assert select("V$ARCHIVED_LOG", "DEST_ID", "NAME", "STATUS", "DELETED") == [
        (1, "/a/1_5.arc", "A", "NO"),
        (2, None, "D", "YES"),
    ]


def test_a_thread_never_disabled_shows_zero():
    assert select("V$THREAD", "STATUS", "DISABLE_CHANGE#", "CHECKPOINT_CHANGE#") == [("OPEN", 0, 100)]


MINIMAL = {"off": (set(), "NO"), "on": ({"MIN"}, "YES"), "by keys": ({"PK"}, "IMPLICIT")}


@pytest.mark.parametrize(("logged", "shown"), MINIMAL.values(), ids=MINIMAL)
def test_minimal_logging_can_be_implicit(logged, shown):
    assert select("V$DATABASE", "SUPPLEMENTAL_LOG_DATA_MIN", state=database_state(supplemental=logged)) == [(shown,)]


def test_logging_of_the_pdb_is_shown_only_in_the_pdb():
    state, columns = database_state(supplemental={"MIN", "ALL"}, pdb_supplemental={"PK"}), ("PRIMARY_KEY", "ALL_COLUMN")

    assert select("DBA_SUPPLEMENTAL_LOGGING", *columns, state=state, user="SHOP", container=PDB) == [("YES", "NO")]
    assert select("DBA_SUPPLEMENTAL_LOGGING", *columns, state=state) == [("NO", "YES")]
    assert select("V$DATABASE", "SUPPLEMENTAL_LOG_DATA_PK", state=state) == [("NO",)]


def test_without_container_data_other_containers_are_missing():
    for view in ("GV$TRANSACTION", "CDB_TABLES", "V$PDBS"):
        assert [row for row in select(view, "CON_ID") if row[0] == PDB]
        assert not [row for row in select(view, "CON_ID", user="C##BLIND") if row[0] == PDB]


def test_control_file_views_are_visible_in_every_container():
    assert len(select("V$ARCHIVED_LOG", "NAME", user="SHOP", container=PDB)) == 2


def test_dba_views_show_the_current_container():
    assert select("DBA_TABLES", "TABLE_NAME", container=1) == []
    assert select("DBA_TABLES", "TABLE_NAME", container=PDB) == [("ORDERS",)]


READERS = {"owner": ("SHOP", 1), "granted": ("OTHER", 1), "without grants": ("NOBODY", 0)}


@pytest.mark.parametrize(("user", "count"), READERS.values(), ids=READERS)
def test_all_views_show_the_readable_tables(user, count):
    assert len(select("ALL_TABLES", "TABLE_NAME", user=user, container=PDB)) == count


def test_user_views_have_no_owner():
    assert "OWNER" not in {column.name for column in VIEWS["USER_TABLES"].columns}
    assert select("USER_TABLES", "TABLE_NAME", user="SHOP", container=PDB) == [("ORDERS",)]
    assert select("USER_TABLES", "TABLE_NAME", user="OTHER", container=PDB) == []


def test_columns_are_described_as_by_oracle():
    columns = (
        "COLUMN_NAME",
        "DATA_TYPE",
        "DATA_LENGTH",
        "CHAR_LENGTH",
        "CHAR_USED",
        "DATA_SCALE",
        "COLUMN_ID",
        "HIDDEN_COLUMN",
    )

    assert select("ALL_TAB_COLS", *columns, user="SHOP", container=PDB) == [
        ("ID", "NUMBER", 22, 0, None, 0, 1, "NO"),
        ("NAME", "VARCHAR2", 400, 100, "C", None, 2, "NO"),
        ("AT", "TIMESTAMP(3) WITH TIME ZONE", 13, 0, None, 3, 3, "NO"),
        ("SYS_NC00004$", "RAW", 8, 0, None, None, None, "YES"),
    ]
    assert len(select("ALL_TAB_COLUMNS", "COLUMN_NAME", user="SHOP", container=PDB)) == 3


def test_not_null_is_a_check_constraint_except_for_the_key():
    found = select("ALL_CONSTRAINTS", "CONSTRAINT_NAME", "CONSTRAINT_TYPE", "SEARCH_CONDITION", user="SHOP", container=PDB)

    assert found[0] == ("ORDERS_PK", "P", None)
    assert [(kind, text) for _, kind, text in found[1:]] == [("C", '"NAME" IS NOT NULL')]


def test_log_groups_show_their_kind():
    assert select("ALL_LOG_GROUPS", "LOG_GROUP_TYPE", "ALWAYS", user="SHOP", container=PDB) == [
        ("ALL COLUMN LOGGING", "ALWAYS")
    ]


def test_an_open_transaction_shows_its_start():
    assert select("V$TRANSACTION", "XID", "START_SCN", "START_TIME") == [
        (bytes.fromhex("0100020003000000"), 95, "02/28/26 13:45:59")
    ]


def test_privileges_and_roles_are_listed_separately():
    assert select("SESSION_PRIVS", "PRIVILEGE", user="SHOP", container=PDB) == [("CREATE SESSION",)]
    assert select("SESSION_ROLES", "ROLE", user="SHOP", container=PDB) == [("SELECT_CATALOG_ROLE",)]


def test_a_database_without_containers_has_no_pdb():
    state = database_state(is_cdb=False)

    assert select("V$PDBS", "NAME", state=state) == []
    assert select("V$DATABASE", "CDB", state=state) == [("NO",)]


def test_an_invalid_column_list_is_an_error():
    with pytest.raises(ValueError, match="not a column list"):
        columns_of("A NUMBER, B !!")


def test_indexes_of_keys_and_of_create_index_are_listed():
    assert select("ALL_INDEXES", "INDEX_NAME", "UNIQUENESS", user="SHOP", container=PDB) == [
        ("ORDERS_PK", "UNIQUE"),
        ("ORDERS_AT", "NONUNIQUE"),
    ]
    assert select("ALL_IND_COLUMNS", "INDEX_NAME", "COLUMN_NAME", "COLUMN_POSITION", user="SHOP", container=PDB) == [
        ("ORDERS_PK", "ID", 1),
        ("ORDERS_AT", "AT", 1),
        ("ORDERS_AT", "NAME", 2),
    ]
