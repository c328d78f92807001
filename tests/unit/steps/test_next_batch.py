"""The next batch: the windows it takes, the batch it follows, and the holds of its tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from redolake.config.limits import BatchLimits
from redolake.config.on_ddl import OnDdl
from redolake.context import Run
from redolake.errors import InvariantBroken
from redolake.records.windows import DdlRow
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import OracleType, TableId
from tests.unit.reconcile.pipeline_on_disk import (
    FIRST,
    OPEN,
    ORDERS,
    SECOND,
    PipelineOnDisk,
    corrected_table,
    following_batch,
    following_catch_up,
    hold_code,
)


def test_open_transactions_are_carried_into_the_next_batch(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.window(200, 300, rows=10)
    corrected_table(context)
    spec = following_batch(context)

    (carried,) = spec.redo.carry_in
    assert Path(carried).read_bytes().startswith(b"rows of ")
    assert (spec.redo.open_in, spec.redo.rows) == ((OPEN,), 10 + 1 + OPEN.rows)


@pytest.mark.parametrize(
    ("max_rows", "end"),
    [(1, 300), (10, 300), (11, 400), (30, 500), (10_000_000, 500)],
)
def test_a_batch_ends_with_the_window_in_which_its_rows_reach_the_limit(
    on_disk: PipelineOnDisk, max_rows: int, end: int
) -> None:
    on_disk.window(200, 300, rows=10)
    on_disk.window(300, 400, rows=10)
    on_disk.window(400, 500, rows=10)
    limited = on_disk.pipeline.model_copy(update={"batch": BatchLimits(max_rows=max_rows)})
    with Run(limited) as context:
        corrected_table(context)
        spec = following_batch(context)

    assert (spec.start, spec.end) == (200, end)


def test_nothing_is_carried_over_a_declared_gap(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.declare_gap(200, 300, dropped=(OPEN,), snapshot_scn=120)
    on_disk.window(300, 400, rows=10)
    corrected_table(context)
    spec = following_batch(context)

    assert (spec.start, spec.end, spec.redo.carry_in, spec.redo.open_in, spec.redo.rows) == (300, 400, (), (), 10 + 1)
    assert [task.hold for task in spec.tables] == [None]


def test_a_declared_gap_must_name_every_carried_row(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.declare_gap(200, 300, dropped=(), snapshot_scn=120)
    on_disk.window(300, 400)
    corrected_table(context)

    with pytest.raises(
        InvariantBroken, match=r"the declared gap at SCN 200 are not those that it names: .* 4 rows instead of 0"
    ):
        following_batch(context)


def test_a_declared_gap_must_name_the_rows_of_each_transaction(on_disk: PipelineOnDisk, context: Run) -> None:
    another = replace(OPEN, xid="9.9.9", rows=1)
    on_disk.declare_gap(200, 300, dropped=(replace(OPEN, rows=OPEN.rows - 1), another), snapshot_scn=120)
    on_disk.window(300, 400)
    corrected_table(context)

    with pytest.raises(InvariantBroken, match=r"9\.9\.9 .* with 0 rows instead of 1"):
        following_batch(context)


def test_a_batch_up_to_a_resetlogs_has_its_doubtful_scn(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.window(200, 250)
    on_disk.window(250, 300, doubtful_scn=299)
    corrected_table(context)
    spec = following_batch(context)

    assert (spec.end, spec.redo.doubtful_scn) == (300, 299)
    assert [task.hold for task in spec.tables] == [None]


OWN_DDL = DdlRow(0, 1, "0x1", 0, "SHOP", "ORDERS", 4711, "alter table orders pctfree 5")
OF_PARENT = DdlRow(0, 1, "0x1", 0, "SHOP", "SHOPS", 4712, "truncate table shops cascade", "", "SHOP.SHOPS")


@pytest.mark.parametrize("ddl", [OWN_DDL, OF_PARENT], ids=["its own", "that cascades to it"])
@pytest.mark.parametrize(("scn", "is_held"), [(298, False), (299, True)])
def test_a_ddl_that_a_resetlogs_may_have_undone_holds_its_table(
    on_disk: PipelineOnDisk, context: Run, ddl: DdlRow, scn: int, is_held: bool
) -> None:
    parents = (TableId("SHOP", "SHOPS"),)
    column = DictionaryColumn("ID", OracleType("NUMBER", None, 9, 0), 1, 1, False)
    there = DictionaryTable(ORDERS, 4711, 4711, (column,), ("ID",), frozenset(), Scn(150), Scn(150), parents=parents)
    context.landing.dictionary.write_dictionary(FIRST, 150, [there])
    on_disk.window(200, 300, ddl=(replace(ddl, scn=scn),), doubtful_scn=299)
    corrected_table(context)
    following = context.pipeline.model_copy(update={"on_ddl": OnDdl(truncate="follow")})
    context.pipeline = following
    spec = following_batch(context)

    assert [task.hold is not None for task in spec.tables] == [is_held]


def test_a_batch_ends_at_a_declared_gap(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.window(200, 250)
    on_disk.declare_gap(250, 300, snapshot_scn=120)
    on_disk.window(300, 400)
    corrected_table(context)
    spec = following_batch(context)

    assert (spec.start, spec.end) == (200, 250)


def test_a_declared_gap_before_the_first_window_holds_no_table(tmp_path: Path) -> None:
    """The handover is at 100, the snapshot AS OF 120. The redo up to 200 was lost before anything was landed."""
    on_disk = PipelineOnDisk(tmp_path)
    on_disk.load(120)
    on_disk.declare_gap(100, 200, snapshot_scn=120)
    on_disk.window(200, 300)
    with Run(on_disk.pipeline) as context:
        entry = corrected_table(context)
        spec = following_batch(context)

    assert (entry.state, entry.position) == ("live", ChainPosition(FIRST, 120))
    assert [task.hold for task in spec.tables] == [None]


def test_a_resumed_table_catches_up_to_a_declared_gap_and_then_after_it(on_disk: PipelineOnDisk, context: Run) -> None:
    first = on_disk.window(200, 250)
    on_disk.batch(first, state="held")
    on_disk.declare_gap(250, 300, snapshot_scn=120)
    on_disk.batch(on_disk.window(300, 400), state="held")
    entry = corrected_table(context)
    assert (entry.state, entry.position) == ("held", ChainPosition(FIRST, 199))
    context.ledger.release(ORDERS)

    before = following_catch_up(context)
    assert (before.start, before.end, before.redo.open_in) == (200, 250, (OPEN,))
    on_disk.batch(first, catch_up="1")
    assert corrected_table(context).position == ChainPosition(FIRST, 249)
    after = following_catch_up(context)
    assert (after.start, after.end, after.redo.carry_in, after.tables[0].hold) == (300, 400, (), None)


def test_of_several_holds_the_lowest_scn_counts(on_disk: PipelineOnDisk, context: Run) -> None:
    """|200 TRUNCATE at 250|300 landed without the table|400, in one batch."""
    corrected_table(context)
    truncate = DdlRow(250, 1, "0x1", 0, "SHOP", "ORDERS", 4711, "TRUNCATE TABLE shop.orders")
    on_disk.window(200, 300, ddl=(truncate,))
    on_disk.window(300, 400, tables=())
    corrected_table(context)

    spec = following_batch(context)

    hold = spec.tables[0].hold
    assert hold is not None
    assert hold.at_scn == 250


@pytest.mark.parametrize(
    ("reset_at", "code"),
    [
        pytest.param(150, "RedoLost", id="RESETLOGS before the snapshot"),
        pytest.param(200, None, id="RESETLOGS where the window ended"),
    ],
)
def test_a_table_with_rows_that_a_resetlogs_undid_is_held(tmp_path: Path, reset_at: int, code: str | None) -> None:
    """|100 window 1| reset_at | window 2 ..300|, the snapshot AS OF 180."""
    on_disk = PipelineOnDisk(tmp_path)
    on_disk.load(180)
    on_disk.batch(on_disk.window(100, reset_at), complete_to=max(180, reset_at - 1))
    on_disk.window(reset_at, 300, SECOND)
    with Run(on_disk.pipeline) as context:
        corrected_table(context)
        spec = following_batch(context)

    assert hold_code(spec) == code


def test_windows_before_a_resetlogs_are_not_applied_to_a_table_snapshotted_after_it(
    on_disk: PipelineOnDisk, context: Run
) -> None:
    """|100 applied|200 landed|300 RESETLOGS, landed|400: the snapshot is AS OF 350, after the RESETLOGS."""
    on_disk.window(200, 300)
    on_disk.window(300, 400, SECOND)
    on_disk.load(350, SECOND)
    assert corrected_table(context).position == ChainPosition(SECOND, 350)
    spec = following_batch(context)

    assert (spec.start, spec.end) == (200, 300)
    hold = spec.tables[0].hold
    assert hold is not None
    assert hold.at_scn <= 200


@pytest.mark.parametrize(("snapshot_scn", "code"), [(250, "RedoLost"), (None, None)])
def test_a_gap_with_a_resetlogs_holds_a_table_snapshotted_inside_it(
    on_disk: PipelineOnDisk, context: Run, snapshot_scn: int | None, code: str | None
) -> None:
    """|100 applied|200 gap, a RESETLOGS in it|300: the RESETLOGS may have undone rows of a snapshot AS OF 250."""
    if snapshot_scn is not None:
        on_disk.load(snapshot_scn)
    on_disk.declare_gap(200, 300, end_in=SECOND, dropped=(OPEN,), snapshot_scn=snapshot_scn or 120)
    on_disk.window(300, 400, SECOND)
    corrected_table(context)
    spec = following_batch(context)

    assert hold_code(spec) == code


def test_the_first_batch_expects_the_position_of_the_snapshot(tmp_path: Path) -> None:
    """A target that was emptied or restored since has another position, and nothing may be applied to it."""
    on_disk = PipelineOnDisk(tmp_path)
    on_disk.load(120)
    on_disk.window(100, 200)
    with Run(on_disk.pipeline) as context:
        corrected_table(context)
        spec = following_batch(context)

    assert spec.tables[0].destination.at_least == 120


def test_a_batch_expects_the_position_of_a_load_since_the_last_one(on_disk: PipelineOnDisk, context: Run) -> None:
    corrected_table(context)
    on_disk.window(200, 300)
    on_disk.load(250)
    corrected_table(context)

    spec = following_batch(context)

    assert spec.tables[0].destination.at_least == 250
