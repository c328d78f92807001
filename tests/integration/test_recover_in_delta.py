"""Recovery where Delta decides: its tables know up to which SCN, and of which incarnation, they are complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import RedoLost, Terminal
from tests.fixtures.shop import Shop
from tests.states.losing_pipeline import LosingPipeline, check_new_incarnation
from tests.states.lost_ledger import lose_ledger
from tests.support.killed import killed_at

pytestmark = pytest.mark.spark


@pytest.fixture
def losing(shop: Shop, spark: Any) -> LosingPipeline:
    return LosingPipeline(shop, spark)


def test_capture_continues_in_the_new_incarnation_after_a_declared_gap(losing: LosingPipeline) -> None:
    check_new_incarnation(losing, "gap")


def test_windows_from_before_a_resetlogs_do_not_change_a_table_snapshotted_after_it(losing: LosingPipeline) -> None:
    losing.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    losing.shop.switch_logs()
    losing.land()
    losing.shop.oracle.faults.reset_logs()
    losing.change("UPDATE parts SET quantity = 300 WHERE id = 1")
    losing.shop.switch_logs()
    losing.land()
    steps.take_snapshot(losing.pipeline, ["SHOP.PARTS"], replace=True, source=losing.shop.params, spark=losing.spark)

    losing.catch_up()

    assert losing.rows()[1] == 300
    assert losing.is_equal()


REASON = "the tapes came back"


def lose_and_go_on(losing: LosingPipeline) -> None:
    """Lose redo, declare the gap, and change rows of the gap once more after it."""
    losing.lose_redo()
    losing.recover_by("gap", reason="the tapes are gone")
    losing.change(
        "UPDATE parts SET place = 'later' WHERE id = 4",  # the gap has its INSERT
        "DELETE FROM parts WHERE id = 2",
        "INSERT INTO parts (id, place, quantity) VALUES (5, 'E', 5)",
    )
    losing.catch_up()


def close_gap(losing: LosingPipeline, **choice: Any) -> steps.GapClosing:
    choice = {"execute": True, "reason": REASON, "by": "test", **choice}
    return steps.close_gap(losing.pipeline, source=losing.shop.params, spark=losing.spark, **choice)


def test_a_declared_gap_is_closed_once_its_logs_are_restored(losing: LosingPipeline) -> None:
    # Archived logs are purged before they are mined, and nobody finds the tapes: a gap is declared, and the table goes on.
    lose_and_go_on(losing)
    differing = losing.verify().tables[0]
    assert (differing.missing_rows, differing.differing_cells) == (2, 1)
    assert [gap.tables for gap in losing.status().declared_gaps] == [("SHOP.PARTS",)]

    # The logs are still missing, and the plan says which, and by which commands they come back.
    without = close_gap(losing, execute=False)
    assert {log.thread for log in without.missing} == {1, 2}
    assert all("RESTORE ARCHIVELOG" in line for line in without.rman)
    with pytest.raises(RedoLost, match=r"log\(s\) of the range are missing"):
        close_gap(losing)

    # A week later they are restored, under other names. The plan is shown first.
    before = losing.rows()
    losing.shop.oracle.faults.restore_logs(folder=str(losing.shop.folder / "restored"))
    planned = close_gap(losing, execute=False)
    assert (planned.missing, planned.mined, planned.executed) == ((), 0, False)
    assert planned.windows >= 1
    assert [table.why_not for table in planned.tables] == [""]
    assert losing.rows() == before, "a plan changes nothing"
    with pytest.raises(Terminal, match="needs a reason"):
        close_gap(losing, reason=" ")

    # Each row that the gap changed is as in the source: those changed or deleted later too. The position stays.
    position = losing.status().tables[0].complete_to_scn
    closed = close_gap(losing)
    assert (closed.done, closed.tables[0].equal) == (True, True)
    assert (closed.tables[0].inserted, closed.tables[0].deleted) == (2, 0)  # those of 10 and 20; 1 is updated
    assert losing.status().tables[0].complete_to_scn == position
    assert losing.is_equal()
    assert steps.verify_tables(losing.pipeline, source=losing.shop.params, spark=losing.spark).equal
    assert losing.status().declared_gaps == ()

    # The proof outlives the ledger, a repeat changes nothing, and the stream goes on.
    (proof,) = Path(losing.pipeline.landing).glob("shop/closed/*/*.json")
    assert '"keys": 4' in proof.read_text()
    lose_ledger(losing.shop.folder / "landing")
    again = close_gap(losing, execute=False)
    assert (again.done, again.windows, again.tables) == (True, 0, ())
    assert losing.status().declared_gaps == ()
    losing.change("UPDATE parts SET quantity = 11 WHERE id = 10", "DELETE FROM parts WHERE id = 20")
    losing.catch_up()
    assert losing.is_equal()


def test_a_closing_that_is_killed_after_each_write_is_repeated(losing: LosingPipeline) -> None:
    lose_and_go_on(losing)
    losing.shop.oracle.faults.restore_logs()
    for point in (
        "write_slice windows/*/*.parquet",
        "publish chain/*.json",
        "repair",
        "record_closed closed/*/*.json",
        "ledger.change_gap",
    ):
        with killed_at(point):
            close_gap(losing)
    assert close_gap(losing, execute=False).done
    assert losing.is_equal()
    assert losing.status().declared_gaps == ()


def test_logs_that_no_view_lists_are_named_by_their_files(losing: LosingPipeline) -> None:
    lose_and_go_on(losing)
    folder = losing.shop.folder / "from tape"
    losing.shop.oracle.faults.restore_logs(folder=str(folder), catalogue=False)
    assert close_gap(losing, execute=False).missing, "V$ARCHIVED_LOG does not list them"

    assert close_gap(losing, logs=[str(folder)]).done
    assert losing.is_equal()


def test_a_gap_stays_open_while_a_transaction_that_began_in_it_has_not_ended(losing: LosingPipeline) -> None:
    losing.catch_up()
    with losing.shop.oracle.connect("SHOP") as long_one, long_one.cursor() as cursor:
        cursor.execute("INSERT INTO parts (id, place, quantity) VALUES (30, 'long', 30)")
        lose_and_go_on(losing)
        losing.shop.oracle.faults.restore_logs()

        left = close_gap(losing)

        assert (left.done, left.tables[0].equal) == (False, False)
        assert "has not ended by SCN" in left.tables[0].why_not
        cursor.execute("INSERT INTO parts (id, place, quantity) VALUES (31, 'long', 31)")
        long_one.commit()
    losing.catch_up()
    assert 30 not in losing.rows(), "the stream has only what the transaction did after the gap"
    assert close_gap(losing).done
    assert losing.is_equal()


def test_a_ddl_in_the_gap_needs_a_snapshot(losing: LosingPipeline) -> None:
    losing.change("UPDATE parts SET quantity = 2 WHERE id = 1", "TRUNCATE TABLE parts")
    losing.change("INSERT INTO parts (id, place, quantity) VALUES (9, 'new', 9)")
    losing.shop.switch_logs()
    losing.shop.oracle.faults.purge_logs()
    losing.change("INSERT INTO parts (id, place, quantity) VALUES (8, 'new', 8)")
    losing.shop.switch_logs()
    with pytest.raises(RedoLost):
        losing.plan()
    losing.recover_by("gap", reason="the tapes are gone")
    losing.catch_up()
    losing.shop.oracle.faults.restore_logs()

    left = close_gap(losing)

    assert not left.done
    assert left.tables[0].why_not
    assert losing.status().declared_gaps


def test_a_ddl_that_is_older_than_the_tables_snapshot_does_not_keep_its_gap_open(shop: Shop, spark: Any) -> None:
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, quantity NUMBER(9))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO parts VALUES (1, 1)",
    )
    mapped = {"columns": {"QUANTITY": {"expression": "quantity * 100", "type": "decimal(20,0)"}}, "where": "quantity < 50"}
    pipeline = shop.pipeline(tables=[{"table": "SHOP.PARTS", **mapped}])
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql("UPDATE parts SET quantity = 10", "INSERT INTO parts VALUES (2, 2)", "INSERT INTO parts VALUES (4, 60)")
    shop.switch_logs()
    shop.oracle.faults.purge_logs()
    shop.run_sql("INSERT INTO parts VALUES (3, 3)")
    shop.switch_logs()
    with pytest.raises(RedoLost):
        steps.plan_next_window(Run(pipeline, shop.params))
    why: dict[str, Any] = {"reason": "gone", "by": "test", "source": shop.params, "spark": spark}
    steps.recover_redo_loss(pipeline, "gap", **why)
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    shop.oracle.faults.restore_logs()

    closed = steps.close_gap(pipeline, execute=True, **why)

    assert (closed.done, closed.tables[0].why_not) == (True, "")
    assert steps.verify_tables(pipeline, source=shop.params, spark=spark).equal


def test_a_table_that_is_held_at_the_gap_goes_on_when_it_is_closed(losing: LosingPipeline) -> None:
    losing.change(
        "ALTER TABLE parts DROP SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
    )
    losing.catch_up()
    losing.change(
        "INSERT INTO parts (id, place, quantity) VALUES (4, 'D', 4)",
        "UPDATE parts SET id = 7 WHERE id = 1",
        "UPDATE parts SET quantity = 33 WHERE id = 3",
    )
    losing.shop.switch_logs()
    losing.shop.oracle.faults.purge_logs()
    losing.change(
        "UPDATE parts SET place = 'later' WHERE id = 4",  # the redo has the key and PLACE alone
        "UPDATE parts SET quantity = 77 WHERE id = 7",
        "DELETE FROM parts WHERE id = 2",
    )
    losing.shop.switch_logs()
    with pytest.raises(RedoLost):
        losing.plan()
    losing.recover_by("gap", reason="the tapes are gone")
    losing.catch_up()
    (held,) = losing.status().tables
    assert (held.state, "the row is not in the target" in str(held.error)) == ("held", True)
    losing.shop.oracle.faults.restore_logs()

    for point in ("repair", "ledger.read_part"):
        with killed_at(point):
            close_gap(losing)
    assert close_gap(losing).done

    (table,) = losing.status().tables
    assert table.state == "live"
    assert losing.is_equal()
    losing.change("UPDATE parts SET place = 'on' WHERE id = 7", "INSERT INTO parts (id, place, quantity) VALUES (8, 'H', 8)")
    losing.catch_up()
    assert losing.is_equal()
