"""What lies written is the truth: the ledger follows it over breaks and rewound SCNs, and apply begins anew behind them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pipelines.config import Pipeline
from pipelines.context import Workplace, workplace
from pipelines.errors import InvariantBroken, RedoLost, SnapshotTooEarly, Terminal
from pipelines.land import layout
from pipelines.ledger.tables import batches as batches_table
from pipelines.reconcile.batches import attempt_of, batch_name, beyond, end_of, is_of_the_chain, load_name
from pipelines.reconcile.dictionary_files import readings
from pipelines.reconcile.ledger import correct_ledger, drops, last_batch
from pipelines.reconcile.table_versions import known_versions
from pipelines.reconcile.tables import captured_from
from pipelines.records.batch_result import CARRIED_IN, BatchResult, RowAccount, TableResult
from pipelines.records.codec import encode, to_body
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.handover import FirstPosition
from pipelines.records.open_transaction import OpenTransaction
from pipelines.records.snapshot_load import SnapshotLoaded, SnapshotResult, SnapshotSpec, SnapshotTask
from pipelines.records.window_manifest import DdlRow, WindowManifest
from pipelines.redo import Incarnation, Position, RedoFacts
from pipelines.scn import ChainPosition, Scn
from pipelines.source import Handover
from pipelines.steps import snapshot as snapshot_steps
from pipelines.steps.apply import resume_tables
from pipelines.steps.next_batch import catch_up, next_batch
from pipelines.steps.snapshot import begin_snapshot, check_stretch, prepare_snapshot_load, stretch_of
from pipelines.steps.status import list_windows, read_status
from pipelines.table import Column, DictionaryColumn, DictionaryTable, OracleType, TableId, TableVersion
from tests.unit.records.samples import TABLE

ORDERS = TableId("SHOP", "ORDERS")
DBID, FIRST, SECOND = 7, 11, 12
OPEN = OpenTransaction(3, "1.2.3", 1, 150, None, 4, 400, "SHOP")


class Beside:
    """Writes what steps would have left beside the data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        body = {
            "name": "shop",
            "source": {"connection": "x", "container": "PDB"},
            "landing": str(folder),
            "lake": str(folder / "lake"),
            "tables": ["SHOP.ORDERS"],
        }
        self.pipeline = Pipeline.model_validate(body)
        self.write(layout.HANDOVER, FirstPosition(DBID, FIRST, 100, "AL32UTF8"))

    def write(self, path: str, body: Any) -> None:
        file = self.folder / "shop" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((body if isinstance(body, str) else encode(body)).encode())

    def window(
        self,
        start: int,
        end: int,
        resetlogs_id: int = FIRST,
        ddl: tuple[DdlRow, ...] = (),
        tables: tuple[str, ...] = ("SHOP.ORDERS",),
    ) -> WindowManifest:
        made = WindowManifest(DBID, resetlogs_id, start, end, (), tables, {}, "hash", ddl, (f"{start}.parquet",))
        self.write(f"windows/{made.name}/manifest.json", made)
        self.write(f"chain/{resetlogs_id:010d}-{start:020d}.json", made)
        return made

    def load(self, scn: int, resetlogs_id: int = FIRST, supersedes: tuple[str, ...] = (), since: int | None = None) -> None:
        """`since` is where the oldest transaction began that was open at `scn`."""
        if since is not None:
            with workplace(self.pipeline) as work:
                begun(work, scn, since)
        column = Column(1, "ID", OracleType("NUMBER", precision=9, scale=0), 1, False)
        version = TableVersion(ORDERS, Scn(scn), 4711, 4711, (column,), (1,), 2)
        task = SnapshotTask(ORDERS, "target", f"shop/{ORDERS}/{resetlogs_id}", version, (), supersedes=supersedes)
        name = f"loads/{load_name(scn, f'token{resetlogs_id}', (task,))}"
        manifest = str(self.folder / "shop" / name / "manifest.json")
        self.write(f"{name}/spec.json", encode(SnapshotSpec("shop", scn, "token", (task,), manifest)))
        result = SnapshotResult("shop", scn, (SnapshotLoaded(ORDERS, "applied", True, 3),))
        self.write(f"{name}/manifest.json", encode(result))

    def batch(
        self,
        *windows: WindowManifest,
        state: Any = "applied",
        open_now: tuple[OpenTransaction, ...] = (),
        complete_to: int | None = None,
        catch_up: str = "",
        position: int | None = None,
        left_out: bool = False,
        accounts: Mapping[str, RowAccount] | None = None,
    ) -> str:
        first, last = windows[0], windows[-1]
        complete_to = complete_to or (last.end - 1 if state == "applied" else 199)
        error = None if state == "applied" else {"code": "Test", "what": "held", "where": {}, "cure": ""}
        done = TableResult(ORDERS, state, complete_to, error, position=position or complete_to)
        carry = ("carry.parquet",) if open_now else ()
        names = tuple(w.name for w in windows)
        token = f"{ORDERS}:{catch_up}" if catch_up else "t"
        tables = () if left_out else (done,)
        result = BatchResult("shop", first.resetlogs_id, first.start, last.end, token, names, tables, open_now, carry)
        result = replace(result, accounts=accounts or {})
        name = batch_name(first.resetlogs_id, first.start, last.end, catch_up)
        self.write(f"batches/{name}/manifest.json", encode(result))
        return name

    def break_(
        self,
        start: int,
        end: int,
        kind: Any = "gap",
        end_in: int = FIRST,
        dropped: tuple[OpenTransaction, ...] = (),
        of: int = 90,
    ) -> None:
        with workplace(self.pipeline) as work:
            work.landing.gaps.declare(
                DeclaredGap(
                    kind,
                    Position(DBID, FIRST, Scn(start)),
                    Position(DBID, end_in, Scn(end)),
                    "tapes are gone",
                    "dba",
                    "2026-05-01",
                    "log 7",
                    {"SHOP.ORDERS": of},
                    dropped,
                )
            )


@pytest.fixture
def beside(tmp_path: Path) -> Beside:
    """Loaded at SCN 120; a window [100, 200), applied, with a transaction open at its end."""
    made = Beside(tmp_path)
    made.load(120)
    made.batch(made.window(100, 200), open_now=(OPEN,))
    return made


@pytest.fixture
def work(beside: Beside) -> Iterator[Workplace]:
    """With a ledger that knows nothing yet."""
    with workplace(beside.pipeline) as opened:
        yield opened


def table(work: Workplace) -> Any:
    correct_ledger(work)
    return work.ledger.table(ORDERS)


def test_a_lost_ledger_knows_the_table_again(work: Workplace) -> None:
    entry = table(work)

    assert (entry.state, entry.snapshot_scn, entry.position) == ("live", 120, ChainPosition(FIRST, 199))
    assert [v.source for v in work.ledger.versions(ORDERS)] == ["baseline"]
    assert work.ledger.position() == Position(DBID, FIRST, Scn(200))


def test_an_older_ledger_hears_of_a_newer_snapshot(beside: Beside, work: Workplace) -> None:
    table(work)
    beside.load(250)
    entry = table(work)

    assert (entry.state, entry.snapshot_scn, entry.position) == ("live", 250, ChainPosition(FIRST, 250))
    assert [int(v.from_scn) for v in work.ledger.versions(ORDERS)] == [120, 250]


def test_a_table_that_a_load_has_set_back_is_caught_up_from_there(beside: Beside, work: Workplace) -> None:
    """It was read AS OF 250 to be replaced, and applied on to 299 before it was loaded."""
    window = beside.window(200, 300)
    passed = beside.batch(window)
    assert table(work).position == ChainPosition(FIRST, 299)

    beside.load(250, supersedes=(passed,))

    assert (table(work).state, table(work).position) == ("live", ChainPosition(FIRST, 250))
    ahead = catch_up(work, last_batch(work))
    assert ahead is not None
    assert (ahead.start, ahead.end, ahead.tables[0].hold, ahead.tables[0].at_least) == (200, 300, None, 250)
    beside.batch(window, catch_up="1", position=250)
    assert [table(work).position for _ in range(2)] == [ChainPosition(FIRST, 299)] * 2
    beside.window(300, 400)
    ahead = next_batch(work, last_batch(work))
    assert ahead is not None
    assert (ahead.start, ahead.tables[0].at_least) == (300, 250)


def test_a_lost_ledger_knows_which_batches_a_load_has_made_void(beside: Beside, work: Workplace) -> None:
    beside.load(250, supersedes=(beside.batch(beside.window(200, 300)),))

    assert (table(work).state, table(work).position) == ("live", ChainPosition(FIRST, 250))
    beside.batch(beside.window(300, 400), catch_up="1")
    assert table(work).position == ChainPosition(FIRST, 399)


def test_a_load_that_was_set_back_by_another_counts_no_more(beside: Beside, work: Workplace) -> None:
    passed = beside.batch(beside.window(200, 300))
    beside.load(250)
    beside.load(220, supersedes=(passed, f"{250:020d}-token{FIRST}"))

    assert table(work).position == ChainPosition(FIRST, 220)


def test_an_order_to_load_names_what_has_passed_its_scn(beside: Beside, work: Workplace) -> None:
    beside.load(250)
    passed = beside.batch(beside.window(200, 300))

    assert beyond(work, ChainPosition(FIRST, 220)).get(ORDERS, ()) == (passed, f"{250:020d}-token{FIRST}")
    assert beyond(work, ChainPosition(FIRST, 250)).get(ORDERS, ()) == (passed,)
    assert beyond(work, ChainPosition(FIRST, 299)).get(ORDERS, ()) == ()
    assert beyond(work, ChainPosition(SECOND, 10)).get(ORDERS, ()) == ()


def test_a_gap_moves_the_position_and_lets_the_table_live(beside: Beside, work: Workplace) -> None:
    beside.break_(200, 300, dropped=(OPEN,), of=120)
    entry = table(work)

    assert work.ledger.position() == Position(DBID, FIRST, Scn(300))
    assert (entry.state, entry.position) == ("live", ChainPosition(FIRST, 199))
    (told,) = read_status(beside.pipeline)["breaks"]
    assert (told["from_scn"], told["to_scn"], told["tables"], told["dropped_rows"]) == (200, 300, ["SHOP.ORDERS"], 4)


def test_a_gap_is_told_until_the_table_is_read_anew(beside: Beside, work: Workplace) -> None:
    beside.break_(200, 300, dropped=(OPEN,), of=120)
    beside.load(310)
    table(work)

    assert read_status(beside.pipeline)["breaks"] == []


def test_a_table_to_be_read_anew_is_held_also_in_a_rebuilt_ledger_and_cannot_be_resumed(
    beside: Beside, work: Workplace
) -> None:
    beside.break_(200, 300, "snapshot", dropped=(OPEN,), of=120)
    beside.batch(beside.window(300, 400), state="held")
    entry = table(work)

    assert (entry.state, entry.position) == ("held", ChainPosition(FIRST, 199))
    with pytest.raises(RedoLost, match="from SCN 200 to 300 were never read"):
        resume_tables(beside.pipeline, ["SHOP.ORDERS"])
    beside.load(410)
    entry = table(work)
    assert (entry.state, entry.position) == ("live", ChainPosition(FIRST, 410))


def test_the_ledger_keeps_what_became_of_the_rows_of_each_window(beside: Beside, work: Workplace) -> None:
    window = beside.window(200, 300)
    told = {window.name: RowAccount(landed=3, applied=2, carried_out=1), CARRIED_IN: RowAccount(carried_in=4, rolled_back=4)}
    name = beside.batch(window, accounts=told)

    correct_ledger(work)

    kept = (work.ledger.batch(name).result or {})["accounts"]
    assert kept == {window.name: {"landed": 3, "applied": 2, "carried_out": 1}, CARRIED_IN: {"carried_in": 4, "rolled_back": 4}}
    assert list_windows(beside.pipeline)[-1]["account"] == kept[window.name]


def test_status_tells_the_whole_error_that_holds_a_table(beside: Beside, work: Workplace) -> None:
    beside.batch(beside.window(200, 300), state="held")

    (told,) = read_status(beside.pipeline)["tables"]

    assert told == {
        "table": "SHOP.ORDERS", "state": "held", "complete_to": 199, "error": "held", "code": "Test", "where": {}, "cure": "",
    }  # fmt: skip


def test_a_held_table_is_resumed_also_where_the_ledger_was_lost(beside: Beside) -> None:
    beside.load(120)
    beside.batch(beside.window(100, 200))
    beside.batch(beside.window(200, 300), state="held")

    assert resume_tables(beside.pipeline, ["SHOP.ORDERS"]) == ("SHOP.ORDERS",)


def test_scns_that_were_set_back_count_in_their_incarnation(beside: Beside, work: Workplace) -> None:
    beside.break_(200, 130, end_in=SECOND, dropped=(OPEN,), of=120)
    beside.batch(beside.window(130, 160, SECOND))
    entry = table(work)

    assert entry.position == ChainPosition(SECOND, 159)
    assert work.ledger.position() == Position(DBID, SECOND, Scn(160))
    last = last_batch(work)
    assert last is not None
    assert last.end == 160


def test_apply_begins_anew_behind_a_break(beside: Beside, work: Workplace) -> None:
    beside.break_(200, 300, dropped=(OPEN,), of=120)
    beside.window(300, 400)
    table(work)
    spec = next_batch(work, last_batch(work))

    assert spec is not None
    assert (spec.start, spec.end, spec.carry_in, spec.open_in) == (300, 400, (), ())
    assert [task.hold for task in spec.tables] == [None]


def test_without_a_break_the_open_transactions_are_carried_in(beside: Beside, work: Workplace) -> None:
    beside.window(200, 300)
    table(work)
    spec = next_batch(work, last_batch(work))

    assert spec is not None
    assert (spec.carry_in, spec.open_in) == (("carry.parquet",), (OPEN,))


def test_no_carried_row_vanishes_at_a_declared_gap(beside: Beside, work: Workplace) -> None:
    beside.break_(200, 300, dropped=(), of=120)
    beside.window(300, 400)
    table(work)

    with pytest.raises(InvariantBroken, match="4 change rows were carried to the declared gap at SCN 200, which names 0"):
        next_batch(work, last_batch(work))


def test_one_batch_ends_where_the_chain_breaks(beside: Beside, work: Workplace) -> None:
    beside.window(200, 250)
    beside.break_(250, 300, of=120)
    beside.window(300, 400)
    table(work)
    spec = next_batch(work, last_batch(work))

    assert spec is not None
    assert (spec.start, spec.end) == (200, 250)


def test_a_resumed_table_catches_up_to_the_break_and_then_behind_it(beside: Beside, work: Workplace) -> None:
    beside.batch(beside.window(200, 250), state="held")
    beside.break_(250, 300, of=120)
    beside.batch(beside.window(300, 400), state="held")
    entry = table(work)
    assert (entry.state, entry.position) == ("held", ChainPosition(FIRST, 199))
    work.ledger.release(ORDERS)

    before = catch_up(work, last_batch(work))
    assert before is not None
    assert (before.start, before.end, before.carry_in) == (200, 250, ("carry.parquet",))
    work.ledger.record_complete_to(ORDERS, Scn(249))
    behind = catch_up(work, last_batch(work))
    assert behind is not None
    assert (behind.start, behind.end, behind.carry_in, behind.tables[0].hold) == (300, 400, (), None)


@pytest.mark.parametrize(
    ("reset_at", "code"),
    [
        pytest.param(150, "RedoLost", id="set back to before the snapshot"),
        pytest.param(200, None, id="where the window ended: followed"),
    ],
)
def test_a_table_read_from_a_future_that_was_taken_back_is_held(
    tmp_path: Path, reset_at: int, code: str | None
) -> None:  # |100 window 1| reset_at | window 2 ..300|, the snapshot AS OF 180
    beside = Beside(tmp_path)
    beside.load(180)
    beside.batch(beside.window(100, reset_at), complete_to=max(180, reset_at - 1))
    beside.window(reset_at, 300, SECOND)
    with workplace(beside.pipeline) as work:
        table(work)
        spec = next_batch(work, last_batch(work))

    assert spec is not None
    hold = spec.tables[0].hold
    assert (None if hold is None else hold.error["code"]) == code


def test_behind_a_break_every_table_is_captured_from_its_end(beside: Beside, work: Workplace) -> None:
    assert captured_from(work, ORDERS) == 100
    beside.break_(200, 300, dropped=(OPEN,), of=120)
    assert captured_from(work, ORDERS) == 300
    assert captured_from(work, TableId("SHOP", "NEW")) == 300
    beside.window(300, 400)
    assert captured_from(work, ORDERS) == 300
    assert captured_from(work, TableId("SHOP", "NEW")) is None


def test_what_is_known_is_not_read_again(beside: Beside, work: Workplace) -> None:
    table(work)
    for file in (beside.folder / "shop").glob("batches/*/manifest.json"):
        body = json.loads(file.read_text())
        file.write_text(json.dumps({**body, "format": 99}))  # reading it would raise FormatTooNew

    correct_ledger(work)


def test_an_older_incarnations_windows_do_not_touch_a_table_read_in_a_later_one(beside: Beside, work: Workplace) -> None:
    """|100 applied|200 landed|300 RESETLOGS, landed|400: the table was read AS OF 350, behind the RESETLOGS."""
    beside.window(200, 300)
    beside.window(300, 400, SECOND)
    beside.load(350, SECOND)
    assert table(work).position == ChainPosition(SECOND, 350)
    spec = next_batch(work, last_batch(work))

    assert spec is not None
    assert (spec.start, spec.end) == (200, 300)
    hold = spec.tables[0].hold
    assert hold is not None
    assert hold.at_scn <= 200


def test_a_break_before_the_first_window_lets_the_tables_go_on(tmp_path: Path) -> None:
    """The handover is at 100, the snapshot AS OF 120; the redo up to 200 is lost before any of it was landed."""
    beside = Beside(tmp_path)
    beside.load(120)
    beside.break_(100, 200, of=120)
    beside.window(200, 300)
    with workplace(beside.pipeline) as work:
        entry = table(work)
        spec = next_batch(work, last_batch(work))

    assert (entry.state, entry.position) == ("live", ChainPosition(FIRST, 120))
    assert spec is not None
    assert [task.hold for task in spec.tables] == [None]


def test_a_catch_up_that_ends_late_does_not_let_go_of_a_table_to_be_read_anew(beside: Beside, work: Workplace) -> None:
    beside.batch(beside.window(200, 250), state="held")
    beside.break_(250, 300, "snapshot", of=120)
    assert table(work).state == "held"
    late = last_batch(work)
    assert late is not None
    done = TableResult(ORDERS, "applied", 249)
    token = f"{ORDERS}:t"
    result = BatchResult("shop", FIRST, 200, 250, token, late.windows, (done,), (), ())
    beside.write(f"batches/{late.resetlogs_id:010d}-{200:020d}-{250:020d}-SHOP.ORDERS-t/manifest.json", encode(result))

    assert table(work).state == "held"


def test_a_load_that_ends_late_does_not_let_go_of_a_table_to_be_read_anew(beside: Beside, work: Workplace) -> None:
    """The load AS OF 210 was under way when the break, from 200 to 300, was made."""
    beside.break_(200, 300, "snapshot", dropped=(OPEN,), of=210)
    table(work)
    beside.load(210)

    assert table(work).state == "held"


def test_an_older_ledger_hears_of_a_snapshot_at_an_scn_that_was_set_back(beside: Beside, work: Workplace) -> None:
    table(work)
    beside.break_(200, 130, "snapshot", end_in=SECOND, dropped=(OPEN,), of=120)
    beside.load(140, SECOND)
    entry = table(work)

    assert (entry.state, entry.snapshot_scn, entry.position) == ("live", 140, ChainPosition(SECOND, 140))


def test_redo_is_captured_from_a_break_on_also_where_it_only_changes_the_incarnation(beside: Beside, work: Workplace) -> None:
    beside.break_(200, 200, end_in=SECOND, dropped=(OPEN,), of=120)
    beside.window(200, 300, SECOND)

    assert captured_from(work, ORDERS) == 200


def begun(work: Workplace, scn: int, since: int = 100) -> None:
    """As a snapshot's begin and read leave it; `since` is where the oldest transaction began that was open at it."""
    work.landing.snapshots.begin(replace(TABLE, table=ORDERS), scn, stretch_of(work), ChainPosition(FIRST, since))


@pytest.mark.parametrize("end_in", [FIRST, SECOND])
def test_a_snapshot_begun_before_a_break_is_not_loaded_behind_it(beside: Beside, work: Workplace, end_in: int) -> None:
    table(work)
    begun(work, 250)
    check_stretch(work, ORDERS, 250)
    beside.break_(200, 300, end_in=end_in, dropped=(OPEN,), of=120)

    with pytest.raises(Terminal, match="AS OF SCN 250 was begun before a RESETLOGS or a break"):
        prepare_snapshot_load(beside.pipeline, 250, ["SHOP.ORDERS"], replace=True)
    assert table(work).state == "live"


def test_a_snapshot_begun_before_a_resetlogs_is_not_loaded_once_capture_has_followed(beside: Beside, work: Workplace) -> None:
    table(work)
    begun(work, 250)
    beside.window(200, 230, SECOND)

    with pytest.raises(Terminal, match="was begun before a RESETLOGS"):
        prepare_snapshot_load(beside.pipeline, 250, ["SHOP.ORDERS"], replace=True)


def test_a_table_read_anew_forgets_the_versions_of_a_future_that_was_taken_back(beside: Beside, work: Workplace) -> None:
    """A DDL at 180, then the database is set back to 130 and the table read AS OF 140: at 190 it has not the DDL's columns."""
    table(work)
    (first,) = known_versions(work, ORDERS)
    work.ledger.record_version(ORDERS, Scn(180), to_body(first.since(Scn(180))), "ddl")
    beside.break_(200, 130, "snapshot", end_in=SECOND, dropped=(OPEN,), of=120)
    beside.load(140, SECOND)
    table(work)

    assert [version.from_scn for version in known_versions(work, ORDERS)] == [140]


def test_a_lost_ledger_learns_no_ddl_of_a_future_that_was_taken_back(tmp_path: Path) -> None:
    beside = Beside(tmp_path)
    beside.load(120)
    added = DdlRow(180, 1, "0x1", 0, "SHOP", "ORDERS", 4711, "ALTER TABLE shop.orders ADD (note VARCHAR2(9))")
    beside.batch(beside.window(100, 200, ddl=(added,)))
    with workplace(beside.pipeline) as work:
        table(work)
        assert [version.from_scn for version in known_versions(work, ORDERS)] == [120, 180]
    beside.break_(200, 130, "snapshot", end_in=SECOND, of=120)
    beside.load(140, SECOND)
    beside.batch(beside.window(130, 250, SECOND))
    for file in tmp_path.glob("redolake-ledger.db*"):
        file.unlink()
    with workplace(beside.pipeline) as work:
        assert table(work).position == ChainPosition(SECOND, 249)
        assert [version.from_scn for version in known_versions(work, ORDERS)] == [140]


@pytest.mark.parametrize(("read_at", "code"), [(250, "RedoLost"), (None, None)])
def test_a_gap_over_a_resetlogs_holds_a_table_that_was_read_behind_its_start(
    beside: Beside, work: Workplace, read_at: int | None, code: str | None
) -> None:
    """|100 applied|200 gap, a RESETLOGS in it|300: what was read AS OF 250 may be of the future that was taken back."""
    if read_at is not None:
        beside.load(read_at)
    beside.break_(200, 300, end_in=SECOND, dropped=(OPEN,), of=read_at or 120)
    beside.window(300, 400, SECOND)
    table(work)
    spec = next_batch(work, last_batch(work))

    assert spec is not None
    hold = spec.tables[0].hold
    assert (None if hold is None else hold.error["code"]) == code


def test_the_name_of_a_batch_fits_the_ledger_and_every_path() -> None:
    longest = TableId("O" * 128, "T/" * 64)
    name = batch_name(2**31, 2**63, 2**63, attempt_of(f"{longest}:{uuid4().hex}"))

    assert len(name) <= batches_table.c.name.type.length
    assert not is_of_the_chain(name)
    assert end_of(name) == ChainPosition(2**31, 2**63)


# --- Holds, and what a batch may count on ----------------------------------------------------------------------------


def test_a_hold_that_came_while_a_batch_was_under_way_outlives_the_batch(beside: Beside, work: Workplace) -> None:
    """`plan` has found supplemental logging taken away; the batch was prepared before, and knew nothing of it."""
    table(work)
    window = beside.window(200, 300)
    name = batch_name(FIRST, 200, 300)
    work.ledger.prepare_batch(name, window.scns, "spec.json")
    work.ledger.hold(ORDERS, {"code": "NotLogged", "what": "", "where": {}, "cure": ""})
    beside.batch(window, open_now=())

    entry = table(work)

    assert (entry.state, entry.position) == ("held", ChainPosition(FIRST, 299))


def test_a_table_stops_at_the_first_of_what_holds_it(beside: Beside, work: Workplace) -> None:
    """|200 TRUNCATE at 250|300 landed without the table|400, in one batch."""
    table(work)
    truncate = DdlRow(250, 1, "0x1", 0, "SHOP", "ORDERS", 4711, "TRUNCATE TABLE shop.orders")
    beside.window(200, 300, ddl=(truncate,))
    beside.window(300, 400, tables=())
    table(work)

    spec = next_batch(work, last_batch(work))

    assert spec is not None
    hold = spec.tables[0].hold
    assert hold is not None
    assert hold.at_scn == 250


def test_the_first_batch_wants_the_contents_that_were_loaded(tmp_path: Path) -> None:
    """A target emptied or put back since has no such position, and nothing may be applied to it."""
    beside = Beside(tmp_path)
    beside.load(120)
    beside.window(100, 200)
    with workplace(beside.pipeline) as work:
        table(work)
        spec = next_batch(work, last_batch(work))

    assert spec is not None
    assert spec.tables[0].at_least == 120


def test_a_batch_wants_the_contents_that_were_loaded_since_the_last_one(beside: Beside, work: Workplace) -> None:
    table(work)
    beside.window(200, 300)
    beside.load(250)
    table(work)

    spec = next_batch(work, last_batch(work))

    assert spec is not None
    assert spec.tables[0].at_least == 250


# --- A table that a batch or a window has left out -------------------------------------------------------------------


def test_rows_that_a_batch_without_the_table_did_not_carry_hold_it(beside: Beside, work: Workplace) -> None:
    """pipelines.yml lacked the table while [200, 300) was applied; its windows have it. A transaction open at 300 was carried
    over without its rows, so its commit in [300, 400) would bring the second half of it only."""
    table(work)
    beside.batch(beside.window(200, 300), left_out=True)
    assert table(work).position == ChainPosition(FIRST, 199)
    ahead = catch_up(work, last_batch(work))
    assert ahead is not None
    assert (ahead.start, ahead.end, ahead.tables[0].hold) == (200, 300, None)
    beside.batch(*work.landing.windows.after(ChainPosition(FIRST, 200)), catch_up="1")
    assert table(work).position == ChainPosition(FIRST, 299)
    beside.window(300, 400)
    correct_ledger(work)

    spec = next_batch(work, last_batch(work))

    assert spec is not None
    hold = spec.tables[0].hold
    assert hold is not None
    assert (hold.at_scn, hold.error["code"]) == (300, "RedoLost")


@pytest.mark.parametrize(("since", "held"), [(250, True), (300, False)])
def test_a_table_read_anew_needs_every_batch_since_its_oldest_open_transaction(
    beside: Beside, work: Workplace, since: int, held: bool
) -> None:
    """It was left out of the batch [200, 300), and read AS OF 310, with a transaction open that began at `since`."""
    table(work)
    beside.batch(beside.window(200, 300), left_out=True)
    beside.load(310, since=since)
    beside.window(300, 400)
    table(work)

    spec = next_batch(work, last_batch(work))

    assert spec is not None
    assert (spec.tables[0].hold is not None) == held


@pytest.mark.parametrize(("since", "held"), [(250, True), (300, False)])
def test_a_table_read_anew_needs_every_window_since_its_oldest_open_transaction(
    beside: Beside, work: Workplace, since: int, held: bool
) -> None:
    """[200, 300) was planned before the table was in pipelines.yml, and landed without it behind the snapshot AS OF 310."""
    table(work)
    beside.load(310, since=since)
    beside.window(200, 300, tables=())
    beside.window(300, 400)
    table(work)

    spec = next_batch(work, last_batch(work))

    assert spec is not None
    assert (spec.tables[0].hold is not None) == held


def test_a_lost_ledger_holds_a_table_whose_reading_anew_had_begun_before_the_break(beside: Beside, work: Workplace) -> None:
    """Its snapshot AS OF 210 was prepared, and never loaded: the break names that one, the contents are those of 120."""
    beside.break_(200, 300, "snapshot", dropped=(OPEN,), of=210)

    assert (table(work).state, table(work).snapshot_scn) == ("held", 120)
    with pytest.raises(RedoLost, match="from SCN 200 to 300 were never read"):
        resume_tables(beside.pipeline, ["SHOP.ORDERS"])
    beside.load(310)
    assert table(work).state == "live"


def test_what_was_read_as_of_an_scn_that_was_set_back_is_not_taken_for_the_same_scn_again(
    beside: Beside, work: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """|100 applied|200 set back to 130 by a RESETLOGS; SCN 150 comes again, and the table was read AS OF it before."""
    table(work)
    begun(work, 150)
    work.landing.snapshots.publish_manifest(ORDERS, 150, [])
    beside.break_(200, 130, end_in=SECOND, dropped=(OPEN,), of=120)
    source_at(150, monkeypatch)

    with pytest.raises(SnapshotTooEarly, match="was read AS OF SCN 150 before a RESETLOGS"):
        begin_snapshot(beside.pipeline, tables=["SHOP.ORDERS"], replace=True)


def source_at(scn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    column = DictionaryColumn("ID", OracleType("NUMBER", precision=9, scale=0), 1, 1, False)
    there = DictionaryTable(ORDERS, 4711, 4711, (column,), ("ID",), frozenset(), Scn(scn), Scn(scn))
    incarnations = (Incarnation(SECOND, Scn(130), "CURRENT", Scn(1)),)
    monkeypatch.setattr(snapshot_steps, "opened_source", lambda *_: nullcontext())
    monkeypatch.setattr(snapshot_steps, "check_source", lambda *_: None)
    monkeypatch.setattr(
        snapshot_steps, "read_handover_and_tables", lambda *_: (Handover(Scn(scn), (), Scn(scn)), {ORDERS: there})
    )
    monkeypatch.setattr(snapshot_steps, "read_redo_facts", lambda _: RedoFacts(DBID, Scn(scn), (), (), (), incarnations))


def test_what_killed_writers_have_left_of_their_files_is_not_read(beside: Beside, work: Workplace) -> None:
    beside.window(200, 300)
    table(work)
    for file in [
        *(beside.folder / "shop").rglob("*.json"),
        beside.folder / "shop/dictionary/0000000011-00000000000000000200.json",
    ]:
        file.parent.mkdir(exist_ok=True)
        file.with_name(f"{file.name}.363ce4b3.part").write_bytes(b'{"half')
    for folder in ("gaps", "drops"):
        beside.write(f"{folder}/0000000011-00000000000000000300.json.363ce4b3.part", '{"half')

    assert list(readings(work, FIRST, 0)) == []
    assert (work.landing.gaps.all(), drops(work)) == ([], [])
    assert table(work).position == ChainPosition(FIRST, 199)
    ahead = next_batch(work, last_batch(work))
    assert ahead is not None
    assert (ahead.start, ahead.end) == (200, 300)
