"""A table that a DDL holds is snapshotted again by itself, in Delta: once for each policy that can say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from tests.fixtures.shop import open_shop
from tests.integration.test_pipeline import caught_up, differences
from tests.integration.test_resnapshot import AGAIN, CREATED, LOGGED, ROWS

pytestmark = pytest.mark.spark


def test_each_policy_that_says_resnapshot_heals_its_table_in_delta(tmp_path: Path, spark: Any) -> None:
    with open_shop(tmp_path, ddl_age=60) as shop:

        def run(policy: str, *statements: str) -> None:
            shop.run_sql(*(statement.replace("parts", policy) for statement in statements))

        for policy in AGAIN:
            run(policy, CREATED, LOGGED, *ROWS)
        tables = [{"table": f"SHOP.{policy.upper()}", "on_ddl": {policy: "resnapshot"}} for policy in AGAIN]
        pipeline = shop.pipeline(tables=tables, resnapshot={"pause_minutes": 0})
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        for policy, statements in AGAIN.items():
            run(policy, *statements)
        caught_up(shop, pipeline, spark)
        for policy in AGAIN:
            run(policy, "UPDATE parts SET place = 'moved' WHERE id = 2")
        caught_up(shop, pipeline, spark)

        assert {t.table: t.error for t in steps.read_status(pipeline).tables if t.error} == {}
        assert differences(shop, pipeline) == {}
