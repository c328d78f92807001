"""A policy that changes what the capture user reads is refused before a snapshot; the redo would contain other rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError
from standin.faults.injection import FaultInjector
from tests.fixtures.shop import Shop, open_shop
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor

POLICIES: dict[str, tuple[Callable[[FaultInjector], object], str, str]] = {
    "VPD": (
        lambda faults: faults.add_policy("SHOP.PARTS", "id > 1"),
        "SHOP.PARTS: policy P1 (SEC.ADMITTED) filters the rows",
        "EXEMPT ACCESS POLICY",
    ),
    "Label Security": (
        lambda faults: faults.add_policy("SHOP.PARTS", "id > 1", label=True),
        "SHOP.PARTS: policy P1",
        "EXEMPT ACCESS POLICY",
    ),
    "Data Redaction": (
        lambda faults: faults.redact_column("SHOP.PARTS", "PLACE"),
        "SHOP.PARTS: policy P1 of Data Redaction masks values",
        "EXEMPT REDACTION POLICY",
    ),
}


def with_parts(shop: Shop) -> Pipeline:
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO parts (id, place) VALUES (1, 'A')",
        "INSERT INTO parts (id, place) VALUES (2, 'B')",
    )
    return shop.pipeline(tables=["SHOP.PARTS"])


def errors(pipeline: Pipeline, shop: Shop) -> list[str]:
    return [str(f) for f in run_doctor(pipeline, shop.params) if f.severity == "error"]


def seen_by(shop: Shop) -> list[tuple[int, str]]:
    with shop.oracle.connect(shop.oracle.capture_user, dsn=shop.oracle.pdb_dsn) as connection, connection.cursor() as cursor:
        return list(cursor.execute("SELECT id, place FROM shop.parts ORDER BY id"))


@pytest.mark.parametrize("hides", [False, True], ids=["ALL_POLICIES has labels", "ALL_POLICIES lacks labels"])
def test_a_policy_is_refused_with_the_grant_unless_the_user_is_exempt(tmp_path: Path, hides: bool) -> None:
    with open_shop(tmp_path, hides_label_policies=hides) as shop, PlainLake().in_place_of_spark():
        pipeline = with_parts(shop)
        assert errors(pipeline, shop) == []
        for add, what, privilege in POLICIES.values():
            add(shop.oracle.faults)
            assert seen_by(shop) != [(1, "A"), (2, "B")], "the policy is in force"

            found = errors(pipeline, shop)
            assert found
            assert all(error.startswith(what) for error in found)
            assert all(f"GRANT {privilege} TO {shop.oracle.capture_user}" in error for error in found)
            with pytest.raises(ConfigurationError, match=privilege):
                steps.begin_snapshot(Run(pipeline, shop.params))
            shop.oracle.faults.drop_policies()

        for privilege in ("EXEMPT ACCESS POLICY", "EXEMPT REDACTION POLICY"):
            shop.run_sql(f"GRANT {privilege} TO {shop.oracle.capture_user}", user="SYS")
        for add, _, _ in POLICIES.values():
            add(shop.oracle.faults)
        assert errors(pipeline, shop) == []
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        assert steps.verify_tables(pipeline, source=shop.params, spark="no Spark").tables[0].source_rows == 2


def test_a_policy_that_comes_while_a_snapshot_is_read_stops_it(shop: Shop) -> None:
    pipeline = with_parts(shop)
    begun = steps.begin_snapshot(Run(pipeline, shop.params))
    shop.oracle.faults.add_policy("SHOP.PARTS", "id > 1")

    with pytest.raises(ConfigurationError, match="EXEMPT ACCESS POLICY"):
        steps.read_snapshot_table(Run(pipeline, shop.params), begun.scn, "SHOP.PARTS")


def test_a_view_that_the_user_may_not_see_counts_as_a_policy(shop: Shop) -> None:
    pipeline = with_parts(shop)
    shop.run_sql(f"REVOKE SELECT ON SYS.REDACTION_POLICIES FROM {shop.oracle.capture_user} CONTAINER = ALL", user="SYS")

    (error,) = errors(pipeline, shop)

    assert "GRANT SELECT ON SYS.REDACTION_POLICIES TO" in error
    shop.run_sql(f"GRANT EXEMPT REDACTION POLICY TO {shop.oracle.capture_user}", user="SYS")
    assert errors(pipeline, shop) == []
