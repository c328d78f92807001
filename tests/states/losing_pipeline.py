"""A pipeline that loses redo, for the tests of recovery."""

from __future__ import annotations

from typing import Any

import oracledb
import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import RedoLost
from redolake.steps.capture.windows import PlanOutcome
from redolake.steps.proof.verify import Verification
from redolake.steps.recovery.recover import RecoveryReport
from redolake.steps.run import RecoveredLoss, RunOutcome, capture
from redolake.steps.shared.status import Status
from tests.fixtures.shop import Shop
from tests.references.delta_table import delta_rows
from tests.references.plain_lake import PlainLake
from tests.references.source_comparison import compare_with_source


class LosingPipeline:
    """A pipeline over one table of three loaded parts. `lose_redo` loses an UPDATE, an INSERT and a commit."""

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
        self.catch_up()

    def change(self, *statements: str) -> None:
        self.shop.run_sql(*statements)

    def catch_up(self) -> RunOutcome:
        self.shop.switch_logs()
        return steps.run_pipeline(self.pipeline, until_caught_up=True, source=self.shop.params, spark=self.spark)

    def land(self) -> None:
        """Land every sealed window, and apply nothing."""
        while capture(Run(self.pipeline, self.shop.params)).plan.outcome == "window":
            pass

    def lose_redo(self) -> None:
        """Lose redo that contains the end of one transaction and the beginning of another."""
        open_one = self.shop.oracle.connect("SHOP")
        open_one.cursor().execute("INSERT INTO parts (id, place, quantity) VALUES (10, 'open', 10)")
        self.catch_up()
        self.change(
            "UPDATE parts SET quantity = 100 WHERE id = 1", "INSERT INTO parts (id, place, quantity) VALUES (4, 'D', 4)"
        )
        open_one.commit()
        open_one.close()
        across = self.shop.oracle.connect("SHOP")
        across.cursor().execute("INSERT INTO parts (id, place, quantity) VALUES (20, 'split', 20)")
        self.shop.switch_logs()
        self.shop.oracle.faults.purge_logs()
        across.cursor().execute("INSERT INTO parts (id, place, quantity) VALUES (21, 'split', 21)")
        across.commit()
        across.close()
        self.change("UPDATE parts SET quantity = 300 WHERE id = 3")
        self.shop.switch_logs()

    def plan(self) -> PlanOutcome:
        return steps.plan_next_window(Run(self.pipeline, self.shop.params))

    def recover(self) -> RecoveryReport:
        return steps.inspect_redo_loss(self.pipeline, source=self.shop.params)

    def recover_by(self, kind: Any, **choice: Any) -> RecoveredLoss:
        return steps.recover_redo_loss(self.pipeline, kind, source=self.shop.params, spark=self.spark, by="test", **choice)

    def status(self) -> Status:
        return steps.read_status(self.pipeline)

    def lost_in(self) -> str | None:
        lost = self.status().lost
        return None if lost is None else lost.step

    def verify(self) -> Verification:
        return compare_with_source(self.pipeline, self.shop.params)

    def is_equal(self) -> bool:
        found = self.verify()
        return found.equal and found.tables[0].source_rows > 0

    def rows(self) -> dict[int, int]:
        """Return the quantities in the lake by ID."""
        target = f"{self.shop.folder}/lake/shop/parts"
        if isinstance(self.spark, PlainLake):
            return {int(number): int(quantity) for number, _, quantity in self.spark.tables[target].rows.values()}
        return {int(row["ID"]): int(row["QUANTITY"]) for row in delta_rows(target)}


def check_new_incarnation(losing: LosingPipeline, way: str) -> None:
    """Undo a landed change by a RESETLOGS, recover in one of the two ways, and compare what the lake has then."""
    kept = scn_of(losing.shop)
    losing.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    losing.catch_up()
    assert losing.rows()[1] == 100
    losing.shop.oracle.faults.reset_logs(to_scn=kept)
    losing.change("UPDATE parts SET quantity = 300 WHERE id = 3")
    losing.shop.switch_logs()
    with pytest.raises(RedoLost, match="undid changes that were landed"):
        losing.plan()
    with pytest.raises(AssertionError, match=r"RedoLost: .* nothing to compare it with"):
        losing.verify()

    losing.recover_by(way, reason="point-in-time recovery")
    losing.catch_up()
    losing.change("UPDATE parts SET quantity = 201 WHERE id = 2")
    losing.catch_up()

    if way == "snapshot":
        assert losing.is_equal()
        assert losing.status().declared_gaps == ()
    else:
        assert losing.rows() == {1: 100, 2: 201, 3: 300}, "part 1 keeps the change that the RESETLOGS undid"
        assert losing.verify().tables[0].differing_cells == 1
        assert [gap.kind for gap in losing.status().declared_gaps] == ["gap"]
    (table,) = losing.status().tables
    assert table.state == "live"


def scn_of(shop: Shop) -> int:
    with shop.oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT current_scn FROM v$database")
        return int(cursor.fetchone()[0])
