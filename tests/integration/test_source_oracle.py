"""The Oracle adapter with the unmodified driver: settings, failures, facts, dictionary, snapshots, preflight."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from redolake.config.limits import Retry
from redolake.errors import SourceRefused, SourceUnavailable, Terminal, ValueDoesNotFit
from redolake.source.capture_findings import ConfiguredTable
from redolake.source.connection import ConnectParams
from redolake.source.dictionary import read_tables
from redolake.source.facts import (
    read_active_transactions,
    read_current_scn,
    read_database,
    read_encoding,
    read_redo_facts,
)
from redolake.source.handover import first_window_start, read_handover
from redolake.source.oracle import open_source
from redolake.source.preflight import preflight_findings
from redolake.source.probe import probe
from redolake.source.session import PINNED
from redolake.source.snapshot import read_snapshot
from redolake.values.redo import Encoding
from redolake.values.scn import Scn
from redolake.values.table import OracleType, TableId
from standin.engine.transactions import session_state
from standin.moment import Moment
from standin.serve import standin
from standin.tests.engine.engine_database import logon
from standin.tests.engine.engine_database import run as execute

PDB = "FREEPDB1"
ITEMS, KEYLESS = TableId("SHOP", "ITEMS"), TableId("SHOP", "KEYLESS")
LONG_NUMBER = "12345678901234567890123456789012345678"
ONCE = Retry(initial_seconds=0.01, max_seconds=0.01, attempts=1)
VIEWS = (
    "V_$DATABASE", "V_$DATABASE_INCARNATION", "V_$THREAD", "V_$LOG", "V_$ARCHIVED_LOG", "V_$LOG_HISTORY", "V_$INSTANCE",
    "V_$PARAMETER", "V_$PDBS", "V_$PDB_INCARNATION", "CDB_TABLES", "GV_$TRANSACTION", "CDB_2PC_PENDING",
    "V_$LOGMNR_CONTENTS", "V_$LOGMNR_LOGS", "V_$LOGMNR_PARAMETERS", "REDACTION_POLICIES", "V_$OPTION",
)  # fmt: skip
PRIVILEGES = (
    "CREATE SESSION", "SET CONTAINER", "LOGMINING", "EXECUTE ON DBMS_LOGMNR", *(f"SELECT ON {view}" for view in VIEWS),
)  # fmt: skip


@pytest.fixture(scope="module")
def oracle(tmp_path_factory):
    destinations = tuple(tmp_path_factory.mktemp(name) for name in ("one", "two"))
    with standin(threads=2, destinations=destinations) as running:
        run(
            running,
            "CREATE TABLE items (id NUMBER(10) PRIMARY KEY, n NUMBER, p NUMBER(12,2), name VARCHAR2(20), t TIMESTAMP(6))",
            "ALTER TABLE items ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            f"INSERT INTO items VALUES (1, {LONG_NUMBER}, 0.10, 'a', TIMESTAMP '2026-02-28 13:45:59.123456')",
            "INSERT INTO items VALUES (2, 0.1, -99.99, NULL, NULL)",
            "CREATE TABLE bare (x NUMBER, note CLOB)",
            "CREATE TABLE keyless (code VARCHAR2(9) NOT NULL UNIQUE, day DATE NOT NULL, n NUMBER(5), m NUMBER(5) NOT NULL)",
            "CREATE UNIQUE INDEX by_day ON keyless (m, day)",
            "CREATE UNIQUE INDEX by_n ON keyless (n)",
            "CREATE INDEX slow ON keyless (m)",
            "INSERT INTO keyless VALUES ('a', DATE '2026-01-01', NULL, 1)",
            "INSERT INTO keyless VALUES ('b', DATE '2026-01-01', NULL, 2)",
        )
        yield running


def run(oracle, *statements, user="SHOP"):
    with oracle.connect(user) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def params(oracle, **changes):
    values = {"user": oracle.capture_user, "password": oracle.passwords[oracle.capture_user], "dsn": oracle.root_dsn}
    return ConnectParams(**(values | changes))


@pytest.fixture
def source(oracle):
    with open_source(params(oracle), call_timeout_seconds=60, retry=ONCE) as opened:
        yield opened


def test_session_settings_also_hold_in_another_container(source):
    assert source.pin_session() == dict(PINNED)
    source.use_container(PDB)
    assert source.query("session_time_zone")[0].time_zone == "+00:00"


def test_each_session_compares_texts_byte_by_byte_whatever_the_database_is_set_to(oracle, monkeypatch):
    """Else a filter, a key or the limit of a chunk would take 'a' for 'A', or one session other rows than another."""
    monkeypatch.setitem(session_state.NLS_DEFAULTS, "NLS_COMP", "LINGUISTIC")
    monkeypatch.setitem(session_state.NLS_DEFAULTS, "NLS_SORT", "BINARY_CI")
    with open_source(params(oracle), retry=ONCE) as source:
        for container in (None, PDB):
            source.use_container(container)
            found = {row.parameter: row.value for row in source.query("session_settings")}
            assert (found["NLS_COMP"], found["NLS_SORT"]) == ("BINARY", "BINARY")


def test_a_statement_runs_in_root_and_pdb_without_a_cursor_crossing_containers(source):
    containers = [root_and_pdb(source) for _ in range(3)]

    assert containers == [("CDB$ROOT", PDB)] * 3


def root_and_pdb(source):
    found = []
    for name in (None, PDB):
        source.use_container(name)
        assert read_current_scn(source)
        found.append(source.query("current_container")[0].container)
    return tuple(found)


def pdb_dsn(oracle):
    return {"pdb_dsn": oracle.pdb_dsn}


@pytest.mark.parametrize("code", [1435, 24964, 65053, 65135])
def test_a_refused_switch_names_the_cure_and_the_service_of_the_pdb_does_without_it(oracle, code):
    oracle.faults.refuse_set_container(code)
    try:
        with open_source(params(oracle), retry=ONCE) as source, pytest.raises(SourceRefused) as refused:
            source.use_container(PDB)
        with open_source(params(oracle, **pdb_dsn(oracle)), retry=ONCE) as source:
            found = root_and_pdb(source)
            named = findings(source)
        with open_source(params(oracle), retry=ONCE) as source:
            unnamed = findings(source)
    finally:
        oracle.faults.allow_set_container()

    assert (refused.value.ora_code, "`pdb_service`" in refused.value.cure) == (code, True)
    assert found == ("CDB$ROOT", PDB)
    assert named == []
    assert [f.cure for f in unnamed] == [refused.value.cure]


def test_a_service_of_another_container_is_refused(oracle):
    with open_source(params(oracle, pdb_dsn=oracle.root_dsn), retry=ONCE) as source, pytest.raises(SourceRefused) as caught:
        source.use_container(PDB)
    with pytest.raises(SourceRefused, match=f"leads to the PDB {PDB}; redo is mined in the root"):
        open_source(params(oracle, dsn=oracle.pdb_dsn), retry=ONCE)

    assert f"leads to CDB$ROOT, and the pipeline's container is {PDB}" in caught.value.what
    assert "pdb_service" in caught.value.cure


@pytest.mark.parametrize("by_service", [False, True], ids=["one switch", "its own service"])
def test_a_chunk_of_a_snapshot_opens_one_connection_only(oracle, by_service):
    changes = pdb_dsn(oracle) if by_service else {}
    with open_source(params(oracle, **changes), container=PDB, retry=ONCE) as source:
        rows = snapshot(source, read_current_scn(source))
        users = [session.user for session in oracle.database.sessions.values()]

    assert rows.num_rows == 2
    assert users.count(oracle.capture_user) == 1


def test_a_user_name_in_lower_case_may_switch_where_oracle_compares_it_as_typed():
    with standin(switches_by_typed_name=True) as oracle:
        user = params(oracle, user=oracle.capture_user.lower(), password=oracle.passwords[oracle.capture_user])
        with open_source(user, container=PDB, retry=ONCE) as source:
            assert source.query("current_container")[0].container == PDB


def test_a_container_is_named_as_every_release_understands_it():
    with standin(refuses_quoted_containers=True) as oracle, open_source(params(oracle), retry=ONCE) as source:
        assert root_and_pdb(source) == ("CDB$ROOT", PDB)


def test_parameters_of_the_driver_reach_the_connection(oracle):
    with open_source(params(oracle, extra={"stmtcachesize": 7}), retry=ONCE) as source:
        assert source._session._connection.stmtcachesize == 7


def test_a_wrong_password_is_refused_without_a_retry(oracle):
    tries = Retry(initial_seconds=60, max_seconds=60, attempts=5)  # a second try would outlast the test

    with pytest.raises(SourceRefused) as caught:
        open_source(params(oracle, password="wrong"), retry=tries)
    assert caught.value.ora_code == 1017
    assert "password" in caught.value.cure
    assert "wrong" not in str(caught.value)


def test_an_unknown_service_is_reported_with_a_cure(oracle):
    dsn = oracle.root_dsn.rpartition("/")[0] + "/NOPE"

    with pytest.raises(SourceUnavailable) as caught:
        open_source(params(oracle, dsn=dsn), retry=ONCE)
    assert caught.value.ora_code == 12514
    assert "service" in caught.value.cure


def test_a_host_that_does_not_answer_is_asked_again_and_each_pause_is_logged(oracle, monkeypatch, caplog):
    tried = []
    monkeypatch.setattr("redolake.source.oracle.OracleSession", lambda *_, **__: tried.append(1) or fail())

    def fail():
        raise SourceUnavailable("DPY-6005")

    with pytest.raises(SourceUnavailable):
        open_source(params(oracle), retry=Retry(initial_seconds=0.001, max_seconds=0.001, attempts=3))
    assert len(tried) == 3
    assert caplog.messages == [f"attempt {n} of 3 in 0.001 s, after DPY-6005" for n in (2, 3)]


def test_an_error_contains_the_statement_name_and_the_ora_number(source):
    with pytest.raises(Terminal) as caught:
        source.call("start_logmnr")
    assert caught.value.where["doing"] == "start_logmnr"
    assert caught.value.ora_code == 1292


def test_a_log_lists_its_copies_in_every_destination(oracle, source):
    run(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT", user="SYS")

    facts = read_redo_facts(source)

    assert {log.thread for log in facts.archived} == {1, 2}
    assert all([copy.dest_id for copy in log.claimed] == [1, 2] for log in facts.archived)
    assert all(Path(copy.name).exists() for log in facts.archived for copy in log.copies)
    assert all(log.next_scn is not None and log.next_scn <= facts.current_scn for log in facts.archived)
    assert len([log for log in facts.online if log.next_scn is None]) == 2
    assert [thread.is_open for thread in facts.threads] == [True, True]


def test_a_plan_reads_only_the_logs_since_its_position_and_the_newest_before(oracle, source):
    for _ in range(3):
        run(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT", user="SYS")
    everything = read_redo_facts(source)
    ends = sorted(log.next_scn for log in everything.archived if log.thread == 1)
    position = ends[-2]

    facts = read_redo_facts(source, position)

    newest_ended = {
        thread: max(log.sequence for log in everything.archived if log.thread == thread and log.next_scn <= position)
        for thread in (1, 2)
    }
    for few, all_rows in ((facts.archived, everything.archived), (facts.history, everything.history)):
        expected = [row for row in all_rows if row.next_scn > position or row.sequence == newest_ended[row.thread]]
        assert sorted(few, key=str) == sorted(expected, key=str)
        assert len(few) < len(all_rows)


def test_database_facts_are_read(source):
    facts = read_database(source)

    assert (facts.log_mode, facts.supplemental_min, facts.is_cdb, facts.role) == ("ARCHIVELOG", "YES", True, "PRIMARY")
    assert read_encoding(source, PDB) == Encoding("AL32UTF8", "AL16UTF16", "+00:00")


def test_redo_starts_before_the_oldest_open_transaction(oracle, source):
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE items SET name = 'open' WHERE id = 2")
        run(oracle, "UPDATE items SET name = 'b' WHERE id = 1")

        handover = read_handover(source, None)

        assert [t.start_scn for t in handover.open] == [handover.start_scn]
        assert handover.start_scn < handover.scn_before <= handover.snapshot_scn
        assert first_window_start(read_redo_facts(source), handover.start_scn) <= handover.start_scn
        connection.rollback()
    assert read_active_transactions(source) == ((), ())


def test_comments_of_tables_and_columns_are_read(oracle, source):
    run(oracle, "COMMENT ON TABLE bare IS 'it''s all here'", "COMMENT ON COLUMN bare.x IS 'a number'")
    bare = TableId("SHOP", "BARE")

    table = read_tables(source, [bare], PDB)[bare]

    assert (table.comment, [column.comment for column in table.columns]) == ("it's all here", ["a number", ""])


def test_the_dictionary_is_read_in_the_container_of_the_tables(source):
    tables = read_tables(source, [ITEMS, TableId("SHOP", "NOT_THERE")], PDB)

    assert list(tables) == [ITEMS]
    table = tables[ITEMS]
    assert [(c.name, c.type, c.nullable) for c in table.columns[:3]] == [
        ("ID", OracleType("NUMBER", precision=10, scale=0), False),
        ("N", OracleType("NUMBER"), True),
        ("P", OracleType("NUMBER", precision=12, scale=2), True),
    ]
    assert (table.key, table.log_groups) == (("ID",), frozenset({"ALL COLUMN LOGGING"}))
    assert table.scn_before <= table.scn_after


def snapshot(source, scn):
    table = read_tables(source, [ITEMS], PDB)[ITEMS]
    frames = [pa.table(frame) for frame in read_snapshot(source, table, scn, 1, container=PDB, ordered=True)]
    return pa.concat_tables(frames)


def test_a_snapshot_loses_no_digit(source):
    rows = snapshot(source, read_current_scn(source))

    assert rows["N"].to_pylist() == [LONG_NUMBER, ".1"]
    assert rows["P"].to_pylist() == [Decimal("0.10"), Decimal("-99.99")]
    assert rows["T"].to_pylist()[0].microsecond == 123456
    assert rows.schema.field("P").type == pa.decimal128(12, 2)


def test_json_texts_are_read_as_they_are(oracle, source):
    """The driver makes objects of a column with IS JSON, where a text could lose digits and the order of keys."""
    run(oracle, "CREATE TABLE papers (v VARCHAR2(90) CHECK (v IS JSON), c CLOB CHECK (c IS JSON), b BLOB CHECK (b IS JSON))")
    text = '{"b": 1.10,  "a":12345678901234567890.123456789, "b": null}'
    run(oracle, f"INSERT INTO papers VALUES ('{text}', '{text}', UTL_RAW.CAST_TO_RAW('{text}'))")
    papers, scn = TableId("SHOP", "PAPERS"), read_current_scn(source)
    table = read_tables(source, [papers], PDB)[papers]

    (frame,) = map(pa.table, read_snapshot(source, table, scn, 100, container=PDB))
    assert frame.select(["V", "C", "B"]).to_pylist() == [{"V": text, "C": text, "B": text.encode()}]


def test_a_date_before_christ_is_a_typed_error_and_readable_as_text(oracle, source):
    run(oracle, "CREATE TABLE old (id NUMBER(10) PRIMARY KEY, d DATE, t TIMESTAMP(3))")
    run(oracle, "INSERT INTO old VALUES (1, TO_DATE('-4712-01-01', 'SYYYY-MM-DD'), TIMESTAMP '2026-01-01 00:00:00.5')")
    old, scn = TableId("SHOP", "OLD"), read_current_scn(source)
    table = read_tables(source, [old], PDB)[old]

    with pytest.raises(ValueDoesNotFit, match="year"):
        list(read_snapshot(source, table, scn, 100, container=PDB))
    rows = pa.concat_tables([pa.table(f) for f in read_snapshot(source, table, scn, 100, container=PDB, dates_as_text="all")])

    assert (rows["D"].to_pylist(), rows["T"].to_pylist()) == (["-4712-01-01 00:00:00"], [" 2026-01-01 00:00:00.500"])


@pytest.mark.parametrize("bytes_of", [Moment(2026, 1, 1, 24), Moment(2026, 13, 1), Moment(2026, 2, 29), Moment(0, 1, 1)])
def test_bytes_that_are_no_date_are_a_typed_error_and_readable_as_text(oracle, source, bytes_of):
    """Oracle does not check the bytes that a client binds as a DATE."""
    name = f"ODD_{bytes_of.year}_{bytes_of.month}_{bytes_of.day}_{bytes_of.hour}"
    run(oracle, f"CREATE TABLE {name} (d DATE)")
    client = logon(oracle.database)
    execute(client, f"INSERT INTO {name} VALUES (:1)", bytes_of)
    execute(client, "COMMIT")
    odd, scn = TableId("SHOP", name), read_current_scn(source)
    table = read_tables(source, [odd], PDB)[odd]

    with pytest.raises(ValueDoesNotFit):
        list(read_snapshot(source, table, scn, 100, container=PDB))
    (frame,) = map(pa.table, read_snapshot(source, table, scn, 100, container=PDB, dates_as_text="all"))
    assert frame["D"].to_pylist() == [" 0000-00-00 00:00:00"]


def test_a_snapshot_shows_the_rows_as_of_its_scn(oracle, source):
    before = read_current_scn(source)
    run(oracle, "INSERT INTO items (id) VALUES (3)")
    after = read_current_scn(source)

    assert (snapshot(source, before).num_rows, snapshot(source, after).num_rows) == (2, 3)
    run(oracle, "DELETE FROM items WHERE id = 3")


def test_unique_indexes_of_a_table_without_a_primary_key_are_read(source):
    table = read_tables(source, [KEYLESS], PDB)[KEYLESS]

    assert table.key == ()
    assert {index.columns for index in table.unique} == {("CODE",), ("M", "DAY"), ("N",)}
    assert {index.columns for index in table.key_candidates} == {("CODE",), ("M", "DAY"), ("N",)}
    assert len({index.object_id for index in table.unique} - {None}) == 3


def test_a_snapshot_reads_rowids_as_of_its_scn(oracle, source):
    table, scn = read_tables(source, [KEYLESS], PDB)[KEYLESS], read_current_scn(source)
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT ROWIDTOCHAR(ROWID), code FROM keyless")
        codes = {rowid: code for rowid, code in cursor}
        cursor.execute("DELETE FROM keyless")
        rows = pa.concat_tables([pa.table(f) for f in read_snapshot(source, table, scn, 100, container=PDB, rowid=True)])
        connection.rollback()

    assert dict(zip(rows["_rowid"].to_pylist(), rows["CODE"].to_pylist(), strict=True)) == codes
    assert len(codes) == 2


def supported(kind, rule, large_objects):
    return "is not captured" if kind.name == "CLOB" else None


def findings(source, *tables, container=PDB):
    ids = tables or (ITEMS,)
    found = preflight_findings(probe(source, container, ids), tuple(ConfiguredTable(t) for t in ids), supported)
    return [f for f in found if f.severity == "error"]


def test_a_user_set_up_by_the_grants_script_passes_preflight(source):
    assert findings(source) == []


def test_preflight_reports_every_problem_of_the_tables_at_once(source):
    found = findings(source, TableId("SHOP", "BARE"), TableId("SHOP", "ITEMZ"))

    text = " ".join(f"{f.subject} {f.what} {f.cure}" for f in found)
    for part in ("no enabled primary key", "(ALL) COLUMNS", "SHOP.BARE.NOTE CLOB", "did you mean SHOP.ITEMS?"):
        assert part in text


def limited_user(oracle, name, *grants):
    """Create a common user with only these privileges."""
    run(
        oracle,
        f"CREATE USER {name} IDENTIFIED BY pw CONTAINER = ALL",
        *(f"GRANT {g} TO {name} CONTAINER = ALL" for g in grants),
        user="SYS",
    )
    return params(oracle, user=name, password="pw")


def test_every_missing_privilege_is_a_finding_with_its_grant(oracle):
    have = ("CREATE SESSION", "SET CONTAINER", "SELECT ON V_$DATABASE", "SELECT ON V_$LOG")

    with open_source(limited_user(oracle, "C##POOR", *have), retry=ONCE) as source:
        cures = " ".join(f.cure for f in findings(source))

    for right in ("V_$ARCHIVED_LOG", "V_$THREAD", "V_$LOG_HISTORY", "GV_$TRANSACTION", "V_$LOGMNR_CONTENTS"):
        assert f"GRANT SELECT ON SYS.{right} TO C##POOR" in cures
    assert "GRANT EXECUTE ON SYS.DBMS_LOGMNR TO C##POOR" in cures
    assert "GRANT LOGMINING TO C##POOR" in cures
    assert "V_$DATABASE TO" not in cures


def test_missing_container_data_is_reported_although_no_statement_fails(oracle):
    with open_source(limited_user(oracle, "C##BLIND", *PRIVILEGES), retry=ONCE) as source:
        cures = " ".join(f.cure for f in findings(source))

    assert "SET CONTAINER_DATA = ALL" in cures


@pytest.mark.parametrize("number", range(len(VIEWS)), ids=VIEWS)
def test_an_unreadable_view_is_a_finding_with_its_grant(oracle, number):
    name, view = f"C##LACKS{number}", VIEWS[number]
    have = [right for right in PRIVILEGES if right != f"SELECT ON {view}"]
    user = limited_user(oracle, name, *have, "SELECT ANY TABLE", "FLASHBACK ANY TABLE")
    run(oracle, f"ALTER USER {name} SET CONTAINER_DATA = ALL CONTAINER = CURRENT", user="SYS")

    with open_source(user, retry=ONCE) as source:
        cures = {f.cure for f in findings(source)}

    assert any(f"GRANT SELECT ON SYS.{view} TO {name}" in cure for cure in cures), cures


def test_a_missing_flashback_privilege_is_a_finding_with_its_grant(oracle):
    user = limited_user(oracle, "C##PRESENT", *PRIVILEGES, "SELECT ANY TABLE")
    run(oracle, "ALTER USER C##PRESENT SET CONTAINER_DATA = ALL CONTAINER = CURRENT", user="SYS")

    with open_source(user, retry=ONCE) as source:
        found = findings(source)

    assert [(f.subject, f.cure) for f in found] == [("SHOP.ITEMS", 'GRANT SELECT, FLASHBACK ON "SHOP"."ITEMS" TO C##PRESENT')]


def test_every_destination_of_each_threads_newest_log_is_opened(oracle, source):
    run(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT", user="SYS")
    facts = read_redo_facts(source)
    copies = {(log.thread, copy.dest_id): Path(copy.name) for log in facts.archived for copy in log.claimed}
    hidden = copies[2, 1].rename(f"{copies[2, 1]}.hidden")
    try:
        found = preflight_findings(probe(source, PDB, [ITEMS]), (ConfiguredTable(ITEMS),), supported)
    finally:
        hidden.rename(copies[2, 1])

    (about,) = [f for f in found if f.subject.startswith("redo thread")]
    assert (about.subject, about.severity) == ("redo thread 2", "warning")
    assert "destination 1: this instance cannot open archived log" in about.what
    assert str(copies[2, 1]) in about.what


def test_a_missing_logmining_privilege_is_found_although_package_and_view_are_granted(oracle):
    rights = ("V_$DATABASE", "V_$LOGMNR_CONTENTS", "V_$LOGMNR_LOGS")
    have = ("CREATE SESSION", "EXECUTE ON DBMS_LOGMNR", *(f"SELECT ON {view}" for view in rights))

    with open_source(limited_user(oracle, "C##IDLE", *have), retry=ONCE) as source:
        found = {f.subject: f.cure for f in findings(source)}

    assert found["statement start_logmnr"].endswith("GRANT LOGMINING TO C##IDLE")


def test_an_unknown_container_is_reported(source):
    assert [f.cure for f in findings(source, container="PDB9")][:1] == [f"correct `container`: one of {PDB}"]


def test_an_identifier_with_a_quote_never_reaches_the_database(source):
    with pytest.raises(SourceRefused, match="not an Oracle identifier"):
        source.use_container('X" --')


def test_scns_are_whole_numbers(source):
    assert type(read_current_scn(source)) is int
    assert read_current_scn(source) > Scn(2_000_000)
