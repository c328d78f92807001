"""What every ledger keeps, whichever database holds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import create_engine, text

from pipelines.errors import (
    ConfigurationError,
    FormatTooNew,
    InvariantBroken,
    LandingConflict,
    LeaseHeld,
    LedgerUnavailable,
    SchemaConflict,
)
from pipelines.ledger import Ledger, open_ledger
from pipelines.ledger.entries import Lease, OpenTransaction
from pipelines.manifest import Manifest
from pipelines.redo import Position
from pipelines.scn import Scn, ScnRange
from pipelines.table import TableId

pytest_plugins = ("tests.fix_postgres",)

R = TypeVar("R")
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=10)
ORDERS = TableId("SHOP", "ORDERS")
START = Position(dbid=4_000_000_000, resetlogs_id=1_100_000_000, scn=Scn(2**53 + 1))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/deep/ledger.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    opened = open_ledger(url)
    yield opened
    opened.close()


@pytest.fixture
def capture(ledger: Ledger) -> Lease:
    return ledger.lease("shop/capture", "run-1", 60, NOW)


def scns(start: int, end: int) -> ScnRange:
    return ScnRange(Scn(start), Scn(end))


def name(start: int, end: int) -> str:
    return f"{1:010d}-{start:020d}-{end:020d}"


def plan(ledger: Ledger, lease: Lease, start: int, end: int):
    return ledger.plan_window("shop", name(start, end), 1, scns(start, end), {"slices": [1, 2]}, lease, NOW)


def manifest(start: int, end: int) -> Manifest:
    return Manifest(7, 1, start, end, (), ("SHOP.ORDERS",), {}, "hash", (), ())


def at_once(*calls: Callable[[], R]) -> list[R | Exception]:
    """Run the calls side by side, let go at the same moment; what each gave or raised."""
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], R]) -> R | Exception:
        ready.wait(timeout=20)
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


# -- opening


def test_a_second_opening_finds_what_the_first_wrote(url):
    first = open_ledger(url)
    first.start_at("shop", START, NOW)
    first.close()

    assert open_ledger(url).position("shop") == START


def test_a_ledger_of_a_newer_redolake_is_refused(url, ledger):
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text("UPDATE redolake_format SET version = 99"))
    engine.dispose()

    with pytest.raises(FormatTooNew, match="format 99"):
        open_ledger(url)


def test_two_first_openings_at_once_make_one_ledger(url):
    opened = at_once(*[lambda: open_ledger(url).pipelines()] * 4)

    assert opened == [[]] * 4


def test_a_database_that_does_not_answer_is_a_passing_trouble_and_tells_no_password():
    with pytest.raises(LedgerUnavailable) as caught:
        open_ledger("postgresql://someone:secret@127.0.0.1:1/none")

    assert "secret" not in str(caught.value)


def test_a_path_that_cannot_be_a_folder_is_told(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(LedgerUnavailable):
        open_ledger(f"sqlite:///{tmp_path}/file/ledger.db")


@pytest.mark.parametrize("bad", ["nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_a_url_that_cannot_be_used_is_a_finding(bad):
    with pytest.raises(ConfigurationError, match=r"ledger\.url"):
        open_ledger(bad)


# -- position


def test_the_first_position_is_set_once(ledger):
    assert ledger.start_at("shop", START, NOW)
    assert not ledger.start_at("shop", Position(1, 2, Scn(3)), NOW)
    assert ledger.position("shop") == START
    assert ledger.position("other") is None


def test_a_position_moves_only_from_where_it_is(ledger):
    ledger.start_at("shop", START, NOW)
    next_ = Position(START.dbid, START.resetlogs_id, Scn(START.scn + 100))

    assert ledger.advance("shop", START, next_)
    assert not ledger.advance("shop", START, next_)
    assert ledger.position("shop") == next_
    with pytest.raises(ValueError, match="forward"):
        ledger.advance("shop", next_, START)


def test_of_two_that_advance_at_once_one_wins(ledger):
    ledger.start_at("shop", START, NOW)
    targets = [Position(START.dbid, START.resetlogs_id, Scn(START.scn + n)) for n in (1, 2, 3)]

    won = at_once(*[lambda to=to: ledger.advance("shop", START, to) for to in targets])

    assert sorted(won) == [False, False, True]
    assert ledger.position("shop") == targets[won.index(True)]


def test_a_lost_position_is_set_from_what_landed(ledger):
    ledger.correct_position("shop", START, NOW)
    moved = Position(START.dbid, START.resetlogs_id + 1, Scn(START.scn + 5))
    ledger.correct_position("shop", moved, NOW)

    assert ledger.position("shop") == moved


# -- windows


def test_a_planned_window_goes_its_way(ledger, capture):
    planned = plan(ledger, capture, 100, 200)

    assert planned.state == "planned"
    assert ledger.window("shop", planned.name) == planned
    assert ledger.move("shop", planned.name, ("planned",), "mined", now=LATER, lease=capture)
    assert ledger.move("shop", planned.name, ("planned", "mined"), "landed", now=LATER, lease=capture)
    assert not ledger.move("shop", planned.name, ("planned", "mined"), "landed", now=LATER, lease=capture)
    landed = ledger.window("shop", planned.name)
    assert landed is not None
    assert (landed.state, landed.changed_at, landed.plan) == ("landed", LATER, {"slices": [1, 2]})


def test_a_move_that_is_not_in_the_table_is_an_error_of_the_caller(ledger, capture):
    planned = plan(ledger, capture, 100, 200)

    with pytest.raises(ValueError, match="from planned to applied"):
        ledger.move("shop", planned.name, ("planned",), "applied", now=NOW)
    with pytest.raises(ValueError, match="from landed to abandoned"):
        ledger.move("shop", planned.name, ("landed",), "abandoned", now=NOW)


def test_a_new_plan_replaces_one_that_never_landed(ledger, capture):
    plan(ledger, capture, 100, 200)
    ledger.move("shop", name(100, 200), ("planned",), "mined", now=NOW)
    longer = plan(ledger, capture, 100, 300)

    assert longer.scns == scns(100, 300)
    assert [w.name for w in ledger.unlanded("shop")] == [longer.name]
    assert ledger.windows("shop", "abandoned")[0].name == name(100, 200)


def test_a_plan_may_come_back(ledger, capture):
    plan(ledger, capture, 100, 200)
    plan(ledger, capture, 100, 300)
    plan(ledger, capture, 100, 200)

    assert [w.name for w in ledger.windows("shop", "planned")] == [name(100, 200)]


def test_a_landed_window_is_told_instead_of_planned_anew(ledger, capture):
    plan(ledger, capture, 100, 200)
    ledger.move("shop", name(100, 200), ("planned",), "landed", now=NOW)

    told = plan(ledger, capture, 100, 300)

    assert ledger.landed_names("shop") == {told.name}
    assert told.name == name(100, 200)
    assert ledger.window("shop", name(100, 300)) is None


def test_of_two_runs_that_plan_at_once_one_has_the_place(ledger, capture):
    ends = (200, 300, 400)

    results = at_once(*[lambda end=end: plan(ledger, capture, 100, end) for end in ends])

    assert not [r for r in results if isinstance(r, Exception)]
    assert len(ledger.windows("shop", "planned")) == 1
    assert len(ledger.windows("shop")) == 3


def test_of_two_that_land_a_window_at_once_one_wins(ledger, capture):
    plan(ledger, capture, 100, 200)

    won = at_once(*[lambda: ledger.move("shop", name(100, 200), ("planned", "mined"), "landed", now=NOW)] * 3)

    assert sorted(won) == [False, False, True]


def test_landed_windows_come_in_the_order_of_the_chain(ledger, capture):
    for start in (300, 100, 200):
        plan(ledger, capture, start, start + 100)
        ledger.move("shop", name(start, start + 100), ("planned",), "landed", now=NOW)
    ledger.move("shop", name(100, 200), ("landed",), "applied", now=NOW)
    plan(ledger, capture, 400, 500)

    assert [w.scns.start for w in ledger.landed_since("shop", 0)] == [100, 200, 300]
    assert [w.scns.start for w in ledger.landed_since("shop", 200)] == [200, 300]
    assert [w.scns.start for w in ledger.landed_since("shop", 250, limit=1)] == [200]
    assert ledger.landed_since("other", 0) == []
    assert [w.scns.start for w in ledger.windows("shop", limit=2)] == [400, 300]


def test_a_lost_ledger_is_rebuilt_from_manifests(ledger):
    assert ledger.landed_as("shop", manifest(100, 200), NOW)
    assert ledger.landed_as("shop", manifest(200, 300), NOW)
    assert not ledger.landed_as("shop", manifest(200, 300), NOW)

    assert [(w.name, w.state) for w in ledger.landed_since("shop", 0)] == [
        (name(100, 200), "landed"),
        (name(200, 300), "landed"),
    ]


def test_a_manifest_outweighs_what_the_ledger_had_planned(ledger, capture):
    plan(ledger, capture, 100, 300)

    assert ledger.landed_as("shop", manifest(100, 200), LATER)
    assert {w.name: w.state for w in ledger.windows("shop")} == {name(100, 200): "landed", name(100, 300): "abandoned"}


def test_a_manifest_of_the_planned_window_keeps_its_plan(ledger, capture):
    plan(ledger, capture, 100, 200)
    ledger.landed_as("shop", manifest(100, 200), LATER)

    window = ledger.window("shop", name(100, 200))
    assert window is not None
    assert (window.state, window.plan, window.planned_at) == ("landed", {"slices": [1, 2]}, NOW)


def test_two_manifests_with_one_start_are_a_conflict(ledger):
    ledger.landed_as("shop", manifest(100, 200), NOW)

    with pytest.raises(LandingConflict, match="begin at SCN 100"):
        ledger.landed_as("shop", manifest(100, 300), NOW)


# -- tables and versions


def test_a_table_goes_from_new_over_its_snapshot_to_live(ledger):
    assert ledger.add_table("shop", ORDERS, Scn(50), NOW)
    assert not ledger.add_table("shop", ORDERS, Scn(99), NOW)
    assert ledger.move_table("shop", ORDERS, ("new",), "snapshotting", now=NOW)
    assert not ledger.move_table("shop", ORDERS, ("new",), "snapshotting", now=NOW)
    assert ledger.move_table("shop", ORDERS, ("snapshotting",), "live", now=NOW, snapshot_scn=Scn(60))

    entry = ledger.table("shop", ORDERS)
    assert entry is not None
    assert (entry.state, entry.captured_from_scn, entry.snapshot_scn) == ("live", 50, 60)
    assert ledger.tables("shop", "live") == [entry]
    assert ledger.tables("shop", "held") == []


def test_a_held_table_keeps_its_first_error_and_goes_on_where_it_was(ledger):
    ledger.add_table("shop", ORDERS, Scn(50), NOW)
    ledger.move_table("shop", ORDERS, ("new",), "live", now=NOW)
    cause = SchemaConflict("RENAME COLUMN is not followed", cure="...", table=ORDERS).as_dict()

    assert ledger.hold("shop", ORDERS, cause, LATER)
    assert not ledger.hold("shop", ORDERS, {"what": "what followed from it"}, LATER)
    held = ledger.table("shop", ORDERS)
    assert held is not None
    assert (held.state, held.error, held.held_at) == ("held", cause, LATER)
    assert ledger.release("shop", ORDERS, LATER)
    assert not ledger.release("shop", ORDERS, LATER)
    released = ledger.table("shop", ORDERS)
    assert released is not None
    assert (released.state, released.error, released.held_at) == ("live", None, None)


def test_a_table_is_complete_to_an_scn_by_compare_and_set(ledger):
    ledger.add_table("shop", ORDERS, Scn(50), NOW)

    assert ledger.complete_to("shop", ORDERS, None, Scn(99), now=NOW)
    assert not ledger.complete_to("shop", ORDERS, None, Scn(199), now=NOW)
    assert ledger.complete_to("shop", ORDERS, Scn(99), Scn(199), now=NOW)
    assert ledger.complete_as("shop", ORDERS, Scn(150), NOW)
    assert not ledger.complete_as("shop", ORDERS, Scn(150), NOW)
    entry = ledger.table("shop", ORDERS)
    assert entry is not None
    assert entry.complete_to_scn == 150


def test_a_version_is_recorded_once_and_never_otherwise(ledger):
    body = {"columns": [{"id": 1, "name": "Ñ"}], "key": [1]}

    assert ledger.record_version("shop", ORDERS, Scn(200), body, "ddl", now=NOW, ddl="ALTER ..")
    assert ledger.record_version("shop", ORDERS, Scn(100), {}, "baseline", now=NOW)
    assert not ledger.record_version("shop", ORDERS, Scn(200), {**body, "key": (1,)}, "ddl", now=NOW)
    with pytest.raises(SchemaConflict, match="another version"):
        ledger.record_version("shop", ORDERS, Scn(200), {**body, "key": [2]}, "ddl", now=NOW)
    assert [(v.from_scn, v.source, v.body, v.ddl) for v in ledger.versions("shop", ORDERS)] == [
        (100, "baseline", {}, None),
        (200, "ddl", body, "ALTER .."),
    ]


def test_versions_above_an_scn_are_taken_back_for_a_table_that_starts_anew(ledger):
    lease = ledger.lease("shop/SHOP.ORDERS", "snapshot", 60, NOW)
    for scn in (100, 200, 300):
        ledger.record_version("shop", ORDERS, Scn(scn), {"n": scn}, "ddl", now=NOW)

    assert ledger.forget_versions_above("shop", ORDERS, Scn(100), lease) == 2
    assert [v.from_scn for v in ledger.versions("shop", ORDERS)] == [100]


# -- batches and open transactions


def test_a_batch_is_prepared_once_and_applied_once(ledger):
    batch = ledger.prepare_batch("shop", "b1", scns(100, 300), "specs/b1.json", now=NOW)

    assert batch.state == "prepared"
    assert ledger.prepare_batch("shop", "b1", scns(100, 300), "specs/b1.json", now=LATER) == batch
    assert ledger.move_batch("shop", "b1", ("prepared",), "failed", now=NOW, result={"error": 1})
    assert ledger.move_batch("shop", "b1", ("prepared", "failed"), "applied", now=LATER, result={"rows": 5})
    assert not ledger.move_batch("shop", "b1", ("prepared", "failed"), "applied", now=LATER)
    applied = ledger.batch("shop", "b1")
    assert applied is not None
    assert (applied.state, applied.result, applied.scns) == ("applied", {"rows": 5}, scns(100, 300))
    assert ledger.batches("shop", "applied", limit=1) == [applied]
    assert ledger.applied_names("shop") == {"b1"}


def test_a_batch_name_stands_for_one_range(ledger):
    ledger.prepare_batch("shop", "b1", scns(100, 300), "specs/b1.json", now=NOW)

    with pytest.raises(InvariantBroken, match="stands for"):
        ledger.prepare_batch("shop", "b1", scns(100, 400), "specs/b1.json", now=NOW)


def test_an_applied_batch_is_rebuilt_from_its_manifest(ledger):
    assert ledger.applied_as("shop", "b1", scns(100, 300), "specs/b1.json", {"rows": 5}, NOW)
    assert not ledger.applied_as("shop", "b1", scns(100, 300), "specs/b1.json", {"rows": 5}, NOW)
    assert [b.state for b in ledger.batches("shop")] == ["applied"]


def test_what_is_written_at_once_is_there_whole_or_not_at_all(ledger):
    def write(*ends):
        with ledger.at_once():
            for end in ends:
                ledger.applied_as("shop", "b1", scns(100, end), "specs/b1.json", {}, NOW)
                assert ledger.applied_names("shop") == {"b1"}

    with pytest.raises(InvariantBroken):
        write(300, 400)
    assert ledger.applied_names("shop") == set()
    write(300)
    assert ledger.applied_names("shop") == {"b1"}


def test_open_transactions_are_those_of_the_last_batch(ledger):
    old = OpenTransaction(3, "0a000100", 1, Scn(120), 10, 2000, "SHOP")
    new = OpenTransaction(3, "0b000100", 2, Scn(110), 2**40, 2**50)
    ledger.replace_open_transactions("shop", "b1", [old])
    ledger.replace_open_transactions("other", "b1", [old])
    ledger.replace_open_transactions("shop", "b2", [old, new])

    assert ledger.open_transactions("shop") == [new, old]
    ledger.replace_open_transactions("shop", "b3", [])
    assert ledger.open_transactions("shop") == []
    assert ledger.open_transactions("other") == [old]


# -- leases


def test_a_second_owner_waits_until_the_lease_ends_and_gets_a_higher_token(ledger, capture):
    with pytest.raises(LeaseHeld, match="run-1 works on shop/capture"):
        ledger.lease("shop/capture", "run-2", 60, NOW + timedelta(seconds=59))

    taken = ledger.lease("shop/capture", "run-2", 60, NOW + timedelta(seconds=60))

    assert taken.token > capture.token


def test_a_released_lease_is_free_and_its_token_is_not_given_again(ledger, capture):
    assert ledger.release_lease(capture)
    taken = ledger.lease("shop/capture", "run-2", 60, NOW)

    assert taken.token > capture.token
    assert not ledger.release_lease(capture)
    with pytest.raises(LeaseHeld):
        ledger.check(capture)


def test_a_renewed_lease_lasts_longer(ledger, capture):
    ledger.renew(capture, 600, NOW + timedelta(seconds=50))

    with pytest.raises(LeaseHeld):
        ledger.lease("shop/capture", "run-2", 60, NOW + timedelta(seconds=600))


def test_a_writer_that_was_overtaken_writes_nothing_more(ledger, capture):
    ledger.start_at("shop", START, NOW)
    plan(ledger, capture, 100, 200)
    ledger.lease("shop/capture", "run-2", 60, LATER)

    for write in (
        lambda: plan(ledger, capture, 200, 300),
        lambda: ledger.move("shop", name(100, 200), ("planned",), "landed", now=LATER, lease=capture),
        lambda: ledger.advance("shop", START, Position(START.dbid, START.resetlogs_id, Scn(START.scn + 1)), capture),
        lambda: ledger.renew(capture, 60, LATER),
        lambda: ledger.replace_open_transactions("shop", "b", [], capture),
    ):
        with pytest.raises(LeaseHeld, match="taken over"):
            write()
    assert [w.state for w in ledger.windows("shop")] == ["planned"]
    assert ledger.position("shop") == START


def test_the_same_owner_fences_its_earlier_self(ledger, capture):
    again = ledger.lease("shop/capture", "run-1", 60, NOW)

    assert again.token > capture.token
    with pytest.raises(LeaseHeld):
        plan(ledger, capture, 100, 200)


def test_of_many_that_want_a_lease_at_once_one_gets_it(ledger):
    results = at_once(*[lambda n=n: ledger.lease("shop/apply", f"run-{n}", 60, NOW) for n in range(4)])

    assert len([r for r in results if isinstance(r, Lease)]) == 1
    assert len([r for r in results if isinstance(r, LeaseHeld)]) == 3


def _want_lease(url: str, owner: str) -> str:
    try:
        return open_ledger(url).lease("shop/apply", owner, 60, NOW).owner
    except LeaseHeld:
        return "held"


def test_of_two_processes_that_want_a_lease_one_gets_it(url, ledger):
    with get_context("spawn").Pool(2) as pool:
        results = pool.starmap(_want_lease, [(url, "run-1"), (url, "run-2")])

    assert sorted(results) in (["held", "run-1"], ["held", "run-2"])


# -- decisions


def test_what_people_decide_is_kept_in_order(ledger):
    first = ledger.record_decision("shop", "gap-declared", {"from": 100, "to": 200}, "dba", NOW)
    second = ledger.record_decision("shop", "note", {"text": "ü"}, "dba", LATER)
    ledger.record_decision("other", "note", {}, "dba", NOW)

    assert ledger.decisions("shop") == [first, second]
    assert ledger.decisions("shop", "note") == [second]


# --- Lost redo, and breaks --------------------------------------------------------------------------------------------

LOST = {"code": "RedoLost", "what": "log 7 is gone", "where": {"thread": 1, "sequence": 7}, "cure": "redolake recover"}
HERE, THERE = {"dbid": 1, "resetlogs_id": 2, "scn": 2**53 + 1}, {"dbid": 1, "resetlogs_id": 2, "scn": 2**53 + 9}


def test_lost_redo_is_kept_until_the_way_goes_on(ledger):
    assert ledger.loss("shop") is None

    ledger.lose("shop", LOST, NOW, step="plan", position=HERE, missing=[{"sequence": 7}, {"sequence": 8}])
    kept = ledger.loss("shop")

    assert (kept.error, kept.step, kept.position, kept.since) == (LOST, "plan", HERE, NOW)
    assert ledger.loss("other") is None
    assert ledger.regain("shop")
    assert not ledger.regain("shop")
    assert ledger.loss("shop") is None


def test_a_loss_met_again_keeps_its_time_and_all_that_was_missing(ledger):
    ledger.lose("shop", LOST, NOW, step="plan", position=HERE, missing=[{"sequence": 7}, {"sequence": 8}])

    again = ledger.lose("shop", LOST, LATER, step="mine", position=HERE, missing=[{"sequence": 8}, {"sequence": 9}])

    assert (again.since, again.step) == (NOW, "mine")
    assert list(again.missing) == [{"sequence": 7}, {"sequence": 8}, {"sequence": 9}]
    assert ledger.loss("shop") == again


def test_a_loss_at_another_position_is_another_loss(ledger):
    ledger.lose("shop", LOST, NOW, step="plan", position=HERE, missing=[{"sequence": 7}])

    other = ledger.lose("shop", LOST, LATER, step="plan", position=THERE, missing=[{"sequence": 9}])

    assert (other.since, list(other.missing)) == (LATER, [{"sequence": 9}])


def test_breaks_are_written_once_and_listed_in_the_order_of_the_chain(ledger):
    assert ledger.record_break("shop", name(200, 300), {"kind": "gap"}, NOW)
    assert ledger.record_break("shop", name(100, 150), {"kind": "position"}, LATER)
    assert not ledger.record_break("shop", name(200, 300), {"kind": "other"}, LATER)

    assert list(ledger.breaks("shop").items()) == [(name(100, 150), {"kind": "position"}), (name(200, 300), {"kind": "gap"})]
    assert ledger.breaks("other") == {}


def test_a_table_is_complete_in_an_incarnation(ledger):
    ledger.add_table("shop", ORDERS, Scn(1), NOW)
    assert ledger.table("shop", ORDERS).place == (0, -1)

    ledger.complete_as("shop", ORDERS, Scn(500), NOW, resetlogs_id=1)
    before = ledger.table("shop", ORDERS).place
    ledger.complete_as("shop", ORDERS, Scn(90), NOW, resetlogs_id=2)

    assert ledger.table("shop", ORDERS).place == (2, 90)
    assert ledger.table("shop", ORDERS).place > before == (1, 500)


def test_a_ledger_of_format_1_is_brought_up(url, ledger):
    ledger.start_at("shop", START, NOW)
    ledger.add_table("shop", ORDERS, Scn(1), NOW)
    ledger.complete_as("shop", ORDERS, Scn(500), NOW)
    ledger.close()
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for statement in (
            "DROP TABLE redolake_losses",
            "DROP TABLE redolake_breaks",
            "ALTER TABLE redolake_tables DROP COLUMN resetlogs_id",
            "UPDATE redolake_format SET version = 1",
        ):
            connection.execute(text(statement))
    engine.dispose()

    opened = open_ledger(url)

    assert opened.table("shop", ORDERS).place == (START.resetlogs_id, 500)
    assert (opened.loss("shop"), opened.breaks("shop")) == (None, {})
