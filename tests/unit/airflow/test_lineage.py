"""What OpenLineage gets of a task: Oracle tables, the landing, Delta tables."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from redolake.airflow.lineage import column_facet, files, landing_folder, oracle_table, report_lineage
from redolake.records.batches.manifest import RowAccount, TableResult
from redolake.steps.apply.batch import applied_table
from redolake.steps.shown.column_lineage import ColumnOrigin, TableOrigin
from redolake.values.table import TableId

pytestmark = pytest.mark.airflow
ORDERS = TableId("SHOP", "ORDERS")


def test_the_provider_gets_the_datasets_of_a_task_from_its_operator(settings):
    pytest.importorskip("airflow.providers.openlineage")
    from airflow.providers.openlineage.extractors.manager import ExtractorManager
    from airflow.utils.state import TaskInstanceState

    from redolake.airflow.capture import capture_dag

    pipeline = settings()
    land = capture_dag(pipeline).get_task("land")
    read = [oracle_table("db.example:1521/FREE", "FREEPDB1", ORDERS)]
    report_lineage({"task": land}, read, [landing_folder(pipeline)])

    run = SimpleNamespace(run_id="r")
    found = ExtractorManager().extract_metadata(run, land, TaskInstanceState.SUCCESS, SimpleNamespace())

    assert [(d.namespace, d.name) for d in found.inputs] == [("oracle://db.example:1521", "FREEPDB1.SHOP.ORDERS")]
    assert [(d.namespace, d.name) for d in found.outputs] == [("file", f"{pipeline.landing}/shop")]


def test_a_column_of_the_lake_names_those_of_oracle_and_whether_it_hides_them():
    pytest.importorskip("openlineage.client")
    origin = TableOrigin(
        "SHOP.ORDERS",
        (
            ColumnOrigin("id", ("ID",)),
            ColumnOrigin("ssn", ("SSN",), "mask: hash", True),
            ColumnOrigin("total", ("A", "B"), "a * b"),
        ),
        ("REGION",),
    )
    facet = column_facet(("oracle://db:1521", "ORCL.SHOP.ORDERS"), origin)
    shown = {
        name: [(i.name, i.field, i.transformations[0].subtype, i.transformations[0].masking) for i in one.inputFields]
        for name, one in facet.fields.items()
    }

    assert shown == {
        "id": [("ORCL.SHOP.ORDERS", "ID", "IDENTITY", False)],
        "ssn": [("ORCL.SHOP.ORDERS", "SSN", "TRANSFORMATION", True)],
        "total": [("ORCL.SHOP.ORDERS", name, "TRANSFORMATION", False) for name in "AB"],
    }
    assert [(one.field, one.transformations[0].type) for one in facet.dataset] == [("REGION", "INDIRECT")]


def test_a_run_of_apply_counts_for_each_table_what_the_lake_has_not_as_oracle_does(settings):
    pytest.importorskip("airflow.providers.openlineage")
    from openlineage.client.serde import Serde

    from redolake.airflow.apply import apply_dag

    pipeline = settings()
    record, lake = apply_dag(pipeline).get_task("record"), files("/lake/shop/orders")
    account = RowAccount(landed=15, applied=8, filtered=3, quarantined=4)
    done = applied_table(
        TableResult(ORDERS, "applied", 199, inserted=5, updated=2, deleted=1, balance=account, masked=7, nulled=6)
    )
    report_lineage({"task": record}, [landing_folder(pipeline)], [lake, files("/lake/history")], changes={lake: done})

    table, history = record.get_openlineage_facets_on_complete(None).outputs
    sent = json.loads(Serde.to_json(table))["outputFacets"]
    assert sent["outputStatistics"]["rowCount"] == 7
    assert {name: value for name, value in sent["redolake_changes"].items() if not name.startswith("_")} == {
        "inserted": 5, "updated": 2, "deleted": 1, "filtered": 3, "quarantined": 4, "masked": 7, "nulled": 6,
    }  # fmt: skip
    assert history.outputFacets == {}


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("/lake/shop/orders", ("file", "/lake/shop/orders")),
        ("file:///lake/shop", ("file", "/lake/shop")),
        ("s3://bucket/lake/orders/", ("s3://bucket", "lake/orders")),
        ("abfss://lake@account.dfs.core.windows.net/a/b", ("abfss://lake@account.dfs.core.windows.net", "a/b")),
    ],
)
def test_a_folder_has_the_name_that_other_producers_give_it(location, place):
    assert files(location) == place


def test_a_table_of_a_database_without_pdbs_is_named_by_its_service():
    assert oracle_table("db:1521/ORCL", None, ORDERS) == ("oracle://db:1521", "ORCL.SHOP.ORDERS")


@pytest.mark.parametrize(
    ("dsn", "place"),
    [
        ("tcps://db:2484/R?wallet_password=a tiger", ("oracle://db:2484", "R.SHOP.ORDERS")),
        ("tcps://other:2484/R", ("oracle://other:2484", "R.SHOP.ORDERS")),
        ('(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=db)(PORT=2484))(CONNECT_DATA=(SID=R))(SECURITY=(WALLET_PASSWORD="a)/tiger")))',
         ("oracle://db:2484", "R.SHOP.ORDERS")),
        ("a:1521,b:1522/R", ("oracle://a:1521", "R.SHOP.ORDERS")),
        ("shop_high", ("oracle://shop_high", "shop_high.SHOP.ORDERS")),
        ("scott/tiger@db/R", ("oracle://unknown", "unknown.SHOP.ORDERS")),
    ],
)  # fmt: skip
def test_each_database_has_a_namespace_and_no_dataset_has_a_password(dsn, place):
    assert oracle_table(dsn, None, ORDERS) == place
