"""Lost redo: it is told and kept, and each way on ends in the state it promised. Stand-in, driver, Spark, Delta."""

from __future__ import annotations

from typing import Any

import oracledb
import pytest

from pipelines import steps
from pipelines.errors import RedoLost, Terminal
from pipelines.steps.run import capture
from tests.delta_table import delta_rows
from tests.fix_shop import Shop
from tests.source_comparison import compare_with_source

pytestmark = pytest.mark.spark


class World:
    """A table of three parts, loaded and caught up; then redo is lost: the UPDATE of part 1 and part 4, and a commit."""

    def __init__(self, shop: Shop, spark: Any) -> None:
        self.shop, self.spark = shop, spark
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            "INSERT INTO parts (id, place, quantity) VALUES (1, 'A', 1)",
            "INSERT INTO parts (id, place, quantity) VALUES (2, 'B', 2)",
            "INSERT INTO parts (id, place, quantity) VALUES (3, 'C', 3)",
        )
        self.pipeline = shop.pipeline(tables=["SHOP.PARTS"])
        steps.take_snapshot(self.pipeline, source=shop.params, spark=spark)
        self.change("UPDATE parts SET quantity = 20 WHERE id = 2")
        self.caught_up()

    def change(self, *statements: str) -> None:
        self.shop.run_sql(*statements)

    def caught_up(self) -> dict[str, Any]:
        self.shop.switch_logs()
        return steps.run_pipeline(self.pipeline, until_caught_up=True, source=self.shop.params, spark=self.spark)

    def land(self) -> None:
        """All that is sealed, without applying it."""
        while capture(self.pipeline, self.shop.params)["outcome"] == "window":
            pass

    def lose(self) -> None:
        """A transaction is open at the start of what is lost and ends in it, another begins in it and ends behind it."""
        open_one = self.shop.oracle.connect("SHOP")
        open_one.cursor().execute("INSERT INTO parts (id, place, quantity) VALUES (10, 'open', 10)")
        self.caught_up()
        self.change(
            "UPDATE parts SET quantity = 100 WHERE id = 1", "INSERT INTO parts (id, place, quantity) VALUES (4, 'D', 4)"
        )
        open_one.commit()
        open_one.close()
        across = self.shop.oracle.connect("SHOP")
        across.cursor().execute("INSERT INTO parts (id, place, quantity) VALUES (20, 'torn', 20)")
        self.shop.switch_logs()
        self.shop.oracle.faults.purge_logs()
        across.cursor().execute("INSERT INTO parts (id, place, quantity) VALUES (21, 'torn', 21)")
        across.commit()
        across.close()
        self.change("UPDATE parts SET quantity = 300 WHERE id = 3")
        self.shop.switch_logs()

    def plan(self) -> dict[str, Any]:
        return steps.plan_next_window(self.pipeline, self.shop.params)

    def recover(self) -> dict[str, Any]:
        return steps.inspect_redo_loss(self.pipeline, self.shop.params)

    def lead_over(self, kind: Any, **choice: Any) -> dict[str, Any]:
        return steps.recover_redo_loss(self.pipeline, kind, source=self.shop.params, spark=self.spark, by="test", **choice)

    def status(self) -> dict[str, Any]:
        return steps.read_status(self.pipeline)

    def verify(self) -> dict[str, Any]:
        return compare_with_source(self.pipeline, self.shop.params)

    def is_equal(self) -> bool:
        found = self.verify()
        return bool(found["equal"]) and found["tables"][0]["source_rows"] > 0

    def delta(self) -> dict[int, int]:
        rows = delta_rows(f"{self.shop.folder}/lake/shop/parts")
        return {int(row["ID"]): int(row["QUANTITY"]) for row in rows}


@pytest.fixture
def world(shop: Shop, spark: Any) -> World:
    return World(shop, spark)


def test_restored_logs_let_the_position_go_on(world: World) -> None:
    world.lose()
    with pytest.raises(RedoLost, match=r"Redo Thread \d is inconsistent"):
        world.plan()
    status = world.status()
    assert status["lost"]["code"] == "RedoLost"
    assert "redolake" in status["lost"]["cure"]
    found = world.recover()
    assert {log["thread"] for log in found["missing"]} == {1, 2}
    assert all(log["files"][0]["destination"] for log in found["missing"])
    assert [f"THREAD {thread};" in "".join(found["rman"]) for thread in (1, 2)] == [True, True]
    assert [choice["name"] for choice in found["choices"]] == ["restore", "snapshot", "gap", "position"]

    not_yet = steps.recheck_redo_loss(world.pipeline, world.shop.params)
    assert (not_yet["lost"], not_yet["back"]) == (True, [])
    world.shop.oracle.faults.restore_logs()
    again = steps.recheck_redo_loss(world.pipeline, world.shop.params)

    assert again["lost"] is False
    assert [log["sequence"] for log in again["back"]] == [log["sequence"] for log in found["missing"]]
    assert world.status()["lost"] is None
    world.caught_up()
    assert world.is_equal()
    assert world.status()["breaks"] == []


def test_new_snapshots_make_the_tables_whole(world: World) -> None:
    world.lose()
    made = world.lead_over("snapshot")

    assert [t["table"] for t in made["snapshots"]] == ["SHOP.PARTS"]
    assert made["dropped_rows"] == 1
    world.change("UPDATE parts SET quantity = 301 WHERE id = 3")
    world.caught_up()
    assert world.is_equal()
    assert (world.status()["lost"], world.status()["breaks"]) == (None, [])


def test_a_table_that_was_to_be_read_anew_is_held_until_it_is(world: World) -> None:
    world.lose()
    steps.declare_gap(world.pipeline, "snapshot", world.shop.params, by="test")
    world.caught_up()

    (table,) = world.status()["tables"]
    assert (table["state"], "were never read" in table["error"]) == ("held", True)
    with pytest.raises(RedoLost, match="were never read") as refused:
        steps.resume_tables(world.pipeline, ["SHOP.PARTS"])
    assert "snapshot SHOP.PARTS --replace" in refused.value.cure
    steps.take_snapshot(world.pipeline, ["SHOP.PARTS"], replace=True, source=world.shop.params, spark=world.spark)
    world.caught_up()
    assert world.is_equal()


def test_a_declared_gap_lets_the_tables_go_on_and_stays_visible_until_they_are_read_anew(world: World) -> None:
    world.lose()
    with pytest.raises(Terminal, match="a reason is wanted"):
        world.lead_over("gap")
    made = world.lead_over("gap", reason="the tapes are gone")
    world.caught_up()

    # neither part 4, nor the update of part 1, nor the open transaction's part; of the torn one what lies behind the gap
    assert world.delta() == {1: 1, 2: 20, 3: 300, 21: 21}
    (found,) = world.status()["breaks"]
    assert (found["kind"], found["reason"], found["tables"]) == ("gap", "the tapes are gone", ["SHOP.PARTS"])
    assert found["from_scn"] < found["to_scn"] == made["to_scn"]
    assert [t["rows"] for t in found["dropped"]] == [1]
    assert [t["rows"] for t in found["split"]] == [1]
    compared = world.verify()
    assert compared["equal"] is False
    assert (compared["tables"][0]["missing_rows"], compared["tables"][0]["differing_cells"]) == (3, 1)
    assert compared["breaks"] == [found]

    for file in (world.shop.folder / "landing").glob("redolake-ledger.db*"):
        file.unlink()
    assert world.status()["breaks"] == [found], "a lost ledger knows of the gap again"
    world.change("UPDATE parts SET quantity = 21 WHERE id = 2")
    world.caught_up()
    assert world.delta()[2] == 21

    steps.take_snapshot(world.pipeline, ["SHOP.PARTS"], replace=True, source=world.shop.params, spark=world.spark)
    assert world.status()["breaks"] == []
    assert world.is_equal()


def test_a_position_set_by_hand_is_checked(world: World) -> None:
    world.lose()
    found = world.recover()
    landed = found["position"]["scn"]
    whole = int(found["choices"][2]["what"].split(" to ")[1].split(":")[0])

    for scn, error, why in (
        (landed, Terminal, "is landed already"),
        (landed + 1, RedoLost, "is incomplete"),
        (10**12, Terminal, "is in the future"),
    ):
        with pytest.raises(error, match=why):
            world.lead_over("position", scn=scn, reason="known to be quiet")
    assert world.status()["breaks"] == []
    made = world.lead_over("position", scn=whole, reason="known to be quiet")
    world.caught_up()

    assert made["to_scn"] == whole
    assert world.delta() == {1: 1, 2: 20, 3: 300, 21: 21}
    assert [b["kind"] for b in world.status()["breaks"]] == ["position"]


def test_nothing_is_broken_while_nothing_is_lost(world: World) -> None:
    found = world.recover()

    assert (found["lost"], found["choices"]) == (False, [])
    with pytest.raises(Terminal, match="nothing is lost"):
        world.lead_over("gap", reason="for fun")


def test_a_file_that_is_gone_although_it_is_listed_is_lost_in_mining(world: World) -> None:
    world.caught_up()
    world.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    world.shop.switch_logs()
    world.shop.oracle.faults.remove_files()
    world.change("UPDATE parts SET quantity = 300 WHERE id = 3")
    world.shop.switch_logs()
    with pytest.raises(RedoLost):
        world.caught_up()

    assert world.status()["lost"]["step"] == "mine"
    assert world.plan()["outcome"] == "window", "V$ARCHIVED_LOG claims the file"
    assert world.status()["lost"]["step"] == "mine"
    assert world.recover()["lost"] is True
    while world.status()["lost"]:  # logs of the other thread may be gone as well, which shows when they are mined
        world.lead_over("gap", reason="rm -rf")
        try:
            world.caught_up()
        except RedoLost:
            continue
    assert world.delta() == {1: 1, 2: 20, 3: 300}


@pytest.mark.parametrize("way", ["snapshot", "gap"])
def test_a_database_that_was_set_back_goes_on_in_its_new_incarnation(world: World, way: str) -> None:
    kept = scn_of(world.shop)
    world.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    world.caught_up()
    assert world.delta()[1] == 100
    world.shop.oracle.faults.reset_logs(to_scn=kept)
    world.change("UPDATE parts SET quantity = 300 WHERE id = 3")
    world.shop.switch_logs()
    with pytest.raises(RedoLost, match="undid changes that were landed"):
        world.plan()
    with pytest.raises(RedoLost, match="nothing to compare it with"):
        world.verify()

    world.lead_over(way, reason="point-in-time recovery")
    world.caught_up()
    world.change("UPDATE parts SET quantity = 201 WHERE id = 2")
    world.caught_up()

    if way == "snapshot":
        assert world.is_equal()
        assert world.status()["breaks"] == []
    else:
        assert world.delta() == {1: 100, 2: 201, 3: 300}, "part 1 keeps what the database has forgotten"
        assert world.verify()["tables"][0]["differing_cells"] == 1
        assert [b["kind"] for b in world.status()["breaks"]] == ["gap"]
    (table,) = world.status()["tables"]
    assert table["state"] == "live"


def test_a_table_read_behind_a_resetlogs_is_not_set_back_by_what_was_landed_before_it(world: World) -> None:
    world.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    world.shop.switch_logs()
    world.land()
    world.shop.oracle.faults.reset_logs()
    world.change("UPDATE parts SET quantity = 300 WHERE id = 1")
    world.shop.switch_logs()
    world.land()
    steps.take_snapshot(world.pipeline, ["SHOP.PARTS"], replace=True, source=world.shop.params, spark=world.spark)

    world.caught_up()

    assert world.delta()[1] == 300
    assert world.is_equal()


def scn_of(shop: Shop) -> int:
    with shop.oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT current_scn FROM v$database")
        return int(cursor.fetchone()[0])
