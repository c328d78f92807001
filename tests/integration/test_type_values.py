"""Each value of each type is the same from redo text, from internal bytes, and from the text that a snapshot fetches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines import steps
from pipelines.apply.source_rows import READ_AS_REDO
from pipelines.context import open_context
from pipelines.decode.changes import decode_changes
from pipelines.decode.datatypes import family_of, spark_ddl_type, target_type
from pipelines.landed_schema import LANDED_SCHEMA
from pipelines.reconcile.table_versions import known_versions, rules
from pipelines.redo import Operation
from pipelines.source.dictionary import read_tables
from pipelines.source.facts import read_current_scn
from pipelines.source.oracle import open_source
from pipelines.source.snapshot import read_snapshot
from pipelines.steps.run import capture
from pipelines.table import TableId
from standin.serve import standin
from tests.fix_shop import Shop
from tests.plain_lake import PlainLake
from tests.type_values import COLUMNS, NAMES, RULES, TABLE, insert, rows, shown

KINDS = TableId("SHOP", "KINDS")
GENERIC = 1000  # the rows from this key on were written before a DDL, so that LogMiner shows them as internal bytes


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with standin(archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path_factory.mktemp("types"))
        shop.run_sql(TABLE, "ALTER TABLE kinds ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        yield shop


@pytest.fixture(scope="module")
def redo(shop: Shop) -> dict[int, dict[str, Any]]:
    """Return the columns of each inserted row, by key: first those of redo text, then those of internal bytes."""
    pipeline = shop.pipeline(tables=[{"table": "SHOP.KINDS", "columns": RULES}])
    assert [f for f in steps.run_doctor(pipeline, shop.params) if f.subject.startswith("SHOP") and f.severity == "error"] == []
    with PlainLake().in_place_of_spark():
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql(*(insert(key, row) for key, row in enumerate(rows(regions=True))))
    shop.switch_logs()
    assert capture(pipeline, shop.params).outcome == "window"
    shop.run_sql(
        *(insert(GENERIC + key, row) for key, row in enumerate(rows(regions=False))), "ALTER TABLE kinds ADD later NUMBER(1)"
    )
    shop.switch_logs()
    assert capture(pipeline, shop.params).outcome == "window"
    with open_context(pipeline) as context:
        windows = context.landing.windows.after()
        landed = pa.concat_tables([pq.read_table(f) for w in windows for f in context.landing.windows.files_of(w)])
        version = known_versions(context, KINDS)[0]
        types = rules(context, KINDS, (version,))
    inserts = landed.filter(pa.compute.equal(landed["operation_code"], int(Operation.INSERT)))
    (batch,) = inserts.cast(LANDED_SCHEMA).combine_chunks().to_batches()
    decoded = decode_changes(batch, version, types)
    assert [error for error in decoded.column("error").to_pylist() if error] == []
    ids = {name: version.named(name).id for name in ("ID", *NAMES)}
    found = {name: decoded.column(f"n{number}").to_pylist() for name, number in ids.items()}
    return {int(key): {name: found[name][at] for name in NAMES} for at, key in enumerate(found["ID"])}


def wanted(*, regions: bool) -> dict[str, list[Any]]:
    table = rows(regions=regions)
    return {name: [row[at][1] for row in table] for at, name in enumerate(NAMES)}


def found(redo: dict[int, dict[str, Any]], first: int, count: int) -> dict[str, list[Any]]:
    return {name: [shown(redo[first + key][name]) for key in range(count)] for name in NAMES}


def test_redo_text_has_every_value(redo: dict[int, dict[str, Any]]) -> None:
    assert found(redo, 0, len(rows(regions=True))) == wanted(regions=True)


def test_internal_bytes_have_every_value(redo: dict[int, dict[str, Any]]) -> None:
    assert found(redo, GENERIC, len(rows(regions=False))) == wanted(regions=False)


def test_text_fetched_by_a_snapshot_has_every_value(shop: Shop, redo: object) -> None:
    with open_source(shop.params) as source:
        table = read_tables(source, (KINDS,), "FREEPDB1")[KINDS]
        scn = read_current_scn(source)
        texts = frozenset(name for name, rule in RULES.items() if rule == "string")
        frames = read_snapshot(source, table, scn, 100, container="FREEPDB1", dates_as_text=texts)
        fetched = pa.concat_tables([pa.table(frame) for frame in frames]).sort_by("ID")
    expected, count = wanted(regions=True), len(rows(regions=True))
    types = {column.name: column.type for column in table.columns}
    for name, column in zip(NAMES, COLUMNS, strict=True):
        if types[name].name in READ_AS_REDO:
            texts = fetched[name].combine_chunks().slice(0, count).cast(pa.string())
            made = family_of(types[name]).cast(texts, target_type(types[name], column.rule), column.rule)
            assert dict(made.refused) == {}, column
            assert [shown(value) for value in made.values.to_pylist()] == expected[name], column
        elif types[name].name.startswith("BINARY"):
            assert [shown(value) for value in fetched[name].to_pylist()[:count]] == expected[name], column


def test_each_type_has_its_delta_type(shop: Shop) -> None:
    with open_source(shop.params) as source:
        table = read_tables(source, (KINDS,), "FREEPDB1")[KINDS]
    types = {column.name: column.type for column in table.columns}
    assert {n: spark_ddl_type(types[n], c.rule) for n, c in zip(NAMES, COLUMNS, strict=True)} == {
        n: c.delta for n, c in zip(NAMES, COLUMNS, strict=True)
    }


def test_a_boolean_is_refused_because_logminer_shows_no_row_of_its_table(shop: Shop) -> None:
    shop.run_sql("CREATE TABLE switches (id NUMBER(9) PRIMARY KEY, is_on BOOLEAN)", "INSERT INTO switches VALUES (1, TRUE)")

    found = steps.run_doctor(shop.pipeline(tables=["SHOP.SWITCHES"]), shop.params)

    (error,) = (f for f in found if f.subject == "SHOP.SWITCHES.IS_ON")
    assert (error.severity, "UNSUPPORTED" in error.what) == ("error", True)
    with open_source(shop.params) as source:
        table = read_tables(source, (TableId("SHOP", "SWITCHES"),), "FREEPDB1")[TableId("SHOP", "SWITCHES")]
        (frame,) = map(pa.table, read_snapshot(source, table, read_current_scn(source), 100, container="FREEPDB1"))
    assert frame["IS_ON"].to_pylist() == [True]
