"""The ledger behaves alike on SQLite and on PostgreSQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, event, text

from redolake.errors import (
    ConfigurationError,
    FormatTooNew,
    InvariantBroken,
    LandingConflict,
    LedgerDamaged,
    LedgerUnavailable,
    RedolakeError,
    SchemaConflict,
    Terminal,
)
from redolake.ledger import Ledger, open_ledger, open_ledger_to_read, store
from redolake.ledger.batches import AppliedBatch
from redolake.ledger.checks import version_of
from redolake.ledger.shown_facts import Changes
from redolake.ledger.tables import VERSION
from redolake.records.batches.carry import OpenTransaction
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId
from tests.contract.ledgers import LATER, NOW, START, at_once, manifest, name, plan, scns
from tests.fixtures.postgres import Postgres, pooled

ORDERS = TableId("SHOP", "ORDERS")


def test_the_end_of_a_window_has_its_time(ledger: Ledger) -> None:
    lease, at = ledger.lease("capture/shop", "me", 60), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    ledger.plan_window(name(100, 200), 1, scns(100, 200), {}, lease, at)
    ledger.record_landed(manifest(100, 200))
    ledger.plan_window(name(200, 300), 1, scns(200, 300), {}, lease)

    ends = [ChainPosition(1, 200), ChainPosition(1, 300), ChainPosition(2, 200)]
    assert ledger.end_times(ends) == {ends[0]: at}
    assert [ledger.time_written(scn) for scn in (99, 100, 199, 200)] == [None, at, at, None]


# -- opening


def test_entries_are_found_when_the_ledger_is_opened_again(url):
    first = open_ledger(url, "shop")
    first.start_at(START)
    first.close()

    assert open_ledger(url, "shop").position() == START


def test_a_ledger_of_a_newer_redolake_is_refused(url, ledger):
    run_in(url, "UPDATE redolake_version SET version_num = '9999'")

    for opening in (open_ledger, open_ledger_to_read):
        with pytest.raises(FormatTooNew, match="version 9999"):
            opening(url, "shop")


LACKS = {
    "a table": ("DROP TABLE redolake_decisions", "no table redolake_decisions"),
    "a column": ("ALTER TABLE redolake_tables DROP COLUMN error", "redolake_tables has no column error"),
    "an index": ("DROP INDEX redolake_windows_place", "redolake_windows has no index redolake_windows_place"),
    "the table of the version": ("DROP TABLE redolake_version", "has lost its version"),
    "its version": ("DELETE FROM redolake_version", "has lost its version"),
    "one version": ("INSERT INTO redolake_version VALUES ('0002')", "has lost its version"),
    "a known version": ("UPDATE redolake_version SET version_num = '0000x'", "which no Redolake has written"),
}


@pytest.mark.parametrize("opening", [open_ledger, open_ledger_to_read])
@pytest.mark.parametrize("lack", LACKS)
def test_a_ledger_that_lacks_something_is_damaged_and_not_empty(url, lack, opening):
    open_ledger(url, "shop").start_at(START)
    statement, what = LACKS[lack]
    run_in(url, statement)

    with pytest.raises(LedgerDamaged, match=what) as caught:
        opening(url, "shop")
    assert "the files of the landing rebuild it" in caught.value.cure


def test_a_table_that_goes_while_the_process_runs_is_damage_too(url, ledger):
    run_in(url, "DROP TABLE redolake_pipelines")

    with pytest.raises(LedgerDamaged, match="redolake_pipelines"):
        ledger.position()


def run_in(url, statement):
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()
    store._whole.clear()  # as another process


def test_a_file_that_is_no_database_is_a_damaged_ledger(tmp_path):
    (tmp_path / "ledger.db").write_bytes(b"x" * 5000)

    with pytest.raises(LedgerDamaged, match="not a database") as caught:
        open_ledger(f"sqlite:///{tmp_path}/ledger.db", "shop")
    assert f"move {tmp_path}/ledger.db away, with {tmp_path}/ledger.db-wal" in caught.value.cure


def test_a_file_that_was_refused_may_be_replaced_while_the_process_runs(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    open_ledger(url, "shop").close()
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database, database:
        database.execute("UPDATE redolake_version SET version_num = '9999'")
    for opening in (open_ledger, open_ledger_to_read):
        with pytest.raises(FormatTooNew):
            opening(url, "shop")
    for file in tmp_path.iterdir():
        file.unlink()

    open_ledger(url, "shop").start_at(START)

    assert open_ledger_to_read(url, "shop").position() == START


def test_a_new_ledger_may_be_opened_by_several_at_once(url):
    opened = at_once(*[lambda: open_ledger(url, "shop").position()] * 4)

    assert opened == [None] * 4


@pytest.mark.postgres
def test_a_ledger_that_another_process_creates_while_it_is_looked_for_has_lost_nothing(postgres_url):
    engine = create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    statements = []

    def create_before_the_second(*_):
        statements.append("looked")
        if len(statements) == 2:
            open_ledger(postgres_url, "shop").close()

    event.listen(engine, "before_cursor_execute", create_before_the_second)
    for _ in range(2):
        with engine.connect() as connection:
            seen = version_of(connection)
    engine.dispose()

    assert len(statements) > 2
    assert seen == VERSION


def test_a_database_that_does_not_answer_is_a_transient_error_without_the_password():
    with pytest.raises(LedgerUnavailable) as caught:
        open_ledger("postgresql://someone:secret@127.0.0.1:1/none", "shop")

    assert "secret" not in str(caught.value)


@pytest.mark.postgres
@pytest.mark.parametrize("given", ["", "?prepare_threshold=3"])
def test_no_statement_is_prepared_on_a_connection_that_a_pooler_may_change(postgres_url: str, given: str) -> None:
    """PgBouncer by transaction, as in Airflow's chart, gives each transaction another connection."""
    opened = open_ledger(f"{postgres_url}{given}", "shop")
    for _ in range(9):  # psycopg prepares the sixth of equal statements
        opened.windows()

    with opened._engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM pg_prepared_statements").scalar() == 0
    opened.close()


@pytest.mark.postgres
def test_a_database_that_is_read_only_for_a_while_is_waited_for(postgres_url: str) -> None:
    """So a standby answers until a failover is over: psycopg calls it an InternalError."""
    open_ledger(postgres_url, "shop").close()
    run_in(postgres_url, f"ALTER DATABASE {postgres_url.rpartition('/')[2]} SET default_transaction_read_only = on")
    opened = open_ledger(postgres_url, "shop")

    with pytest.raises(LedgerUnavailable, match="read-only transaction"):
        opened.lease("shop/capture", "somebody", 60)
    opened.close()


# By what PostgreSQL says, in any language: the error's class, and a word of its cure.
STATES = {
    "42P01": (LedgerDamaged, "rebuild"),
    "42703": (LedgerDamaged, "rebuild"),
    "XX001": (LedgerDamaged, "rebuild"),
    "53100": (LedgerUnavailable, "free space"),
    "53300": (LedgerUnavailable, "max_connections"),
    "55P03": (LedgerUnavailable, "the other process"),
    "25006": (LedgerUnavailable, "failover"),
    "57014": (LedgerUnavailable, "statement_timeout"),
    "40P01": (LedgerUnavailable, "run again"),
    "40003": (LedgerUnavailable, "is up"),  # nobody knows whether it was undone
    "57P01": (LedgerUnavailable, "is up"),
    "23505": (Terminal, "report-a-fault"),
}


@pytest.mark.postgres
def test_the_state_decides_what_an_error_of_the_database_is(postgres_url: str) -> None:
    opened, found = open_ledger(postgres_url, "shop"), {}
    for state, (_, word) in STATES.items():
        failing = f"$$ BEGIN RAISE EXCEPTION 'Fehler' USING ERRCODE = '{state}'; END $$"
        run_in(postgres_url, f"CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS {failing}")
        run_in(postgres_url, "CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON redolake_decisions EXECUTE FUNCTION fail()")
        with pytest.raises(RedolakeError) as caught:
            opened.record_decision("resume", {}, "ann")
        found[state] = (type(caught.value), word if word in str(caught.value.cure) else caught.value.cure)
    opened.close()

    assert found == STATES


@pytest.mark.postgres
def test_pooling_by_statement_is_refused(postgres: Postgres, postgres_url: str) -> None:
    with pooled(postgres, "statement") as port, pytest.raises(Terminal) as caught:
        open_ledger(postgres_url.replace(f":{postgres.port}/", f":{port}/"), "shop")

    assert "pool_mode" in str(caught.value.cure)


@pytest.mark.parametrize(
    "url", ["postgresql://me:sec@ret@host/db", "postgresql://me:sec@ret/x@host:5432/db", "postgres://a@b:sec@ret@h/d"]
)
def test_of_a_password_with_an_at_sign_no_part_is_shown(url: str) -> None:
    with pytest.raises(ConfigurationError, match="%40") as caught:
        open_ledger(url, "shop")

    assert "ret" not in str(caught.value)


def test_an_at_sign_that_is_written_as_the_error_says_is_taken() -> None:
    assert store.checked_url("postgresql://me%40corp:sec%40ret@host/d%40b").translate_connect_args()["database"] == "d@b"


def test_a_ledger_path_that_cannot_be_a_folder_is_an_error(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(LedgerUnavailable):
        open_ledger(f"sqlite:///{tmp_path}/file/ledger.db", "shop")


@pytest.mark.parametrize("bad", ["nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_an_unusable_url_is_a_finding(bad):
    with pytest.raises(ConfigurationError, match=r"ledger\.url"):
        open_ledger(bad, "shop")


# -- position


def test_the_first_position_is_set_once(ledger, other):
    assert ledger.start_at(START)
    assert not ledger.start_at(Position(1, 2, Scn(3)))
    assert ledger.position() == START
    assert other.position() is None


def test_a_lost_position_is_set_again(ledger):
    ledger.correct_position(START)
    moved = Position(START.dbid, START.resetlogs_id + 1, Scn(START.scn + 5))
    ledger.correct_position(moved)

    assert ledger.position() == moved


# -- windows


def test_a_planned_window_is_landed_and_then_applied(ledger, capture, clock):
    planned = plan(ledger, capture, 100, 200)

    assert planned.state == "planned"
    assert ledger.window(planned.name) == planned
    assert ledger.record_landed(manifest(100, 200))
    clock.time = LATER
    ledger.record_windows_applied([(planned.name, "b1", None)])
    clock.time = LATER + timedelta(minutes=1)
    ledger.record_windows_applied([(planned.name, "b2", None)])
    applied = ledger.window(planned.name)
    assert applied is not None
    assert (applied.state, applied.changed_at, applied.plan) == ("applied", LATER, {"slices": [1, 2]})


def test_a_window_that_has_not_landed_is_not_recorded_as_applied(ledger, capture):
    planned = plan(ledger, capture, 100, 200)

    ledger.record_windows_applied([(planned.name, "b", None)])

    assert [w.state for w in ledger.windows()] == ["planned"]


def test_a_new_plan_replaces_one_that_never_landed(ledger, capture):
    plan(ledger, capture, 100, 200)
    longer = plan(ledger, capture, 100, 300)

    assert longer.scns == scns(100, 300)
    assert [w.name for w in ledger.windows("planned")] == [longer.name]
    assert ledger.windows("abandoned")[0].name == name(100, 200)


def test_a_plan_that_the_chain_has_passed_is_abandoned(ledger, other, capture):
    """After a declared gap the chain goes on behind a window that failed; after a RESETLOGS, in another incarnation."""
    failed = plan(ledger, capture, 100, 200)

    behind_gap = plan(ledger, capture, 260, 300)
    assert {w.name: w.state for w in ledger.windows()} == {failed.name: "abandoned", behind_gap.name: "planned"}

    ledger.record_landed(manifest(300, 400))
    assert [w.name for w in ledger.windows("planned")] == []


def test_a_plan_is_kept_when_an_earlier_window_is_recorded(ledger, capture):
    planned = plan(ledger, capture, 200, 300)

    ledger.record_landed(manifest(100, 200))

    assert [w.name for w in ledger.windows("planned")] == [planned.name]


def test_an_abandoned_plan_may_be_planned_again(ledger, capture):
    plan(ledger, capture, 100, 200)
    plan(ledger, capture, 100, 300)
    plan(ledger, capture, 100, 200)

    assert [w.name for w in ledger.windows("planned")] == [name(100, 200)]


def test_planning_at_the_start_of_a_landed_window_returns_that_window(ledger, capture):
    plan(ledger, capture, 100, 200)
    ledger.record_landed(manifest(100, 200))

    landed = plan(ledger, capture, 100, 300)

    assert ledger.landed_names() == {landed.name}
    assert landed.name == name(100, 200)
    assert ledger.window(name(100, 300)) is None


def test_of_several_runs_that_plan_at_once_one_plan_remains(ledger, capture):
    ends = (200, 300, 400)

    results = at_once(*[lambda end=end: plan(ledger, capture, 100, end) for end in ends])

    assert not [r for r in results if isinstance(r, Exception)]
    assert len(ledger.windows("planned")) == 1
    assert len(ledger.windows()) == 3


def test_of_several_that_record_a_window_as_applied_at_once_the_first_counts(ledger, url):
    ledger.record_landed(manifest(100, 200))

    # One for all: to close it would close the connections of the others.
    with closing(open_ledger_to_read(url, "shop", lambda: NOW)) as read:

        def apply(batch: str) -> str | None:
            ledger.record_windows_applied([(name(100, 200), batch, None)])
            return read.reading().windows[0].batch

        seen = set(at_once(*[lambda batch=batch: apply(batch) for batch in ("b1", "b2", "b3")]))

    assert len(seen) == 1
    assert seen <= {"b1", "b2", "b3"}


def test_windows_are_listed_newest_first(ledger, other, capture):
    for start in (300, 100, 200):
        ledger.record_landed(manifest(start, start + 100))
    ledger.record_windows_applied([(name(100, 200), "b", None)])
    plan(ledger, capture, 400, 500)

    assert [w.scns.start for w in ledger.windows(limit=2)] == [400, 300]
    assert [w.scns.start for w in ledger.windows("landed")] == [300, 200]
    assert ledger.landed_names() == {name(100, 200), name(200, 300), name(300, 400)}
    assert other.windows() == []


def test_a_lost_ledger_is_rebuilt_from_manifests(ledger):
    assert ledger.record_landed(manifest(100, 200))
    assert ledger.record_landed(manifest(200, 300))
    assert not ledger.record_landed(manifest(200, 300))

    assert [(w.name, w.state) for w in ledger.windows("landed")] == [
        (name(200, 300), "landed"),
        (name(100, 200), "landed"),
    ]


def test_a_lost_ledger_gets_all_of_its_windows_at_once(ledger, other, capture):
    plan(ledger, capture, 200, 400)
    ledger.record_landed(manifest(100, 200))
    found = [manifest(start, start + 100) for start in range(100, 100_000, 100)]

    ledger.record_all_landed(found)
    ledger.record_all_landed(found)

    assert ledger.landed_names() == {m.name for m in found}
    assert {w.name for w in ledger.windows("abandoned")} == {name(200, 400)}
    assert other.windows() == []
    with pytest.raises(LandingConflict, match="begin at SCN 100000"):
        ledger.record_all_landed([manifest(100_000, 100_100), manifest(100_000, 100_200)])
    assert ledger.landed_names() == {m.name for m in found}


def test_a_manifest_replaces_a_longer_plan_in_the_ledger(ledger, capture):
    plan(ledger, capture, 100, 300)

    assert ledger.record_landed(manifest(100, 200))
    assert {w.name: w.state for w in ledger.windows()} == {name(100, 200): "landed", name(100, 300): "abandoned"}


def test_a_manifest_of_the_planned_window_keeps_its_plan(ledger, capture, clock):
    plan(ledger, capture, 100, 200)
    clock.time = LATER
    ledger.record_landed(manifest(100, 200))

    window = ledger.window(name(100, 200))
    assert window is not None
    assert (window.state, window.plan, window.planned_at) == ("landed", {"slices": [1, 2]}, NOW)


def test_two_manifests_with_one_start_are_a_conflict(ledger):
    ledger.record_landed(manifest(100, 200))

    with pytest.raises(LandingConflict, match="begin at SCN 100"):
        ledger.record_landed(manifest(100, 300))


# -- tables and versions


def test_a_table_is_new_then_snapshotting_then_live(ledger):
    assert ledger.add_table(ORDERS, Scn(50))
    assert not ledger.add_table(ORDERS, Scn(99))
    assert ledger.move_table(ORDERS, ("new",), "snapshotting")
    assert not ledger.move_table(ORDERS, ("new",), "snapshotting")
    assert ledger.move_table(ORDERS, ("snapshotting",), "live", snapshot_scn=Scn(60))

    entry = ledger.table(ORDERS)
    assert entry is not None
    assert (entry.state, entry.captured_from_scn, entry.snapshot_scn) == ("live", 50, 60)
    assert ledger.tables("live") == [entry]
    assert ledger.tables("held") == []


def test_a_held_table_keeps_its_first_error_and_returns_to_its_state(ledger, clock):
    ledger.add_table(ORDERS, Scn(50))
    ledger.move_table(ORDERS, ("new",), "live")
    cause = SchemaConflict("RENAME COLUMN is not followed", cure="...", table=ORDERS).as_dict()

    clock.time = LATER
    assert ledger.hold(ORDERS, cause)
    assert not ledger.hold(ORDERS, {"what": "a later error"})
    held = ledger.table(ORDERS)
    assert held is not None
    assert (held.state, held.error, held.held_at) == ("held", cause, LATER)
    assert ledger.release(ORDERS)
    assert not ledger.release(ORDERS)
    released = ledger.table(ORDERS)
    assert released is not None
    assert (released.state, released.error, released.held_at) == ("live", None, None)


def test_a_table_is_complete_to_the_scn_of_its_delta_log(ledger):
    ledger.add_table(ORDERS, Scn(50))

    assert ledger.record_complete_to(ORDERS, Scn(199))
    assert ledger.record_complete_to(ORDERS, Scn(150))
    assert not ledger.record_complete_to(ORDERS, Scn(150))
    assert ledger.record_complete_to(ORDERS, Scn(150), delta_version=7)  # as after a load that replaces the table
    entry = ledger.table(ORDERS)
    assert entry is not None
    assert (entry.complete_to_scn, entry.delta_version) == (150, 7)


def test_a_version_is_recorded_once_and_never_changed(ledger):
    body = {"columns": [{"id": 1, "name": "Ñ"}], "key": [1]}

    assert ledger.record_version(ORDERS, Scn(200), body, "ddl", ddl="ALTER ..")
    assert ledger.record_version(ORDERS, Scn(100), {}, "baseline")
    assert not ledger.record_version(ORDERS, Scn(200), {**body, "key": (1,)}, "ddl")
    with pytest.raises(SchemaConflict, match="another version"):
        ledger.record_version(ORDERS, Scn(200), {**body, "key": [2]}, "ddl")
    assert [(v.from_scn, v.source, v.body, v.ddl) for v in ledger.versions(ORDERS)] == [
        (100, "baseline", {}, None),
        (200, "ddl", body, "ALTER .."),
    ]


def test_versions_above_an_scn_are_removed_for_a_table_that_is_snapshotted_again(ledger):
    lease = ledger.lease("shop/SHOP.ORDERS", "snapshot", 60)
    for scn in (100, 200, 300):
        ledger.record_version(ORDERS, Scn(scn), {"n": scn}, "ddl")

    assert ledger.forget_versions_above(ORDERS, Scn(100), lease) == 2
    assert [v.from_scn for v in ledger.versions(ORDERS)] == [100]


# -- batches and open transactions


def test_a_batch_is_prepared_once_and_applied_once(ledger, clock):
    batch = ledger.prepare_batch("b1", scns(100, 300), "specs/b1.json")

    assert batch.state == "prepared"
    clock.time = LATER
    assert ledger.prepare_batch("b1", scns(100, 300), "specs/b1.json") == batch
    assert ledger.move_batch("b1", ("prepared",), "applied", result={"rows": 5})
    assert not ledger.move_batch("b1", ("prepared",), "applied")
    applied = ledger.batch("b1")
    assert applied is not None
    assert (applied.state, applied.result, applied.scns) == ("applied", {"rows": 5}, scns(100, 300))
    assert ledger.batches("applied", limit=1) == [applied]
    assert ledger.applied_names() == {"b1"}


def test_a_batch_has_one_range(ledger):
    ledger.prepare_batch("b1", scns(100, 300), "specs/b1.json")

    with pytest.raises(InvariantBroken, match=r"has the range \[100, 300\), not \[100, 400\)"):
        ledger.prepare_batch("b1", scns(100, 400), "specs/b1.json")


def test_an_applied_batch_is_rebuilt_from_its_manifest(ledger):
    assert ledger.record_applied("b1", scns(100, 300), "specs/b1.json", {"rows": 5})
    assert not ledger.record_applied("b1", scns(100, 300), "specs/b1.json", {"rows": 5})
    assert [b.state for b in ledger.batches()] == ["applied"]


def test_a_lost_ledger_gets_all_of_its_batches_at_once(ledger, other, clock):
    ledger.prepare_batch("b1", scns(100, 200), "specs/b1.json")
    found = [
        AppliedBatch(f"b{n}", scns(100 * n, 100 * n + 100), "folder", {"rows": n}, {ORDERS: Changes(inserted=n)})
        for n in range(1, 700)
    ]
    clock.time = LATER

    ledger.record_all_applied(found)
    ledger.record_all_applied(found)

    assert ledger.applied_names() == {batch.name for batch in found}
    assert [(b.scns, b.result) for b in ledger.batches(limit=1)] == [(scns(69_900, 70_000), {"rows": 699})]
    assert ledger.batch("b1").created_at == NOW
    assert other.batches() == []


def test_applied_batches_are_read_from_a_name_on_as_they_are_asked_for(ledger, other):
    named = [AppliedBatch(name(n, n + 1), scns(n, n + 1), "folder", {}, {}) for n in range(100, 150)]
    ledger.record_all_applied(named)
    ledger.prepare_batch(name(150, 151), scns(150, 151), "specs/prepared.json")

    assert [b.scns.start for b in ledger.each_applied_from(name(110, 111))] == [*range(110, 150)]
    assert [b.scns.start for b in ledger.each_applied_from(name(110, 111), 3)] == [*range(107, 150)]
    assert [*other.each_applied_from(name(100, 101), 3)] == []


def test_rows_and_ddl_of_batches_are_counted_by_kind_for_a_day(ledger, url, clock):
    def counted(now):
        with closing(open_ledger_to_read(url, "shop", lambda: now)) as read:
            found = read.reading()
        return found.changes.get(ORDERS), found.ddl

    for n, ddl in enumerate([{"add_column": 2}, {"add_column": 1, "truncate": 1}, {}]):
        ledger.prepare_batch(f"b{n}", scns(100 * n, 100 * n + 100), "specs/b.json")
        ledger.record_applied(
            f"b{n}", scns(100 * n, 100 * n + 100), "folder", {}, {ORDERS: Changes(ddl, inserted=3, deleted=1)}
        )
    ledger.record_applied("b0", scns(0, 100), "folder", {}, {ORDERS: Changes({"add_column": 2}, inserted=3, deleted=1)})

    assert counted(NOW) == (Changes(inserted=9, deleted=3), {"add_column": 3, "truncate": 1})
    assert counted(NOW + timedelta(hours=25)) == (None, {})


def test_windows_are_applied_once(ledger):
    ledger.record_all_landed([manifest(100, 200), manifest(200, 300), manifest(300, 400)])

    ledger.record_windows_applied([(name(100, 200), "b1", {"applied": 5}), (name(200, 300), "b1", None)])
    ledger.record_windows_applied([(name(100, 200), "b2", {"applied": 6})])

    assert {w.name: w.state for w in ledger.windows()} == {
        name(100, 200): "applied",
        name(200, 300): "applied",
        name(300, 400): "landed",
    }


def test_a_transaction_is_written_completely_or_not_at_all(ledger):
    def write(*ends):
        with ledger.at_once():
            for end in ends:
                ledger.record_applied("b1", scns(100, end), "specs/b1.json", {})
                assert ledger.applied_names() == {"b1"}

    with pytest.raises(InvariantBroken):
        write(300, 400)
    assert ledger.applied_names() == set()
    write(300)
    assert ledger.applied_names() == {"b1"}


def test_open_transactions_are_those_of_the_last_batch(ledger, other):
    old = OpenTransaction(3, "0a000100", 1, 120, "2026-01-02 03:04:05", 10, 2000, "SHOP")
    new = OpenTransaction(3, "0b000100", 2, 110, None, 2**40, 2**50, None)
    ledger.replace_open_transactions("b1", [old])
    other.replace_open_transactions("b1", [old])
    ledger.replace_open_transactions("b2", [old, new])

    assert ledger.open_transactions() == [new, old]
    ledger.replace_open_transactions("b3", [])
    assert ledger.open_transactions() == []
    assert other.open_transactions() == [old]


# -- decisions


def test_decisions_are_listed_in_the_order_in_which_they_were_made(ledger, other, clock):
    first = ledger.record_decision("gap-declared", {"from": 100, "to": 200}, "dba")
    clock.time = LATER
    second = ledger.record_decision("note", {"text": "ü"}, "dba")
    other.record_decision("note", {}, "dba")

    assert ledger.decisions() == [first, second]
    assert ledger.decisions("note") == [second]


def test_a_tables_position_contains_its_incarnation(ledger):
    ledger.add_table(ORDERS, Scn(1))
    assert ledger.table(ORDERS).position == ChainPosition(0, -1)

    ledger.record_complete_to(ORDERS, Scn(500), resetlogs_id=1)
    before = ledger.table(ORDERS).position
    ledger.record_complete_to(ORDERS, Scn(90), resetlogs_id=2)

    assert ledger.table(ORDERS).position == ChainPosition(2, 90)
    assert ledger.table(ORDERS).position > before == ChainPosition(1, 500)
