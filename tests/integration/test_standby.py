"""A pipeline that reads a physical standby: what the primary is asked for, which SCNs are waited for, and changed roles."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import replace
from functools import partial

import oracledb
import pyarrow as pa
import pytest

from redolake.config.limits import Retry
from redolake.context import Run
from redolake.errors import NoDictionaryInRedo, RedolakeError, SnapshotTooEarly, SourceBusy, SourceRefused, SourceUnavailable
from redolake.host.statements import statement
from redolake.source import (
    ConnectParams,
    first_window_start,
    open_source,
    read_handover,
    read_redo_facts,
    read_snapshot,
    read_tables,
)
from redolake.source import oracle as oracle_source
from redolake.source.handover import oldest_kept_scn
from redolake.source.runway_facts import read_snapshot_position
from redolake.source.scratch import ScratchSchema
from redolake.source.setup_sql import Flavour, SetupChoices, setup_sql
from redolake.source.standby import check_partner, standby_findings
from redolake.steps.checks.doctor import dictionary_findings
from redolake.steps.run import take_snapshot
from redolake.steps.selftest import run_selftest
from redolake.values.scn import Scn
from redolake.values.table import TableId
from standin.serve import standin
from standin.sqlplus import run_script
from tests.fixtures.shop import Shop

PDB = "FREEPDB1"
T = TableId("SHOP", "T")
ASKED = (
    "compare_bytes", "current_container", "instances", "visible_containers", "active_transactions", "prepared_transactions",
)  # fmt: skip
ASKS = "C##ASKS"


def write(oracle, *statements, user="SHOP", **options):
    with oracle.connect(user, **options) as connection, connection.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)
        connection.commit()


@pytest.fixture
def oracle():
    with standin(threads=2, background=False) as running:
        write(running, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)", "INSERT INTO t VALUES (1, 1)")
        write(running, "ALTER SYSTEM ARCHIVE LOG CURRENT", user="SYS")
        ask_alone(running)
        yield running


def ask_alone(oracle):
    """Create the user that `setup-sql --primary` gives."""
    script = setup_sql(SetupChoices(Flavour.cdb, ASKS, prompts=False, primary=True))
    with oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as connection, connection.cursor() as cursor:
        done = run_script(script.replace("&password", "asks"), cursor.execute)
    assert not done.errors


def params(oracle, primary=True):
    own = ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.standby_root_dsn)
    return replace(own, primary=ConnectParams(ASKS, "asks", oracle.root_dsn)) if primary else own


def opened(oracle, seconds=60, **choices):
    return open_source(params(oracle, **choices), call_timeout_seconds=seconds, retry=Retry(attempts=1))


def rows(source, scn):
    table = read_tables(source, [T], PDB)[T]
    frames = [pa.table(frame) for frame in read_snapshot(source, table, scn, 100, container=PDB, ordered=True)]
    return [(int(row["ID"]), int(row["N"])) for row in pa.concat_tables(frames).to_pylist()]


def test_the_primary_is_asked_for_nothing_but_what_the_standby_hides(oracle):
    counted = oracle.count_statements()
    with oracle.connect("SHOP") as writer, writer.cursor() as cursor:
        cursor.execute("UPDATE t SET n = 2 WHERE id = 1")
        counted.clear()
        with opened(oracle) as source:
            handover = read_handover(source, PDB)
            found = rows(source, handover.snapshot_scn)
            begin = first_window_start(read_redo_facts(source), handover.start_scn)
    assert [t.start_scn for t in handover.open] == [handover.start_scn]
    assert handover.start_scn < handover.scn_before <= handover.snapshot_scn
    assert begin < handover.start_scn
    assert found == [(1, 1)]
    expected = {statement(name): 2 if name == "instances" else 1 for name in ASKED}
    assert dict(counted["FREE"]) == expected
    assert not {"FREEPDB1"} & counted.keys()


def test_without_a_primary_redo_is_read_from_the_oldest_log_that_every_thread_has(oracle):
    for _ in range(3):
        write(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT", user="SYS")
    counted = oracle.count_statements()
    with oracle.connect("SHOP") as writer, writer.cursor() as cursor, opened(oracle, primary=False) as source:
        cursor.execute("UPDATE t SET n = 2 WHERE id = 1")
        counted.clear()
        handover, facts = read_handover(source, PDB), read_redo_facts(source)
        assert rows(source, handover.snapshot_scn) == [(1, 1)]
        position, _ = read_snapshot_position(source, PDB)
    assert (handover.open, handover.is_listed) == ((), False)
    assert position.scn == oldest_kept_scn(facts) == min(log.first_scn for log in facts.archived)
    assert not {"FREE", "FREEPDB1"} & counted.keys()


def pausing(monkeypatch, *actions):
    """Run an action at each pause of a wait, and nothing after the last."""
    left = list(actions)
    paused = []

    def pause(seconds):
        paused.append(seconds)
        if left:
            left.pop(0)()

    monkeypatch.setattr(oracle_source, "sleep", pause)
    return paused


@pytest.mark.parametrize("reads", ["refused", "older"])
def test_an_scn_that_is_not_applied_is_waited_for(monkeypatch, reads):
    with standin(background=False, unapplied_reads=reads) as oracle:
        write(oracle, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)", "INSERT INTO t VALUES (1, 1)")
        ask_alone(oracle)
        oracle.faults.stop_apply()
        write(oracle, "UPDATE t SET n = 2")
        paused = pausing(monkeypatch, lambda: None, oracle.faults.start_apply)
        with opened(oracle) as source:
            handover = read_handover(source, PDB)
            assert rows(source, handover.snapshot_scn) == [(1, 2)]
    assert len(paused) == 2


def test_an_scn_that_is_never_applied_ends_with_what_is_behind(oracle, monkeypatch):
    oracle.faults.stop_apply()
    write(oracle, "UPDATE t SET n = 2")
    pausing(monkeypatch)
    said: list[str] = []
    with open_source(params(oracle), retry=Retry(attempts=1), report=said.append) as source:
        monkeypatch.setattr(source, "_call_timeout_seconds", 0.05)  # of the wait, and not of this session's statements
        with pytest.raises(SourceBusy, match="has applied redo up to SCN") as caught:
            source.reach(10**9)
    assert "waiting up to 0 s: the standby has applied redo up to SCN" in said[0]
    assert "redo apply is not running: it is READ ONLY" in caught.value.what
    assert "V$DATAGUARD_STATS" in caught.value.cure


def test_each_connection_waits_for_its_own_instance(oracle, monkeypatch):
    """The instances of a standby may be some SCNs apart, and each connection may lead to another one."""
    paused = pausing(monkeypatch)
    applied = {None: iter([10, 20]), PDB: iter([15, 20])}
    with opened(oracle) as source:
        for container, scns in applied.items():
            source.use_container(container)
            row = partial(Applied, database_role="PHYSICAL STANDBY", open_mode="READ ONLY WITH APPLY")
            monkeypatch.setattr(source._session, "query", lambda name, scns=scns, row=row: [row(next(scns))])
        for container in (None, PDB, None, PDB):
            source.use_container(container)
            source.reach(20)
    assert len(paused) == 2


def test_every_read_as_of_an_scn_waits(oracle, monkeypatch):
    """Rows, sums of buckets, probes and the time of an SCN."""
    oracle.faults.stop_apply()
    write(oracle, "UPDATE t SET n = 2")
    with oracle.connect(oracle.capture_user) as connection, connection.cursor() as cursor:
        ((scn,),) = cursor.execute("SELECT current_scn FROM v$database").fetchall()
    as_of = "SELECT n FROM shop.t AS OF SCN :scn"
    reads = {
        "arrow": lambda source: list(source.arrow(as_of, {"scn": scn}, 10, name="rows")),
        "text": lambda source: source.query_text(as_of, {"scn": scn}, "rows"),
        "named": lambda source: source.query("time_of_scn", scn=scn),
    }
    for read in reads.values():
        oracle.faults.stop_apply()
        write(oracle, "UPDATE t SET n = n + 1")
        scn = oracle.database.clock.scn
        paused = pausing(monkeypatch, oracle.faults.start_apply)
        with opened(oracle) as source:
            source.use_container(PDB)
            assert read(source)
            assert len(paused) == 1
            read(source)
            assert len(paused) == 1


def test_a_transaction_that_commits_while_the_standby_lags_is_not_before_the_snapshot(oracle, monkeypatch):
    """Its rows are in neither the snapshot nor in redo before its start: the start is that which the primary showed."""
    writer = oracle.connect("SHOP")
    with writer.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (2, 2)")
    oracle.faults.lag_apply(200)
    pausing(monkeypatch, writer.commit, oracle.faults.catch_up_apply)
    with opened(oracle) as source:
        handover = read_handover(source, PDB)
        assert rows(source, handover.snapshot_scn) == [(1, 1)]
    assert handover.start_scn == handover.open[0].start_scn


def test_the_first_window_begins_before_a_log_that_has_not_arrived(oracle):
    """The primary's current log contains the oldest transaction; the standby has older logs alone."""
    with oracle.connect("SHOP") as writer, writer.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (3, 3)")
        with opened(oracle) as source:
            handover, facts = read_handover(source, PDB), read_redo_facts(source)
        assert all(log.next_scn <= handover.start_scn for log in facts.archived)
        assert first_window_start(facts, handover.start_scn) == min(log.first_scn for log in facts.archived)


@pytest.mark.parametrize("primary", [True, False])
def test_a_current_scn_that_is_ahead_of_what_queries_see_reads_no_older_rows_without_a_word(monkeypatch, primary):
    """Where a standby refuses such an SCN. Older rows would not be noticed: docs/verified-on.md asks."""
    with standin(background=False, unapplied_reads="refused", standby_scn_ahead=1000) as oracle:
        write(oracle, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)", "INSERT INTO t VALUES (1, 1)")
        ask_alone(oracle)
        oracle.faults.stop_apply()
        write(oracle, "UPDATE t SET n = 2")
        pausing(monkeypatch)
        with opened(oracle, primary=primary) as source:
            handover = read_handover(source, PDB)
            with pytest.raises(RedolakeError, match="ORA-08181"):
                rows(source, handover.snapshot_scn)
        oracle.faults.start_apply()
        oracle.faults.catch_up_apply()


def test_after_a_switchover_the_same_connections_go_on(oracle):
    oracle.faults.switch_over()
    counted = oracle.count_statements()
    with oracle.connect("SHOP", dsn=oracle.standby_pdb_dsn) as writer, writer.cursor() as cursor:
        cursor.execute("UPDATE t SET n = 9")
        with opened(oracle) as source:
            handover = read_handover(source, PDB)
        assert len(handover.open) == 1
    assert counted["FREE"].keys() <= set(map(statement, ASKED[:3]))  # the new standby says that it is one
    oracle.faults.switch_over()
    with opened(oracle) as source:
        assert read_handover(source, PDB).open == ()


def test_after_a_failover_the_lost_primary_is_not_needed(oracle):
    oracle.faults.fail_over(moves=True)
    with opened(oracle) as source:
        handover = read_handover(source, PDB)
        assert rows(source, handover.snapshot_scn) == [(1, 1)]


def test_a_failover_while_the_standby_is_waited_for_gives_no_snapshot(oracle, monkeypatch):
    """The SCN would be one of another branch."""
    oracle.faults.stop_apply()
    write(oracle, "UPDATE t SET n = 2")
    pausing(monkeypatch, lambda: oracle.faults.fail_over(moves=True))
    with opened(oracle, seconds=5) as source, pytest.raises(SourceUnavailable):
        read_handover(source, PDB)


@pytest.mark.parametrize("kind", ["one PDB", "no containers"])
def test_so_does_a_pdb_without_its_root_and_a_database_without_containers(kind):
    with standin(background=False, is_cdb=kind == "one PDB") as oracle:
        write(oracle, "CREATE TABLE t (id NUMBER PRIMARY KEY, n NUMBER)", "INSERT INTO t VALUES (1, 1)")
        ours = ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.standby_pdb_dsn)
        ours = replace(ours, pdb_only=kind == "one PDB")
        with oracle.connect("SHOP") as writer, writer.cursor() as cursor:
            cursor.execute("UPDATE t SET n = 2")
            own = replace(ours, primary=replace(ours, dsn=oracle.pdb_dsn))
            with open_source(own, retry=Retry(attempts=1)) as source:
                handover = read_handover(source, PDB if kind == "one PDB" else None)
        assert len(handover.open) == 1


@pytest.mark.parametrize("leads_to", ["another PDB", "a root that shows no PDB"])
def test_a_primary_that_hides_the_pdbs_transactions_gives_no_snapshot(oracle, leads_to):
    """V$TRANSACTION has no row of such a PDB there, and raises no error."""
    own, container = params(oracle), PDB
    if leads_to == "another PDB":
        user = oracle.capture_user
        own, container = (
            replace(own, primary=ConnectParams(user, oracle.passwords[user], oracle.pdb_dsn, pdb_only=True)),
            "PDB2",
        )
    else:
        write(oracle, "CREATE USER c##blind IDENTIFIED BY asks CONTAINER = ALL", user="SYS", mode=oracledb.AUTH_MODE_SYSDBA)
        views = ("GV_$DATABASE", "GV_$TRANSACTION", "CDB_2PC_PENDING", "V_$PDBS")
        grants = [f"GRANT SELECT ON SYS.{view} TO c##blind" for view in views]
        write(oracle, "GRANT CREATE SESSION TO c##blind", *grants, user="SYS", mode=oracledb.AUTH_MODE_SYSDBA)
        own = replace(own, primary=replace(own.primary, user="C##BLIND"))
    with oracle.connect("SHOP") as writer, writer.cursor() as cursor:
        cursor.execute("UPDATE t SET n = 2")
        with open_source(own, retry=Retry(attempts=1)) as source:
            with pytest.raises(SourceRefused, match=f"shows no transaction of {container}"):
                read_handover(source, container)
            with pytest.raises(SourceRefused, match=f"shows no transaction of {container}"):
                read_snapshot_position(source, container)
            (finding,) = [one for one in standby_findings(source, container, Scn(1)) if one.subject == "primary"]
            assert (finding.severity, f"shows no transaction of {container}" in finding.what) == ("error", True)


def test_what_a_standby_cannot_write_is_refused_with_the_primary_as_its_place(oracle, tmp_path):
    there = ConnectParams("SHOP", oracle.passwords["SHOP"], oracle.standby_pdb_dsn)
    with ScratchSchema(there) as schema, pytest.raises(SourceRefused, match="ORA-16000") as caught:
        schema.run(["CREATE TABLE u (id NUMBER)"])
    assert "run the statement on the primary" in caught.value.cure
    pipeline = Shop(oracle, tmp_path).pipeline(tables=["SHOP.T"])
    on_primary = replace(there, dsn=oracle.pdb_dsn)
    with pytest.raises(SourceRefused, match="the self-test creates tables"):
        run_selftest(Run(pipeline, params(oracle), "no Spark"), on_primary)


def test_a_dictionary_in_the_redo_is_refused_on_a_standby(oracle, tmp_path):
    source = {"connection": "oracle_shop", "container": PDB, "dictionary": "redo"}
    pipeline = Shop(oracle, tmp_path).pipeline(tables=["SHOP.T"], source=source)
    with opened(oracle) as standby:
        (finding,) = dictionary_findings(pipeline, standby, read_redo_facts(standby))
    assert (finding.severity, "ORA-01300" in finding.what) == ("error", True)
    assert "DBMS_LOGMNR_D.BUILD" in finding.cure
    write(oracle, "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS")
    with pytest.raises(NoDictionaryInRedo, match="ORA-01300"):  # before anything is written
        take_snapshot(pipeline, source=params(oracle), spark="no Spark")


def said(source):
    return {(finding.subject, finding.severity): finding.what for finding in standby_findings(source, PDB, Scn(1))}


def test_doctor_says_which_facts_come_from_where(oracle):
    counted = oracle.count_statements()
    with opened(oracle) as source:
        found = said(source)
    assert "open transactions and current SCNs, when a snapshot begins, on FREE, whose 2" in found["database FREE_STBY", "note"]
    assert "apply lag +00 00:00:00, transport lag +00" in found["lag of the standby", "note"]
    assert counted["FREE"].keys() == set(map(statement, ASKED))
    with opened(oracle, primary=False) as source:
        assert "no primary is named" in said(source)["database FREE_STBY", "note"]
    oracle.faults.switch_over()
    with opened(oracle) as source:
        assert "is the primary now" in said(source)["database FREE_STBY", "note"]


def test_doctor_says_what_a_wrong_or_lost_primary_is_needed_for(oracle):
    own = params(oracle)
    with open_source(replace(own, primary=replace(own.primary, dsn=own.dsn)), retry=Retry(attempts=1)) as source:
        assert "which is a PHYSICAL STANDBY" in said(source)["primary", "error"]
    unknown = replace(own, primary=replace(own.primary, dsn=own.primary.dsn.replace("/FREE", "/NOWHERE")))
    with open_source(unknown, retry=Retry(attempts=1)) as source:
        assert "Only snapshots need it" in said(source)["primary", "warning"]


def test_a_runway_before_the_first_snapshot_counts_the_primarys_open_transactions(oracle):
    with oracle.connect("SHOP") as writer, writer.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (3, 3)")
        write(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT", "ALTER SYSTEM ARCHIVE LOG CURRENT", user="SYS")
        with opened(oracle) as source:
            position, facts = read_snapshot_position(source, PDB)
        held = [log for log in facts.archived if log.first_scn <= position.scn < log.next_scn]
        assert {log.sequence for log in held} <= {1, 2}


Applied = namedtuple("Applied", "current_scn database_role open_mode")
Row = namedtuple("Row", "inst_id dbid db_unique_name database_role open_mode resetlogs_scn", defaults=(1,))
STANDBY = Row(1, 7, "STBY", "PHYSICAL STANDBY", "READ ONLY WITH APPLY", 1)
PRIMARY = Row(1, 7, "PROD", "PRIMARY", "READ WRITE", 1)


@pytest.mark.parametrize(
    ("here", "there", "says"),
    [
        (STANDBY, PRIMARY._replace(dbid=8), "another database"),
        (STANDBY, PRIMARY._replace(database_role="PHYSICAL STANDBY", db_unique_name="OTHER"), "a PHYSICAL STANDBY"),
        (STANDBY, PRIMARY._replace(database_role="SNAPSHOT STANDBY"), "a SNAPSHOT STANDBY"),
        (STANDBY, PRIMARY._replace(database_role="FAR SYNC"), "a FAR SYNC"),
        (STANDBY, PRIMARY._replace(open_mode="MOUNTED"), "is MOUNTED"),
        (STANDBY, PRIMARY._replace(open_mode="READ ONLY"), "is READ ONLY"),
        (STANDBY._replace(open_mode="MOUNTED"), PRIMARY, "the standby is MOUNTED"),
        (STANDBY._replace(database_role="SNAPSHOT STANDBY"), PRIMARY, "is a SNAPSHOT STANDBY"),
        (STANDBY._replace(database_role="LOGICAL STANDBY"), PRIMARY, "is a LOGICAL STANDBY"),
        (PRIMARY._replace(db_unique_name="STBY"), PRIMARY, "two primaries"),
    ],
)
def test_a_wrong_partner_is_refused(here, there, says):
    with pytest.raises(SourceRefused, match=says) as caught:
        check_partner(here, [there])
    assert caught.value.cure


def test_a_primary_that_was_opened_with_resetlogs_is_waited_for():
    with pytest.raises(SnapshotTooEarly, match="RESETLOGS at SCN 9"):
        check_partner(STANDBY, [PRIMARY._replace(resetlogs_scn=9)])


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (STANDBY, [PRIMARY, PRIMARY._replace(inst_id=2)]),
        (STANDBY._replace(open_mode="READ ONLY"), [PRIMARY]),
        (PRIMARY, [STANDBY]),
        (PRIMARY, [PRIMARY]),  # both connections lead to one database
    ],
)
def test_a_pair_is_accepted_in_either_role(here, there):
    check_partner(here, there)


def test_one_closed_instance_of_the_primary_is_refused():
    with pytest.raises(SourceRefused, match="instance 2 is MOUNTED"):
        check_partner(STANDBY, [PRIMARY, PRIMARY._replace(inst_id=2, open_mode="MOUNTED")])
