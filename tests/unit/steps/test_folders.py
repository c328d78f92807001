"""Which tables have no folder of their own in the lake, and which folder is proposed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from redolake.apply.owner import Owner
from redolake.config import Pipeline
from redolake.context import Run
from redolake.land.landing import Landing
from redolake.reconcile.table_versions import app_id
from redolake.records.captured import CapturedTables
from redolake.steps.setup.init import with_targets
from redolake.steps.setup.proposal import ProposedTable
from redolake.steps.shared.folders import find_shared, folder_findings, free_path, taken_folders
from redolake.values.table import TableId

ORDERS, MIXED, STRANGE = TableId("SHOP", "ORDERS"), TableId("SHOP", "Orders"), TableId("SHOP", "../SHOP/ORDERS")


def pipeline(*tables: Any, lake: str = "/lake") -> Pipeline:
    body = {"name": "shop", "source": {"connection": "x"}, "landing": "/landing", "lake": lake, "tables": list(tables)}
    return Pipeline.model_validate(body)


def test_of_two_names_that_are_one_in_lower_case_the_one_with_contents_keeps_the_folder() -> None:
    matched = pipeline("SHOP.*").with_matched([ORDERS, MIXED, STRANGE])

    assert list(folder_findings(matched)) == [MIXED]
    assert list(folder_findings(matched, {MIXED})) == [ORDERS]
    finding = folder_findings(matched)[MIXED]
    assert "is that of SHOP.ORDERS" in finding.what
    assert "target: shop/orders-2" in finding.cure


def test_a_listed_table_comes_before_those_of_a_pattern_and_none_lies_in_another_or_in_the_landing() -> None:
    listed = {"table": "SHOP.ZOO", "target": "shop/orders/zoo"}
    matched = pipeline("SHOP.*", listed, {"table": "SHOP.APE", "target": "ape"})

    assert list(folder_findings(matched.with_matched([ORDERS]))) == [ORDERS]
    inside = pipeline({"table": "SHOP.APE", "target": "landing/shop/windows/x"}, lake="/")
    assert "the landing" in folder_findings(inside)[TableId("SHOP", "APE")].what


def test_the_cure_of_a_finding_is_a_line_of_the_file_that_cures_it() -> None:
    matched = pipeline("SHOP.*").with_matched([ORDERS, MIXED])
    cure = folder_findings(matched)[MIXED].cure
    entry = cure[cure.index("{") : cure.index("}") + 1]

    cured = pipeline("SHOP.*", yaml.safe_load(entry)).with_matched([ORDERS])
    assert folder_findings(cured) == {}
    assert cured.target(MIXED) == "/lake/shop/orders-2"


def test_a_proposed_folder_is_no_used_one_on_any_store() -> None:
    assert free_path("shop/orders", ["shop/orders", "shop/ORDERS-2", "shop/orders-3/x"]) == "shop/orders-4"


def test_init_gives_each_of_several_names_a_folder_of_its_own() -> None:
    tables = [ProposedTable(TableId("SHOP", name)) for name in ("Orders", "ORDERS", "orders", "ORDERS-2", "PARTS")]

    made = {table.table.name: table.target for table in with_targets(tables)}

    assert made == {"ORDERS": None, "ORDERS-2": None, "Orders": "shop/orders-3", "orders": "shop/orders-4", "PARTS": None}


def test_tables_that_patterns_of_two_pipelines_have_matched_share_no_folder(tmp_path: Path) -> None:
    pipelines = []
    for name, tables in (("one", ["SHOP.ORDERS", "SHOP.PARTS"]), ("two", ['SHOP."Orders"', "SHOP.STOCK"])):
        body = {"name": name, "source": {"connection": "x"}, "landing": str(tmp_path), "lake": "/lake", "tables": ["SHOP.*"]}
        pipelines.append(Pipeline.model_validate(body))
        record = CapturedTables(5, ("SHOP.*",), tuple(tables), {}, {}, {})
        assert Landing(str(tmp_path), name).captured.write_captured(0, record)

    (finding,) = find_shared(pipelines)

    assert finding.subject == 'two: SHOP."Orders"'
    assert "/lake/shop/orders is that of SHOP.ORDERS of pipeline one" in finding.what


def test_a_table_whose_name_spark_would_replace_keeps_its_own_folder(tmp_path: Path) -> None:
    name = 'SHOP."${env:X}"'
    body = {"name": "shop", "source": {"connection": "x"}, "landing": f"{tmp_path}/landing", "lake": f"{tmp_path}/lake"}
    with Run(Pipeline.model_validate({**body, "tables": [name, "SHOP.ORDERS"]})) as context:
        table = TableId.parse(name)
        loaded = Owner.of(app_id(context, table, 5))
        assert loaded is not None
        for one in (table, ORDERS):
            log = Path(context.pipeline.target(one), "_delta_log")
            log.mkdir(parents=True)
            metadata = {"metaData": {"configuration": loaded.properties, "partitionColumns": []}}
            (log / f"{0:020d}.json").write_text(json.dumps(metadata) + "\n")

        assert list(taken_folders(context, [table, ORDERS], replaces=True)) == [ORDERS]
