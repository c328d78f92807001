"""The start of a snapshot against the stand-in: its SCN, its dictionary, and the tables it refuses."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from redolake import steps
from redolake.cockpit import read_overview
from redolake.context import Run
from redolake.errors import ConfigurationError, SnapshotTooEarly, SourceBusy
from redolake.host import progress
from redolake.host.progress import Progress
from redolake.source import handover
from redolake.steps.run import capture
from redolake.values.dictionary_table import DictionaryTable
from tests.fixtures.shop import Shop
from tests.support.doctor import run_doctor

PARTS = (
    "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
    "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
)


@pytest.mark.parametrize("shown", [None, 0, 1])
def test_an_open_transaction_without_a_start_is_waited_for(shop: Shop, monkeypatch: pytest.MonkeyPatch, shown) -> None:
    shop.run_sql(*PARTS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    with shop.oracle.connect("SHOP") as begun, shop.oracle.connect("SHOP") as changed:
        begun.cursor().execute("SELECT id FROM parts FOR UPDATE")  # a transaction without undo holds nothing up
        changed.cursor().execute("INSERT INTO parts (id, place) VALUES (1, 'A')")
        started = max(t.start_scn for t in shop.oracle.database.state.transactions.values())
        shop.oracle.faults.hide_starts(shown)
        monkeypatch.setattr(handover, "START_DEADLINE_SECONDS", 0)
        with pytest.raises(SnapshotTooEarly, match=r"does not show where 1 open transaction.*, 1 undo records") as early:
            steps.begin_snapshot(Run(pipeline, shop.params))
        assert "GV$SESSION" in early.value.cure

        monkeypatch.setattr(handover, "START_DEADLINE_SECONDS", 60)
        monkeypatch.setattr(handover, "sleep", lambda _: shop.oracle.faults.show_starts())
        steps.begin_snapshot(Run(pipeline, shop.params))
        with Run(pipeline) as context:
            position = context.ledger.position()
        assert position is not None
        assert position.scn <= started


def test_a_prepared_transaction_counts_from_its_start_and_must_end_where_none_is_shown(shop: Shop) -> None:
    shop.run_sql(*PARTS)
    with shop.oracle.connect("SHOP") as branch:
        branch.cursor().execute("INSERT INTO parts (id, place) VALUES (1, 'A')")
        (tx,) = shop.oracle.database.state.transactions.values()
        shop.oracle.faults.prepare_transactions()
        pipeline = shop.pipeline(tables=["SHOP.PARTS"])
        steps.begin_snapshot(Run(pipeline, shop.params))
        with Run(pipeline) as context:
            position = context.ledger.position()
        assert position is not None
        assert position.scn <= tx.start_scn

        shop.oracle.faults.prepare_transactions(listed=False)
        with pytest.raises(SnapshotTooEarly, match="in doubt") as early:
            steps.begin_snapshot(Run(pipeline, shop.params))
        assert "COMMIT FORCE '{}.{}.{}'".format(*tx.xid) in early.value.cure


def test_a_table_that_is_read_in_one_piece_says_how_far_it_is(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.run_sql(*PARTS)
    shop.run_sql(*(f"INSERT INTO parts (id, place) VALUES ({n}, 'A')" for n in range(300)))
    source = {"connection": "oracle_shop", "container": "FREEPDB1", "fetch_rows": 100}
    pipeline = shop.pipeline(tables=["SHOP.PARTS"], source=source)
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0)
    seen: list[str] = []

    def report(line: str) -> None:
        if line.startswith("rows of SHOP.PARTS: "):
            seen.append(read_overview(pipeline, pipeline.ledger_url, datetime.now(UTC)).tables[0].snapshot)

    begun = steps.begin_snapshot(pipeline, source=shop.params)
    steps.read_snapshot_table(pipeline, begun.scn_of("SHOP.PARTS"), "SHOP.PARTS", source=shop.params, report=report)

    assert [line.partition(" rows read AS OF SCN ")[0] for line in seen] == ["100", "200", "300"]


def everything_written(shop: Shop) -> set[str]:
    folder = shop.folder / "landing"
    return {file.name for file in folder.rglob("*") if file.is_file() and not file.name.startswith("redolake-ledger")}


def columns_at(pipeline, scn: int) -> list[str]:
    with Run(pipeline) as context:
        found = context.landing.files.read_record(DictionaryTable, f"snapshots/SHOP.PARTS/{scn:020d}/dictionary.json")
        return [column.name for column in found.columns]


@pytest.fixture
def ddl_between(shop: Shop, monkeypatch: pytest.MonkeyPatch):
    """`ddl_between(*statements)` runs each statement once, right after a snapshot's SCN is chosen."""
    chosen = handover.read_handover

    def prepare(*statements: str) -> list[str]:
        left = list(statements)

        def with_ddl(source, container, landed):
            found = chosen(source, container, landed)
            if left:
                shop.run_sql(left.pop(0))
            return found

        monkeypatch.setattr(handover, "read_handover", with_ddl)
        return left

    return prepare


def test_a_ddl_during_the_choice_of_the_scn_repeats_the_choice(shop: Shop, ddl_between) -> None:
    shop.run_sql(*PARTS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    left = ddl_between("ALTER TABLE parts ADD colour VARCHAR2(9)")

    begun = steps.begin_snapshot(Run(pipeline, shop.params))

    assert left == []
    assert columns_at(pipeline, begun.scn) == ["ID", "PLACE", "COLOUR"]
    assert steps.read_snapshot_table(Run(pipeline, shop.params), begun.scn, "SHOP.PARTS").rows == 0


def test_the_dictionary_of_a_snapshot_is_as_of_its_scn(shop: Shop) -> None:
    shop.run_sql(*PARTS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])

    scn = steps.begin_snapshot(Run(pipeline, shop.params)).scn

    with Run(pipeline) as context:
        found = context.landing.files.read_record(DictionaryTable, f"snapshots/SHOP.PARTS/{scn:020d}/dictionary.json")
    assert (found.scn_before, found.scn_after) == (scn, scn)


def test_continuous_ddl_fails_the_snapshot_as_busy_and_nothing_is_written(shop: Shop, ddl_between) -> None:
    shop.run_sql(*PARTS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    ddl_between(*(f"ALTER TABLE parts ADD c{number} NUMBER" for number in range(9)))

    with pytest.raises(SourceBusy, match=r"DDL keeps changing.*SHOP\.PARTS"):
        steps.begin_snapshot(Run(pipeline, shop.params))
    assert everything_written(shop) == set()


@pytest.mark.parametrize(
    ("statement", "parts"),
    [
        ("CREATE TABLE bad (id NUMBER(9), n NUMBER(9))", ("no enabled primary key", "ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")),
        ("CREATE TABLE bad (id NUMBER(9) PRIMARY KEY, note CLOB)", ("SHOP.BAD.NOTE", "CLOB")),
        ("CREATE TABLE badly (id NUMBER(9) PRIMARY KEY)", ("SHOP.BAD: does not exist", "did you mean SHOP.BADLY?")),
    ],
    ids=["neither key nor logging", "a type that is not captured", "misspelt"],
)
def test_errors_that_doctor_finds_refuse_a_snapshot_of_named_tables_before_anything_is_written(
    shop: Shop, statement: str, parts
) -> None:
    shop.run_sql(*PARTS, statement)
    pipeline = shop.pipeline(tables=["SHOP.PARTS", "SHOP.BAD"])

    with pytest.raises(ConfigurationError) as refused:
        steps.begin_snapshot(Run(pipeline, shop.params), ["SHOP.PARTS", "SHOP.BAD"])

    for part in parts:
        assert part in str(refused.value)
    found = [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"]
    assert set(refused.value.findings) == {f for f in found if f.subject != "connection oracle_shop"}
    assert everything_written(shop) == set()


def test_the_character_set_of_the_pdb_is_recorded(shop: Shop) -> None:
    shop.run_sql(*PARTS)
    shop.oracle.database.state.pdb_characterset = "WE8MSWIN1252"
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])

    steps.begin_snapshot(Run(pipeline, shop.params))

    with Run(pipeline) as context:
        assert context.landing.encoding().text == "WE8MSWIN1252"


def test_a_character_set_without_a_decoder_is_a_warning(shop: Shop) -> None:
    shop.run_sql(*PARTS)
    shop.oracle.database.state.pdb_characterset = "WE8EBCDIC1047"
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])

    (found,) = (f for f in run_doctor(pipeline, shop.params) if "WE8EBCDIC1047" in f.what and f.severity != "note")

    assert found.severity == "warning"
    assert steps.begin_snapshot(Run(pipeline, shop.params)).tables == ("SHOP.PARTS",)


def test_no_snapshot_is_taken_before_capture_has_followed_a_resetlogs(shop: Shop) -> None:
    shop.run_sql(*PARTS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    steps.begin_snapshot(Run(pipeline, shop.params))
    shop.switch_logs()
    shop.oracle.faults.reset_logs()

    with pytest.raises(SnapshotTooEarly, match="was opened with RESETLOGS"):
        steps.begin_snapshot(Run(pipeline, shop.params))

    shop.run_sql("INSERT INTO parts VALUES (1, 'A')")
    shop.switch_logs()
    while capture(Run(pipeline, shop.params)).plan.outcome == "window":
        pass
    assert steps.begin_snapshot(Run(pipeline, shop.params)).tables == ("SHOP.PARTS",)


@pytest.mark.parametrize(("gathered", "totals"), [(False, [None, 3]), (True, [5, 3])])
def test_a_first_snapshot_expects_the_rows_of_the_statistics(shop: Shop, gathered: bool, totals: list[int | None]) -> None:
    shop.run_sql(*PARTS, *(f"INSERT INTO parts (id, place) VALUES ({number}, 'A')" for number in range(5)))
    if gathered:
        shop.run_sql("BEGIN DBMS_STATS.GATHER_TABLE_STATS('SHOP', 'PARTS'); END;")
    shop.run_sql("DELETE FROM parts WHERE id > 2")
    pipeline, lines = shop.pipeline(tables=["SHOP.PARTS"]), list[str]()

    begun = steps.begin_snapshot(Run(pipeline, shop.params))
    steps.read_snapshot_table(Run(pipeline, shop.params, report=lines.append), begun.scn, "SHOP.PARTS")

    assert [line.total for line in lines if isinstance(line, Progress)] == totals, "the last one is exact"
