"""What an operator sees, from the ledger alone: the sentence, lag, latency, accounts, tables and choices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from redolake.cockpit import Overview, read_overview
from redolake.cockpit.metrics import prometheus_text
from redolake.cockpit.overview import account_parts
from redolake.cockpit.render import Pages
from redolake.config import Pipeline
from redolake.ledger.store import checked_url
from redolake.records.batches.manifest import HistoryFact
from redolake.records.codec import to_body
from redolake.records.proofs import ProvedHistory
from redolake.records.shown_facts import DropFact, DropsFact, PlanFact, ProofFact, QuarantineFact, RedoFact, SnapshotFact
from redolake.steps.shared.status import read_status
from redolake.values.redo import Position
from redolake.values.scn import Scn
from redolake.values.table import TableId
from tests.states.cockpit_ledger import FIRST_SCN, INCARNATION, SCNS, CockpitLedger

NOW = datetime(2026, 5, 1, 14, 2, 41, tzinfo=UTC)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CockpitLedger]:
    url = "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    made = CockpitLedger(tmp_path, NOW, url=url)
    yield made
    made.ledger.close()


def seen(shop: CockpitLedger, **how: object) -> Overview:
    return read_overview(shop.pipeline, shop.url, NOW, **how)  # type: ignore[arg-type]


def page(shop: CockpitLedger, found: Overview) -> str:
    return Pages("/redolake", "", ["shop"], NOW).pipeline(found, [str(table) for table in shop.tables])


def test_a_pipeline_on_time_says_how_far_it_is_and_how_much_it_lags(shop: CockpitLedger) -> None:
    shop.run(lag_seconds=41)

    health = seen(shop).health

    assert (health.state, health.tone, health.lag_seconds) == ("on time", "good", 41)
    assert health.sentence == "Right up to 14:02:00 (SCN 2,013,999), 41 s behind."
    assert health.more == ("runway at least 10 h", "4 of 5 tables proved equal since 13:58:41")
    assert health.known_at == NOW - timedelta(seconds=6)


def wait_for_a_log(shop: CockpitLedger) -> None:
    since = (NOW - timedelta(minutes=4)).isoformat()
    shop.ledger.record_fact("plan", to_body(PlanFact("wait", "not archived yet", since, 2, 108)))


def stop_runs(shop: CockpitLedger) -> None:
    shop.clock = NOW - timedelta(hours=3)
    shop.contact(14, NOW)


def leave_unapplied(shop: CockpitLedger) -> None:
    for number in (14, 15):
        shop.window(number, NOW - timedelta(minutes=45 - number), applied=False)


CASES: dict[str, tuple[Callable[[CockpitLedger], None], float, str, str]] = {
    "lost redo": (CockpitLedger.lose_redo, 41, "stopped", "Stopped since 14:02:41: log 105 of redo thread 1 was deleted."),
    "no answer": (CockpitLedger.lose_the_source, 41, "source away", "Oracle has not answered for 7 min: the listener"),
    "a log that is due": (wait_for_a_log, 41, "waiting for a log", "Waiting for log 108 of redo thread 2 for 4 min"),
    "no run for hours": (stop_runs, 41, "late", "Late: no run has asked Oracle for 3 h."),
    "apply stands still": (leave_unapplied, 3600, "late", "Late: 2 landed windows wait to be applied."),
}


@pytest.mark.parametrize(("what", "lag", "state", "says"), CASES.values(), ids=CASES)
def test_the_sentence_names_what_keeps_the_pipeline(
    shop: CockpitLedger, what: Callable[[CockpitLedger], None], lag: float, state: str, says: str
) -> None:
    shop.run(lag_seconds=lag)
    what(shop)

    health = seen(shop).health

    assert (health.state, says in health.sentence) == (state, True), health.sentence


def test_the_page_of_openlogreplicator_has_its_streams_and_no_word_of_logminer(shop: CockpitLedger) -> None:
    shop.run()
    shop.receive()

    found = seen(shop)
    shown = page(shop, found)

    assert [(s.thread, s.address, s.sequence, s.behind_seconds) for s in found.streams] == [
        (1, "10.0.0.1:5000", 107, 8.0),
        (2, "10.0.0.2:5000", 107, 8.0),
    ]
    assert [term.name for term in found.latency.terms] == ["window", "receive", "land", "wait", "apply"]
    assert found.health.state == "on time"
    assert "10.0.0.2:5000" in shown
    assert [word for word in ("LogMiner", "mined", "mining", ">mine<", "holds windows back") if word in shown] == []


def test_the_page_says_since_when_the_database_has_proved_nothing(shop: CockpitLedger) -> None:
    shop.run()
    shop.receive()
    before = page(shop, seen(shop))
    shop.receive(unproved_since=2_000_345)

    found = seen(shop)

    assert "without a connection" not in before
    assert "Received without a connection since SCN 2,000,345" in " ".join(page(shop, found).split())
    assert "not proved by the database since SCN 2,000,345" in found.health.more


def test_the_thread_whose_stream_holds_windows_back_is_named(shop: CockpitLedger) -> None:
    shop.run()
    shop.receive(held_by=2)

    found = seen(shop)

    assert found.health.state == "late"
    assert found.health.sentence.startswith(
        "Windows are held back for 4 min by the stream of redo thread 2 (10.0.0.2:5000). Right up to"
    )
    assert "holds windows back" in page(shop, found)


def test_a_paused_pipeline_and_one_that_never_began_are_not_called_late(shop: CockpitLedger) -> None:
    before = seen(shop).health
    shop.run()

    assert (before.state, seen(shop, paused=True).health.state) == ("not started", "paused")


def test_a_ledger_is_not_made_by_looking_for_it(tmp_path: Path, shop: CockpitLedger) -> None:
    missing = tmp_path / "nowhere" / "ledger.db"

    found = read_overview(shop.pipeline, f"sqlite:///{missing}", NOW)

    assert (found.health.state, missing.exists(), missing.parent.exists()) == ("not started", False, False)


def contents(shop: CockpitLedger, folder: Path) -> object:
    """Return the bytes of the SQLite file, or every row in PostgreSQL."""
    if shop.url.startswith("sqlite"):
        return (folder / "ledger.db").read_bytes()
    engine = create_engine(checked_url(shop.url))
    try:
        with engine.connect() as connection:
            return {
                table: connection.execute(text(f'SELECT t.*, t.xmin FROM "{table}" t')).all()
                for table in inspect(connection).get_table_names()
            }
    finally:
        engine.dispose()


def test_reading_changes_nothing_in_the_ledger(tmp_path: Path, shop: CockpitLedger) -> None:
    shop.run()
    shop.ledger.close()
    before = contents(shop, tmp_path)

    page(shop, seen(shop, search="ORDERS"))

    assert contents(shop, tmp_path) == before


def test_the_term_that_grew_is_named(shop: CockpitLedger) -> None:
    shop.run(13)
    shop.window(13, NOW - timedelta(minutes=6), applied=False)
    name = f"{INCARNATION:010d}-{FIRST_SCN + 13 * SCNS:020d}-{FIRST_SCN + 14 * SCNS:020d}"
    shop.clock += timedelta(minutes=4)
    shop.apply(name, 13, {"landed": 10, "applied": 10})

    terms = {term.name: term for term in seen(shop).latency.terms}

    assert [name for name, term in terms.items() if term.has_grown] == ["wait"]
    assert (terms["mine"].seconds, terms["wait"].seconds, terms["wait"].usual_seconds) == (12, 243, 3)


def test_the_parts_of_a_windows_account_add_up_and_a_difference_is_shown(shop: CockpitLedger) -> None:
    shop.run(2)
    shop.window(2, NOW - timedelta(minutes=1), landed=100, rolled_back=25, carried_out=12)

    found = seen(shop)
    wrong, right = found.windows[0], found.windows[1]

    assert [(part.name, part.rows) for part in right.parts] == [("applied", 1250), ("rolled back", 25), ("still open", 15)]
    assert (right.difference, wrong.difference) == (0, 3)
    assert "3 rows are missing" in page(shop, found)


def test_older_windows_are_reached_page_by_page(shop: CockpitLedger) -> None:
    shop.run(7)

    newest = seen(shop, windows=3)
    older = seen(shop, windows=3, before=newest.next_windows)
    oldest = seen(shop, windows=3, before=older.next_windows)

    ends = [[(w.end_scn - FIRST_SCN) // SCNS for w in part.windows] for part in (newest, older, oldest)]
    assert ends == [[7, 6, 5], [4, 3, 2], [1]]
    assert oldest.next_windows is None


def test_held_tables_come_first_with_their_cure_and_the_buttons_for_it(shop: CockpitLedger) -> None:
    shop.run()
    shop.hold_stock()

    found = seen(shop)
    text = page(shop, found)

    assert (found.tables[0].table, found.tables[0].state, found.health.tone) == ("SHOP.STOCK", "held", "notice")
    assert (found.health.state, "held: SHOP.STOCK" in found.health.more) == ("incomplete", True)
    assert "<code>redolake snapshot SHOP.STOCK --replace -p shop</code> reads the table again" in text
    resume = '"conf": {"dry_run": false, "mend": "resume", "tables": ["SHOP.STOCK"]}, "costs"'
    assert resume in text.replace("&#34;", '"')
    assert '"conf": {"replace": true, "tables": ["SHOP.STOCK"]}' in text.replace("&#34;", '"')


@pytest.mark.parametrize(
    "left", [["SHOP.ORDERS"], ["SHOP.O*"], ["SHOP.*", "!SHOP.STOCK"]], ids=["named", "a pattern", "excluded"]
)
def test_tables_that_are_no_longer_listed_say_so_and_neither_lag_nor_alarm(shop: CockpitLedger, left: list[str]) -> None:
    shop.run()
    shop.hold_stock()
    shop.ledger.record_complete_to(TableId("SHOP", "CUSTOMERS"), Scn(FIRST_SCN + 1), INCARNATION, 1)
    shop.pipeline = Pipeline.model_validate({**shop.pipeline.model_dump(mode="json", exclude_unset=True), "tables": left})

    found = seen(shop)
    text = page(shop, found)

    stock = found.tables[-1]
    assert (stock.table, stock.listed, stock.behind) == ("SHOP.STOCK", False, False)
    assert "held, not listed" in text
    assert '"conf": {"replace": true, "tables": ["SHOP.STOCK"]}' not in text.replace("&#34;", '"')
    assert (found.table_counts["not listed"], "held" in found.table_counts) == (5 - sum(t.listed for t in found.tables), False)
    assert (found.health.tone, "held" in " ".join(found.health.more)) == ("good", False)
    status = {t.table: t.listed for t in read_status(shop.pipeline).tables}
    assert left[0] != "SHOP.ORDERS" or status == {t.table: t.listed for t in found.tables}


def test_logs_that_landed_after_the_last_look_at_the_source_are_shown_as_read(shop: CockpitLedger) -> None:
    shop.run(2)
    thread = shop.thread(1, NOW - timedelta(minutes=20))
    unread = tuple(replace(log, kind="unread") if log.kind == "read" else log for log in thread.logs)
    landed_to = FIRST_SCN + 5 * SCNS
    fact = RedoFact(INCARNATION, FIRST_SCN, landed_to, (replace(thread, logs=unread),))
    shop.ledger.record_fact("redo", to_body(fact))
    shop.ledger.correct_position(Position(7, INCARNATION, Scn(landed_to)))

    redo = seen(shop).redo

    assert redo is not None
    assert redo.threads[0].unread == 2, "logs 105 and 106 end after the position"


def test_a_log_that_begins_after_the_next_one_by_the_clock_of_the_source_is_drawn_without_width(shop: CockpitLedger) -> None:
    shop.run(2)
    thread = shop.thread(1, NOW - timedelta(minutes=2))
    logs = list(thread.logs)
    late = datetime.fromisoformat(logs[-1].begins_at or "") + timedelta(seconds=9)
    logs[-2] = replace(logs[-2], begins_at=late.isoformat())  # the clock was set back
    shop.ledger.record_fact("redo", to_body(RedoFact(INCARNATION, FIRST_SCN, FIRST_SCN, (replace(thread, logs=tuple(logs)),))))

    redo = seen(shop).redo

    assert redo is not None
    assert min(log.ends - log.begins for log in redo.threads[0].logs) >= 0


def test_rows_of_the_last_day_are_counted_by_kind_and_once(shop: CockpitLedger) -> None:
    shop.run(4)
    counted = next(table for table in seen(shop).tables if table.table == "SHOP.ORDERS")

    assert (counted.inserted, counted.updated, counted.deleted) == (4 * 217, 4 * 90, 4 * 4)


def test_a_failed_proof_outweighs_the_others(shop: CockpitLedger) -> None:
    shop.run()
    shop.ledger.record_proof(shop.tables[1], to_body(ProofFact(FIRST_SCN, 5, 1000, missing_rows=2)))

    found = seen(shop)

    assert "DIFFER from the source: SHOP.ORDERS" in found.health.more
    assert (found.health.state, found.health.tone) == ("wrong", "bad")
    assert found.health.sentence.endswith("41 s behind: 1 DIFFERS from the source.")
    assert "shop_mend" in found.health.cure
    assert "DIFFERS, 2 rows missing" in page(shop, found)


def test_a_comparison_that_could_not_be_made_hides_no_difference_and_is_none(shop: CockpitLedger) -> None:
    shop.run()
    failed = to_body(ProofFact(FIRST_SCN, 5, None, error="NotCompared"))
    shop.ledger.record_proof(shop.tables[0], failed)
    assert "DIFFER" not in " ".join(seen(shop).health.more)
    shop.ledger.record_proof(shop.tables[1], to_body(ProofFact(FIRST_SCN, 5, 1000, missing_rows=2)))
    shop.clock += timedelta(seconds=1)
    shop.ledger.record_proof(shop.tables[1], failed)

    found = seen(shop)

    assert "DIFFER from the source: SHOP.ORDERS" in found.health.more
    assert [table.table for table in found.tables if table.differs] == [str(shop.tables[1])]


def test_a_snapshot_in_progress_says_how_far_it_is(shop: CockpitLedger) -> None:
    shop.start()
    shop.clock = NOW - timedelta(seconds=50)
    shop.ledger.move_table(shop.tables[0], ("live",), "snapshotting", snapshot_scn=FIRST_SCN + 9)  # type: ignore[arg-type]
    shop.ledger.record_fact("snapshot", to_body(SnapshotFact("read", FIRST_SCN + 9, 1234567, 20.0)), "SHOP.CUSTOMERS")

    assert seen(shop).tables[0].snapshot == "1,234,567 rows read in 20 s, loading for 50 s"
    in_chunks = SnapshotFact("reading", FIRST_SCN + 9, chunks=800, chunks_read=30)
    shop.ledger.record_fact("snapshot", to_body(in_chunks), "SHOP.CUSTOMERS")
    assert seen(shop).tables[0].snapshot == f"30 of 800 chunks read AS OF SCN {FIRST_SCN + 9:,}, the last 50 s ago"
    with_bytes = replace(in_chunks, bytes=200_000_000_000, bytes_read=7_500_000_000, seconds_left=5400)
    shop.ledger.record_fact("snapshot", to_body(with_bytes), "SHOP.CUSTOMERS")
    found = seen(shop).tables[0].snapshot
    assert found.startswith("30 of 800 chunks, 7.5 GB of 200.0 GB (4 %), read AS OF SCN")
    assert found.endswith("the last 50 s ago, some 1 h 30 min left")
    in_one_piece = SnapshotFact("reading", FIRST_SCN + 9, 120_000, seconds_left=95, expected=500_000, rows_per_second=4000)
    shop.ledger.record_fact("snapshot", to_body(in_one_piece), "SHOP.CUSTOMERS")
    found = seen(shop).tables[0].snapshot
    assert found.startswith("120,000 of some 500,000 (24 %) rows read AS OF SCN")
    assert found.endswith("50 s ago, 4,000 a second, some 1 min 35 s left")
    shown = prometheus_text([seen(shop)])
    of_table = '{pipeline="shop",table="SHOP.CUSTOMERS"}'
    for name, value in (("read_ratio", "0.24"), ("rows_per_second", "4000"), ("seconds_left", "95")):
        assert f"redolake_snapshot_{name}{of_table} {value}\n" in shown


def test_choices_after_lost_redo_have_their_costs_and_ask_for_what_the_form_needs(shop: CockpitLedger) -> None:
    shop.run()
    shop.lose_redo()

    text = page(shop, seen(shop)).replace("&#34;", '"')

    assert "RESTORE ARCHIVELOG SEQUENCE 105 THREAD 1;" in text
    assert '"conf": {"choice": "gap", "dry_run": false}' in text
    assert "This cannot be undone: write shop here." in text
    assert "missing 105" in text


def test_text_from_the_database_is_escaped(shop: CockpitLedger) -> None:
    shop.run()
    shop.ledger.hold(shop.tables[0], {"code": "X", "what": "<script>alert(1)</script>", "where": {}, "cure": "`<b>`"})

    text = page(shop, seen(shop))

    assert "<script>alert" not in text
    assert "<code>&lt;b&gt;</code>" in text


def test_the_page_and_status_say_the_same_of_a_table_and_of_the_newest_windows(shop: CockpitLedger) -> None:
    """Whatever the page lists: a table may be complete to a window that is older."""
    shop.run(13)
    shop.window(13, NOW - timedelta(minutes=6), applied=False)
    shop.ledger.record_complete_to(shop.tables[0], Scn(FIRST_SCN + 3 * SCNS - 1), INCARNATION, 3)

    found, status = seen(shop, windows=2), read_status(shop.pipeline)

    by_page = {t.table: (t.state, t.complete_to_scn, t.complete_to_at, t.error, t.cure or None) for t in found.tables}
    assert by_page == {t.table: (t.state, t.complete_to_scn, t.complete_to_at, t.error, t.cure) for t in status.tables}
    assert None not in {t.complete_to_at for t in status.tables}
    newest = [(w.name, w.state, w.rows, w.logs, w.ends_at) for w in found.windows]
    assert newest == [(w.name, w.state, w.rows, w.logs, w.ends_at) for w in status.windows[:-3:-1]]
    assert found.transaction_count == status.open_transactions


def test_the_last_batches_say_what_became_of_their_rows_and_when_they_were_committed_landed_and_applied(
    shop: CockpitLedger,
) -> None:
    shop.run()
    found = seen(shop)
    newest, *older = found.batches
    row = re.sub(r"<[^>]+>", " ", page(shop, found).partition('id="batches"')[2].partition("<tbody>")[2].partition("</tr>")[0])

    assert (newest.inserted, newest.updated, newest.deleted, newest.masked, newest.nulled) == (210, 90, 4, 33, 2)
    assert (newest.rows["filtered"], newest.ddl, len(older)) == (7, {"add_column": 1}, 5)
    assert newest.first_commit_at == newest.last_commit_at == newest.applied_at
    assert newest.landed_at is not None
    assert row.split()[3:11] == ["210", "90", "4", "7", "33", "·", "2", "1"]


def test_keys_in_quarantine_are_counted_on_the_page_and_in_the_metrics_and_filtered_rows_are_not_missing(
    shop: CockpitLedger,
) -> None:
    shop.run()
    shop.ledger.record_fact("quarantine", to_body(QuarantineFact(3)), str(shop.tables[0]))
    equal = ProofFact(5, 1, 10, quarantined_keys=3)
    shop.ledger.record_proof(shop.tables[0], to_body(equal))

    found = seen(shop)
    text = page(shop, found)
    parts, difference = account_parts({"landed": 9, "applied": 4, "filtered": 3, "quarantined": 1, "left_out": 1})

    assert "In quarantine: 3 keys whose rows are known to be wrong" in text
    assert "equal but for quarantine" in text
    assert 'redolake_quarantined_keys{pipeline="shop"} 3' in prometheus_text([found])
    assert ([(part.name, part.rows) for part in parts], difference) == (
        [("applied", 4), ("filtered", 3), ("in quarantine", 1), ("left out", 1)], 0,
    )  # fmt: skip


def test_a_history_is_shown_with_its_epoch_and_one_that_says_something_else_makes_the_pipeline_bad(shop: CockpitLedger) -> None:
    shop.run()
    shop.pipeline = shop.pipeline.model_copy(update={"history": "scd2"})
    reached = HistoryFact(3, 2_014_887, 2_001_234, "rows were repaired", 2_000_000)
    shop.ledger.record_fact("history", to_body(reached), str(shop.tables[0]))
    shop.ledger.record_proof(shop.tables[0], to_body(ProofFact(5, 1, 10, history=ProvedHistory(waits="rows were repaired"))))
    before = seen(shop)
    shop.ledger.record_proof(shop.tables[0], to_body(ProofFact(6, 1, 10, history=ProvedHistory(missing_rows=2))))
    found = seen(shop)
    text = page(shop, found)

    epoch = "epoch 3 counts since SCN 2,001,234, because rows were repaired; the last commit is of SCN 2,014,887"
    shown = f"History (scd2): {epoch}; 2.0 MB."
    assert shown in page(shop, before)
    assert "History (scd2): it begins with the next batch." in text
    assert "It DIFFERS from the table." in text
    assert "10 rows are equal, 2 rows missing in the history, 0 extra, SCN 6" in text
    assert '<span class="bad">HISTORY DIFFERS' in text
    assert ('<i class="cell bad"' in page(shop, before), '<i class="cell bad"' in text) == (False, True)
    assert (before.health.tone, found.health.tone) == ("good", "bad")
    assert "histories that DIFFER: SHOP.CUSTOMERS" in found.health.more
    metrics = prometheus_text([found])
    assert 'redolake_histories{pipeline="shop"} 1\n' in metrics
    assert 'redolake_history_bytes{pipeline="shop"} 2000000' in metrics
    assert 'redolake_histories_differing{pipeline="shop"} 1' in metrics


def test_a_table_that_was_dropped_and_is_kept_is_named_and_does_not_count(shop: CockpitLedger) -> None:
    shop.run()
    scn = 9_007_199_254_740_000  # above the integers of 32 bits
    shop.ledger.record_version(shop.tables[0], Scn(1), {"dropped_at": None}, "baseline")
    shop.ledger.record_version(shop.tables[1], Scn(1), {}, "baseline")
    shop.ledger.record_version(shop.tables[1], Scn(scn), {"dropped_at": scn}, "ddl")

    found = seen(shop)

    assert [table.table for table in found.tables if table.dropped_at == scn] == ["SHOP.ORDERS"]
    assert (found.health.right_tables, found.health.captured_tables, found.table_counts["dropped"]) == (4, 4, 1)
    assert "1 table dropped in Oracle and kept in Delta" in found.health.more
    assert "live, dropped in Oracle" in page(shop, found)


def test_the_summary_is_that_of_now_on_a_page_of_older_windows_too(shop: CockpitLedger) -> None:
    shop.run(7)
    newest = seen(shop, windows=3)

    assert seen(shop, windows=3, before=newest.next_windows).health == newest.health


def test_each_open_gap_drop_and_key_in_quarantine_makes_its_tables_less_than_right(shop: CockpitLedger) -> None:
    shop.run()
    shop.decide()
    shop.ledger.record_fact("drops", to_body(DropsFact((DropFact("9.2.11", FIRST_SCN + 500, ("SHOP.CUSTOMERS",)),))))

    found = seen(shop)

    assert (found.health.state, found.health.tone, found.health.right_tables) == ("incomplete", "notice", 2)
    assert found.health.faults == {"gap": ("SHOP.ORDERS", "SHOP.ORDER_LINES"), "dropped": ("SHOP.CUSTOMERS",)}
    assert "SCN 2,000,200 to 2,000,399 was never read, in SHOP.ORDERS, SHOP.ORDER_LINES" in found.health.more
    assert "live, lacks a gap" in page(shop, found)
    assert 'redolake_declared_gaps{pipeline="shop"} 1' in prometheus_text([found])
