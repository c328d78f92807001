"""What operators and DAGs do with a pipeline, killed after the writes of each command; and what must hold in the end.

Each workflow is a sequence of commands. Each command is repeated until it ends. Every attempt kills itself after the first
write at which no attempt was killed before (`host/crash.py`). Between a kill and the repeat more windows land, or the
ledger is lost or replaced by an older copy. One pipeline goes through all workflows.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from redolake import steps
from redolake.context import Run
from redolake.values.table import TableId
from tests.e2e.kills import (
    BOTH,
    TABLES,
    ChangingSource,
    KillSequence,
    PipelineCopy,
    begin_first_snapshot,
    capture_all,
    load,
    pause_no_more,
    read_snapshot_again,
    redolake,
)
from tests.references.delta_table import latest_version
from tests.thirds import EVERY


@dataclass(slots=True)
class KillTestbed:
    source: ChangingSource
    folder: Path
    remote: str
    copy: PipelineCopy | None = None
    done: set[tuple[str, str]] = field(default_factory=set)
    names: Iterator[int] = field(default_factory=lambda: count(1))
    turns: Iterator[int] = field(default_factory=count)

    def new_copy(self) -> PipelineCopy:
        name = f"shop{next(self.names)}"
        return PipelineCopy(name, self.source, self.folder / name, self.remote)

    def usable_copy(self) -> PipelineCopy:
        """Return the pipeline that the earlier workflows left correct, or a new one if the last workflow failed."""
        copy, self.copy = self.copy, None
        if copy is None:
            self.source.finish_open()
            copy = self.new_copy()
            copy.catch_up()
            copy.keep_ledger()
        return copy

    def check(self, copy: PipelineCopy) -> None:
        """Compare every cell of both tables with the source, and check landing, batches and status."""
        for table in TABLES:
            rows = copy.rows_at(copy.pipeline.target(TableId.parse(table)))
            assert by_id(rows) == by_id(self.source.rows(table)), table
            assert len(rows) >= 9
        copy.check_landing()
        copy.check_batches()
        status = steps.read_status(copy.pipeline)
        assert {t.state for t in status.tables} == {"live"}
        still_open = int(self.source.open_one is not None)
        assert (status.lost, status.declared_gaps, status.open_transactions) == (None, (), still_open)
        copy.keep_ledger()
        self.copy = copy


def by_id(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: int(row["ID"]))


# --- The workflows --------------------------------------------------------------------------------------------------------

ONE = ("parts",)
CATCH_UP = (redolake, "run", "--until-caught-up")
MANY = 50_000_000  # the first key of many rows
NOTHING_LEFT = (0, 1)  # 1: it is done already, and says so
Workflow = Callable[[KillTestbed, KillSequence], None]


def first_run(testbed: KillTestbed, kills: KillSequence) -> None:
    """Take the first snapshot of a new pipeline, then land the first windows and apply the first batch. What is landed is what
    an undisturbed capture lands."""
    undisturbed, another = testbed.new_copy(), testbed.new_copy()
    undisturbed.succeed(begin_first_snapshot, undisturbed.name)
    kills.run(redolake, "snapshot")
    later_points = KillSequence(another, kills.killed_at, kills.between, kills.turns, kills.points)
    later_points.run(begin_first_snapshot, another.name)
    kills.run_in_rounds(testbed.source.work, capture_all, kills.copy.name)
    for copy in (undisturbed, kills.copy):
        copy.succeed(capture_all, copy.name)
        copy.check_landing()
    start = kills.copy.windows.after()[0].start
    landed = kills.copy.landed_from(start)
    assert landed == undisturbed.landed_from(start)
    assert landed.total() > 100
    kills.run(*CATCH_UP)


def ddl(testbed: KillTestbed, kills: KillSequence) -> None:
    """Apply a batch while columns are dropped and added, one of them with a default."""
    testbed.source.changing = ONE
    kills.kill_again_at("merge")
    testbed.source.work(ddl=True)
    kills.run(*CATCH_UP)


def re_snapshot(testbed: KillTestbed, kills: KillSequence) -> None:
    """Replace a live table's snapshot; batches have passed the snapshot's SCN before it is loaded."""
    testbed.source.changing = ONE
    scn = kills.copy.folder / "scn"
    testbed.source.work()
    kills.run(read_snapshot_again, kills.copy.name, "SHOP.PARTS", str(scn))
    testbed.source.more()
    kills.run(*CATCH_UP)
    kills.kill_again_at(
        "prepare_snapshot_load", "snapshot", "write_snapshot_result", "ledger.move_table", "ledger.record_complete_to"
    )
    kills.run(load, kills.copy.name, "SHOP.PARTS", int(scn.read_text()))


def held_table(testbed: KillTestbed, kills: KillSequence) -> None:
    """Hold a table because its Delta table is missing; put that back, resume the table and catch up."""
    target, aside = kills.copy.folder / "lake" / "shop" / "bins", kills.copy.folder / "aside"
    testbed.source.work()
    target.rename(aside)
    kills.run(*CATCH_UP, codes=(3,))
    aside.rename(target)
    kills.kill_again_at("merge", "prepare_batch")
    for _ in range(3):  # that it was released is nowhere but in the ledger, and so is lost with it
        kills.run(redolake, "resume", "SHOP.BINS", codes=NOTHING_LEFT)
        if kills.run(*CATCH_UP, codes=(0, 3)) == 0:
            break


def dropped_transaction(testbed: KillTestbed, kills: KillSequence) -> None:
    """Drop an open transaction; it commits, and a new snapshot repairs its table."""
    testbed.source.changing = ONE
    testbed.source.work()
    kills.run(*CATCH_UP)
    (still_open,) = steps.list_transactions(kills.copy.pipeline).open
    assert still_open.rows == 2
    kills.kill_again_at("ledger.record_decision")
    kills.run(redolake, "tx", "drop", still_open.xid, "--reason", "test", "--execute", "--yes", codes=NOTHING_LEFT)
    testbed.source.finish()
    kills.run(*CATCH_UP)
    (drop,) = [one for one in steps.list_transactions(kills.copy.pipeline).dropped if one.xid == still_open.xid]
    assert (drop.state, drop.lacking) == ("committed", ("SHOP.PARTS",))
    kills.run(redolake, "snapshot", "--replace", "SHOP.PARTS")


def restored_logs(testbed: KillTestbed, kills: KillSequence) -> None:
    """Remove logs, so that capture stops; restore them, and it goes on."""
    testbed.source.changing = ONE
    testbed.source.work()
    testbed.source.shop.oracle.faults.purge_logs()
    testbed.source.more()
    kills.run(*CATCH_UP, codes=(1,))
    testbed.source.shop.oracle.faults.restore_logs()
    kills.run(*CATCH_UP)


def prune(testbed: KillTestbed, kills: KillSequence) -> None:
    """Prune all that nothing needs, and go on."""
    testbed.source.changing = ONE
    testbed.source.work()
    kills.run(*CATCH_UP)
    before = kills.copy.windows.names()
    kills.copy.configure("48KiB", keep={"landing": "0s", "ledger": "0s", "snapshots": "0s", "shadows": "0s"})
    kills.run(redolake, "prune", "--execute", "--yes", "--reason", "old")
    assert 0 < len(kills.copy.windows.names()) < len(before)
    testbed.source.work()
    kills.run(*CATCH_UP)


def redo_loss(testbed: KillTestbed, kills: KillSequence) -> None:
    """Lose redo, and take new snapshots of the tables after it."""
    lose_redo(testbed, kills)
    kills.run(redolake, "recover", "snapshot", "--execute", "--yes", "--reason", "lost", codes=NOTHING_LEFT)
    kills.run(redolake, "snapshot", "--replace", *TABLES)


def declared_gap(testbed: KillTestbed, kills: KillSequence) -> None:
    """Lose redo, declare a gap, and take new snapshots later."""
    lose_redo(testbed, kills)
    kills.kill_again_at("ledger.record_gap", "declare", "finish")
    kills.run(redolake, "recover", "gap", "--execute", "--reason", "the tapes are gone", "--yes", codes=NOTHING_LEFT)
    kills.run(*CATCH_UP)
    kills.run(redolake, "snapshot", "--replace", *TABLES)


def lose_redo(testbed: KillTestbed, kills: KillSequence) -> None:
    """Lose redo that contains the commit of a transaction open before it."""
    testbed.source.changing = ONE
    testbed.source.work()
    kills.run(*CATCH_UP)
    testbed.source.finish()
    testbed.source.shop.oracle.faults.purge_logs()
    testbed.source.more()
    kills.kill_again_at("ledger.record_loss")
    kills.run(*CATCH_UP, codes=(1,))


def backfill_and_verify(testbed: KillTestbed, kills: KillSequence) -> None:
    """Backfill the last batch's range into shadow tables, mine again and verify: these commands write too, but to no table."""
    testbed.source.changing = ONE
    testbed.source.work()
    kills.copy.catch_up()  # a range can only begin after the snapshot
    before = steps.list_windows(kills.copy.pipeline)[-1]
    kills.run(redolake, "remine", before.name, codes=NOTHING_LEFT)  # 1: a lost ledger has no plan of the window
    testbed.source.work()
    kills.run(*CATCH_UP)
    backfill(kills, before.last_scn + 1)
    kills.run(redolake, "verify", "SHOP.PARTS")


def large_table(testbed: KillTestbed, kills: KillSequence) -> None:
    """Replace a table's contents by a snapshot in chunks that is paused and continued, and whose undo is too short for one SCN;
    begin another one, and give it up. Batches pass its SCN before it is loaded."""
    shop, source = testbed.source.shop, testbed.source
    source.changing = ONE
    shop.run_sql("GRANT SELECT ON dba_extents TO c##redolake", "GRANT SELECT ON dba_segments TO c##redolake", user="SYS")
    shop.run_sql(
        f"INSERT INTO parts (id, place, quantity) SELECT {MANY} + LEVEL, 'many', LEVEL FROM dual CONNECT BY LEVEL <= 4000"
    )
    source.work()
    kills.copy.catch_up()
    kills.copy.configure("48KiB", snapshot={"chunk_bytes": "64KiB", "sessions": 1})
    kills.kill_again_at("begin", "snapshot", "publish_manifest", "prepare_snapshot_load", "ledger.move_table")
    kills.run(redolake, "snapshot", "SHOP.PARTS", "--pause")
    kills.run(redolake, "snapshot", "SHOP.PARTS", "--replace", codes=(1,))
    source.more()
    shop.oracle.faults.fail_statements(1555, '"SHOP"."PARTS" AS OF SCN', 1)
    kills.run(redolake, "snapshot", "SHOP.PARTS", "--resume")
    assert len(kills.copy.chunks()) > 2
    kills.run(*CATCH_UP)

    kills.copy.succeed(redolake, "snapshot", "SHOP.PARTS", "--pause")
    kills.copy.succeed(redolake, "snapshot", "SHOP.PARTS", "--replace", codes=(1,))
    source.more()
    kills.run(*CATCH_UP)
    kills.copy.succeed(pause_no_more, kills.copy.name)
    kills.run(redolake, "snapshot", "SHOP.PARTS", "--replace", "--restart")
    shop.run_sql(f"DELETE FROM parts WHERE id > {MANY} AND place = 'many'")
    source.more()
    kills.run(*CATCH_UP)


def edited_tables(testbed: KillTestbed, kills: KillSequence) -> None:
    """Edit the list of tables while transactions are open: a table leaves, is listed again and read again; another one comes;
    the key and the columns of a third change, and the edit is taken back. Each edit concerns its table alone."""
    source, copy = testbed.source, kills.copy
    source.work()
    copy.configure("48KiB", tables=("SHOP.PARTS",))
    kills.kill_again_at(*EDITED)
    kills.run(*CATCH_UP)
    source.work()
    copy.configure("48KiB")
    kills.kill_again_at("prepare_batch")
    kills.run(*CATCH_UP, codes=(3,))
    assert states_of(copy) == {"SHOP.PARTS": "live", "SHOP.BINS": "held"}
    kills.run(redolake, "snapshot", "SHOP.BINS", "--replace")

    testbed.source.shop.run_sql(
        "CREATE TABLE shelves (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
        "ALTER TABLE shelves ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO shelves VALUES (1, 'before')",
    )
    source.open_one.cursor().execute("INSERT INTO shelves VALUES (2, 'open')")
    copy.configure("48KiB", tables=(*TABLES, "SHOP.SHELVES"))
    kills.kill_again_at(*EDITED)
    kills.run(*CATCH_UP, codes=(0, 75))
    source.work()
    for _ in range(2):  # its snapshot can begin once a window with it has landed
        kills.run(*CATCH_UP)
    assert by_id(copy.rows_at(copy.pipeline.target(TableId("SHOP", "SHELVES")))) == by_id(source.rows("shelves"))

    source.work()
    edited = {"table": "SHOP.PARTS", "key": "rowid"}, {"table": "SHOP.BINS", "exclude_columns": ["PLACE"]}
    copy.configure("48KiB", tables=edited)
    kills.run(*CATCH_UP, codes=(3,))
    assert states_of(copy) == {"SHOP.PARTS": "held", "SHOP.BINS": "held"}
    copy.configure("48KiB")
    for _ in range(3):  # as with held_table
        kills.run(redolake, "resume", "SHOP.PARTS", codes=NOTHING_LEFT)
        kills.run(redolake, "resume", "SHOP.BINS", codes=NOTHING_LEFT)
        if kills.run(*CATCH_UP, codes=(0, 3)) == 0:
            break


# What is written for an edited list: the batch and the windows with other tables, holds, versions, the contents of new tables.
EDITED = ("prepare_batch", "publish_batch", "ledger.move_table", "ledger.record_version", "begin")


def states_of(copy: PipelineCopy) -> dict[str, str]:
    return {table.table: table.state for table in steps.read_status(copy.pipeline).tables if table.listed}


MAPPED = {
    "table": "SHOP.PARTS",
    "rename": {"PLACE": "where_it_is"},
    "columns": {"ID": {"expression": "`ID` * 2", "type": "bigint", "injective": True}},
    "add": {"shown": "concat(place, ': ', quantity)"},
    "where": "quantity <> 3",
}


def mapped_table(testbed: KillTestbed, kills: KillSequence) -> None:
    """Map a table's columns and filter its rows: it is held until it is read again, goes on, and is read again without."""
    source, copy = testbed.source, kills.copy
    source.changing = ONE
    source.work()
    copy.configure("48KiB", tables=(MAPPED, "SHOP.BINS"))
    kills.run(*CATCH_UP, codes=(3,))
    kills.kill_again_at("merge", "snapshot", "prepare_snapshot_load")
    kills.run(redolake, "snapshot", "SHOP.PARTS", "--replace")
    source.work()
    kills.run(*CATCH_UP)
    found = copy.rows_at(target_of_parts(copy))
    wanted = [row for row in source.rows("parts") if row["QUANTITY"] not in (None, 3)]
    assert by_id(mapped_rows(wanted)) == by_id({name: row[name] for name in ("ID", "where_it_is", "shown")} for row in found)
    assert len(found) > 5
    kills.run(redolake, "verify", "SHOP.PARTS")
    copy.configure("48KiB")
    kills.run(redolake, "snapshot", "SHOP.PARTS", "--replace")


QUARANTINED = {"table": "SHOP.PARTS", "columns": {"QUANTITY": "decimal(8,0)"}, "on_error": {"value": "quarantine"}}


def quarantined_row(testbed: KillTestbed, kills: KillSequence) -> None:
    """Put a row into quarantine, drop its change, and apply one that makes it right: a new row at its key, as the redo of an
    UPDATE lacks columns that are younger than the row."""
    source, copy = testbed.source, kills.copy
    source.changing = ONE
    copy.configure("48KiB", tables=(QUARANTINED, "SHOP.BINS"))
    copy.succeed(redolake, "snapshot", "SHOP.PARTS", "--replace")
    source.shop.run_sql("UPDATE parts SET quantity = 123456789 WHERE id = 2")
    source.work()
    kills.kill_again_at("merge")
    kills.run(*CATCH_UP)
    assert listed_keys(copy) == ['{"ID":"2"}']
    live = {row["ID"]: row for row in copy.rows_at(target_of_parts(copy))}
    assert by_id({**row, "QUANTITY": 2} if row["ID"] == 2 else row for row in source.rows("parts")) == by_id(live.values())
    kills.run(redolake, "quarantine", "drop", "SHOP.PARTS", "--reason", "test", "--execute", "--yes", codes=NOTHING_LEFT)
    source.shop.run_sql("DELETE FROM parts WHERE id = 2", "INSERT INTO parts (id, place, quantity) VALUES (2, 'first', 2)")
    source.work()
    kills.run(*CATCH_UP)
    assert listed_keys(copy) == []
    kills.run(redolake, "verify", "SHOP.PARTS")
    copy.configure("48KiB")
    copy.succeed(redolake, "snapshot", "SHOP.PARTS", "--replace")


def listed_keys(copy: PipelineCopy) -> list[str]:
    """Return the keys of the changes in quarantine that no later event has made right, each as often as it is listed."""
    rows = copy.rows_at(copy.pipeline.quarantine_path(TableId("SHOP", "PARTS")))
    healed = {row["key"]: row["position"] for row in rows if row["event"] == "healed"}
    return [row["key"] for row in rows if row["event"] == "quarantined" and row["position"] > healed.get(row["key"], -1)]


def mapped_rows(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        shown = None if row["PLACE"] is None else f"{row['PLACE']}: {row['QUANTITY']}"
        yield {"ID": row["ID"] * 2, "where_it_is": row["PLACE"], "shown": shown}


def target_of_parts(copy: PipelineCopy) -> str:
    return copy.pipeline.target(TableId("SHOP", "PARTS"))


def after_snapshot(copy: PipelineCopy) -> int:
    """Return the first SCN that a backfill can begin at; it is within a window."""
    with Run(copy.pipeline) as context:
        return 1 + max(int(table.snapshot_scn or 0) for table in context.ledger.tables())


def backfill(kills: KillSequence, start: int) -> None:
    """Backfill the range from `start` to the end of the last window into a shadow table."""
    end = steps.list_windows(kills.copy.pipeline)[-1].last_scn + 1
    kills.kill_again_at("merge")
    kills.run(redolake, "backfill", "SHOP.PARTS", "--from", str(start), "--to", str(end), "--execute")
    shadow = kills.copy.folder / "lake" / "_shadow" / f"{start}-{end}" / "shop" / "parts"
    live = kills.copy.rows_at(target_of_parts(kills.copy))
    brought = [without_mark(row) for row in kills.copy.rows_at(str(shadow)) if not row.get("_deleted")]
    assert len(brought) > 5
    assert all(row in live for row in brought)


def without_mark(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "_deleted"}


def each_write_of_spark(testbed: KillTestbed, kills: KillSequence) -> None:
    """Let one pipeline pass every write of Spark: DDL, an open transaction, a backfill, its drop, and a new snapshot that
    repairs the table, after a batch that has passed the snapshot's SCN."""
    testbed.source.changing = ONE
    start = after_snapshot(kills.copy)
    testbed.source.work(ddl=True)
    kills.run(*CATCH_UP)
    testbed.source.work()
    kills.run(*CATCH_UP)
    live = latest_version(target_of_parts(kills.copy))
    backfill(kills, start)  # with the DDL
    assert latest_version(target_of_parts(kills.copy)) == live

    (still_open,) = steps.list_transactions(kills.copy.pipeline).open
    assert still_open.rows == 2
    kills.run(redolake, "tx", "drop", still_open.xid, "--reason", "test", "--execute", "--yes", codes=NOTHING_LEFT)
    testbed.source.finish()
    scn = kills.copy.folder / "scn"
    kills.run(read_snapshot_again, kills.copy.name, "SHOP.PARTS", str(scn))
    testbed.source.more()
    kills.run(*CATCH_UP)
    (drop,) = steps.list_transactions(kills.copy.pipeline).dropped
    assert (drop.state, drop.lacking) == ("committed", ("SHOP.PARTS",))
    kills.run(load, kills.copy.name, "SHOP.PARTS", int(scn.read_text()))
    kills.run(redolake, "verify", "SHOP.PARTS")


WORKFLOWS = (
    first_run,
    ddl,
    re_snapshot,
    held_table,
    dropped_transaction,
    restored_logs,
    prune,
    redo_loss,
    declared_gap,
    backfill_and_verify,
    large_table,
    edited_tables,
    mapped_table,
    quarantined_row,
)


def run_workflow(
    testbed: KillTestbed, workflow: Workflow, between: str, killed_at: Path, points: Container[str] = EVERY
) -> None:
    """Run the workflow with a kill at each of these points, by default at all, and check what must hold."""
    copy = testbed.new_copy() if workflow is first_run else testbed.usable_copy()
    testbed.source.changing = BOTH
    workflow(testbed, KillSequence(copy, killed_at, between, testbed.turns, points))
    testbed.done.add((workflow.__name__, between))

    copy.catch_up()
    testbed.check(copy)
