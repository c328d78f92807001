"""Each value of each type in Delta: loaded by a snapshot, applied from redo text and from internal bytes, and verified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.values.table import TableId
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up
from tests.tables.type_values import COLUMNS, NAMES, RULES, TABLE, insert, rows, shown

pytestmark = pytest.mark.spark


def test_every_value_of_every_type_arrives_by_snapshot_and_by_redo(spark: Any, tmp_path: Path) -> None:
    loaded, later, generic = 0, 1000, 2000  # keys of the first row of each kind
    with standin(archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            TABLE,
            "ALTER TABLE kinds ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            *(insert(loaded + key, row) for key, row in enumerate(rows(regions=True))),
        )
        pipeline = shop.pipeline(tables=[{"table": "SHOP.KINDS", "columns": RULES}])
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        shop.run_sql(*(insert(later + key, row) for key, row in enumerate(rows(regions=True))))
        caught_up(shop, pipeline, spark)
        shop.run_sql(
            *(insert(generic + key, row) for key, row in enumerate(rows(regions=False))),
            f"UPDATE kinds SET {', '.join(f'{name} = NULL' for name in NAMES)} WHERE id = {later}",
            f"DELETE FROM kinds WHERE id = {later + 1}",
            "ALTER TABLE kinds ADD later NUMBER(1)",
        )
        caught_up(shop, pipeline, spark)
        (verified,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
        (hashed,) = steps.verify_tables(pipeline, source=shop.params, spark=spark, method="buckets").tables
        delta = spark.read.format("delta").load(pipeline.target(TableId("SHOP", "KINDS")))
        types = {name: kind for name, kind in delta.dtypes if name in NAMES}
        # Instants as text: Python's collect would show them in this machine's zone.
        shown_as = [f"date_format({n}, 'yyyy-MM-dd HH:mm:ss.SSSSSS') {n}" if types[n] == "timestamp" else n for n in NAMES]
        found = {int(row["ID"]): row for row in delta.selectExpr("ID", *shown_as).collect()}

    assert str(verified).partition(",")[0] == "SHOP.KINDS: equal"
    # Oracle shows numbers of more than 64 digits in another way than the lake: the buckets of such rows are read.
    assert (hashed.equal, hashed.source_rows, hashed.differing_buckets) == (True, verified.source_rows, 2)
    assert [types[name] for name in NAMES] == [column.delta for column in COLUMNS]
    for first, regions in ((loaded, True), (later, True), (generic, False)):
        for key, row in enumerate(rows(regions=regions)):
            if (first, key) == (later, 1):
                assert first + key not in found
                continue
            emptied = (first, key) == (later, 0)
            for name, column, (sql, value) in zip(NAMES, COLUMNS, row, strict=True):
                wanted = None if emptied or value is None else as_text(value) if column.delta == "timestamp" else value
                assert shown(found[first + key][name]) == wanted, (first, column.ddl, sql)


def as_text(value: Any) -> str:
    return f"{value.year:04d}" + value.strftime("-%m-%d %H:%M:%S.%f")
