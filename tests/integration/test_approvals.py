"""What a person approves for one DDL statement: it is followed as approved, recorded beside the landing, and shown."""

from __future__ import annotations

from typing import Any

import pytest

from redolake import steps
from redolake.cli.schema import log_cells
from redolake.errors import Terminal
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import differences
from tests.integration.test_resnapshot import begun, no_spark, parts, run  # noqa: F401
from tests.states.lost_ledger import lose_ledger

LATER = "INSERT INTO parts VALUES (3, 'C', 30)"


def test_a_ddl_is_ignored_once_by_approval(shop: Shop, no_spark: Any) -> None:  # noqa: F811
    pipeline = begun(shop, no_spark)
    shop.run_sql("ALTER TABLE parts NOLOGGING", LATER)
    run(shop, pipeline, no_spark)
    assert parts(pipeline).state == "held"
    with pytest.raises(Terminal, match="needs a reason"):
        steps.approve_ddl(pipeline, "SHOP.PARTS", "ignore", reason=" ", by="ann")
    with pytest.raises(Terminal, match="'follow' answers") as wrong:
        steps.approve_ddl(pipeline, "SHOP.PARTS", "follow", reason="why not", by="ann")
    assert wrong.value.cure == "write ignore"
    seen = steps.look_up_held(pipeline, "SHOP.PARTS", "ignore")
    with pytest.raises(Terminal, match="another statement"):
        steps.approve_ddl(pipeline, "SHOP.PARTS", "ignore", reason="approved before", by="ann", address=f"{seen.address}0")

    steps.approve_ddl(pipeline, "SHOP.PARTS", "ignore", reason="no direct-path loads", by="ann", address=seen.address)
    run(shop, pipeline, no_spark)
    assert differences(shop, pipeline) == {}

    (version,) = steps.list_versions(pipeline, "SHOP.PARTS")
    assert f"unknown_ddl: ignore (SCN {version.approvals[0].at_scn}) by ann, " in str(log_cells(version)[-1])
    shop.run_sql("ALTER TABLE parts NOLOGGING")
    run(shop, pipeline, no_spark)
    assert parts(pipeline).state == "held", "the approval was for one statement"


def test_an_approved_ddl_is_followed_again_after_the_ledger_was_lost(shop: Shop, no_spark: Any) -> None:  # noqa: F811
    pipeline = begun(shop, no_spark)
    shop.run_sql("ALTER TABLE parts MODIFY (quantity NUMBER(5))", LATER)
    run(shop, pipeline, no_spark)
    steps.approve_ddl(pipeline, "SHOP.PARTS", "follow", reason="no larger value is left", by="ann")
    run(shop, pipeline, no_spark)
    lose_ledger(shop.folder / "landing")
    shop.run_sql("INSERT INTO parts VALUES (4, 'D', 40)")
    run(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}
    _, narrowed = steps.list_versions(pipeline, "SHOP.PARTS")
    assert [(made.policy, made.choice, made.by, made.reason) for made in narrowed.approvals] == [
        ("narrow", "follow", "ann", "no larger value is left")
    ]
    assert narrowed.username == "SHOP"


def test_versions_after_a_followed_truncate_are_known_again_after_the_ledger_was_lost(
    shop: Shop,
    no_spark: Any,  # noqa: F811
) -> None:
    pipeline = begun(shop, no_spark, on_ddl={"truncate": "follow"})
    shop.run_sql("TRUNCATE TABLE parts", "ALTER TABLE parts ADD (shelf NUMBER(3))", "INSERT INTO parts VALUES (3, 'C', 30, 7)")
    run(shop, pipeline, no_spark)
    lose_ledger(shop.folder / "landing")
    shop.run_sql("INSERT INTO parts VALUES (4, 'D', 40, 8)")
    run(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}
