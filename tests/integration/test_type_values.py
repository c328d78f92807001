"""Each value of each type is the same from redo text, from internal bytes, and from the text that a snapshot fetches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake import steps
from redolake.context import Run
from redolake.decode.changes import decode_changes
from redolake.decode.compiled.changes import decode_compiled
from redolake.decode.datatypes import family_of, spark_ddl_type, target_type
from redolake.errors import TextNotValid
from redolake.reconcile.table_versions import known_versions, rules
from redolake.source.dictionary import read_tables
from redolake.source.facts import read_current_scn
from redolake.source.oracle import open_source
from redolake.source.snapshot import read_snapshot
from redolake.steps.run import capture
from redolake.values.datatypes import READ_AS_REDO
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.redo import Operation
from redolake.values.table import TableId
from redolake.values.valid_text import NOT_VALID
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor
from tests.tables.type_values import COLUMNS, NAMES, RULES, TABLE, insert, rows, shown

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
    assert [f for f in run_doctor(pipeline, shop.params) if f.subject.startswith("SHOP") and f.severity == "error"] == []
    with PlainLake().in_place_of_spark():
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    shop.run_sql(*(insert(key, row) for key, row in enumerate(rows(regions=True))))
    shop.switch_logs()
    assert capture(Run(pipeline, shop.params)).plan.outcome == "window"
    shop.run_sql(
        *(insert(GENERIC + key, row) for key, row in enumerate(rows(regions=False))), "ALTER TABLE kinds ADD later NUMBER(1)"
    )
    shop.switch_logs()
    assert capture(Run(pipeline, shop.params)).plan.outcome == "window"
    with Run(pipeline) as context:
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


ODD = {
    "CESU-8": "61EDA0BDEDB88062",
    "Latin-1": "636166E9",
    "cut": "78E282",
    "half a pair": "EDA0BD79",
    "a quote": "63E92778E927",
}
MEANT = {"CESU-8": "a😀b", "Latin-1": "caf\ufffd", "cut": "x\ufffd", "half a pair": "\ufffdy", "a quote": "c\ufffd'x\ufffd'"}


@pytest.fixture(scope="module")
def odd_texts(shop: Shop) -> tuple[Any, pa.Table]:
    """Return the pipeline and its landed INSERTs of texts that are not valid: from redo text, and from internal bytes."""
    shop.run_sql(
        "CREATE TABLE words (id NUMBER(9) PRIMARY KEY, t VARCHAR2(20), b VARCHAR2(20))",
        "ALTER TABLE words ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    words = {"table": "SHOP.WORDS", "columns": {"B": "binary"}}
    pipeline = shop.pipeline("words", tables=[words], invalid_text="replace")
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
    with PlainLake().in_place_of_spark():
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
    for first, ddl in ((1, ()), (GENERIC, ("ALTER TABLE words ADD later NUMBER(1)",))):
        octets = [f"UTL_RAW.CAST_TO_VARCHAR2(HEXTORAW('{one}'))" for one in ODD.values()]
        inserts = [f"INSERT INTO words (id, t, b) VALUES ({n}, {one}, {one})" for n, one in enumerate(octets, first)]
        shop.run_sql(*inserts, *ddl)
        shop.switch_logs()
        assert capture(Run(pipeline, shop.params)).plan.outcome == "window"
    with Run(pipeline) as context:
        windows = context.landing.windows.after()
        landed = pa.concat_tables([pq.read_table(f) for w in windows for f in context.landing.windows.files_of(w)])
    return pipeline, landed.filter(pa.compute.equal(landed["operation_code"], int(Operation.INSERT))).cast(LANDED_SCHEMA)


@pytest.mark.parametrize("decoder", [decode_changes, decode_compiled])
def test_bytes_that_are_no_characters_are_read_by_rule_from_redo_text_and_internal_bytes(
    odd_texts: tuple[Any, pa.Table], decoder: Any
) -> None:
    pipeline, landed = odd_texts
    landed.validate(full=True)  # the landed text itself is valid
    with Run(pipeline) as context:
        version = known_versions(context, TableId("SHOP", "WORDS"))[0]
        types = rules(context, version.table, (version,))
    (batch,) = landed.combine_chunks().to_batches()
    by_rule, by_default = decoder(batch, version, types), decoder(batch, version, {})

    assert by_rule.column("error").null_count == 2 * len(ODD)
    assert by_rule.column("n2").to_pylist() == [*MEANT.values()] * 2
    assert by_rule.column("n3").to_pylist() == [bytes.fromhex(one) for one in ODD.values()] * 2
    said = by_default.column("error").to_pylist()
    assert all(error.startswith("column T: the value is not text") and NOT_VALID in error for error in said)


def test_bytes_that_are_no_characters_are_read_by_rule_in_a_query(shop: Shop, odd_texts: object) -> None:
    words = TableId("SHOP", "WORDS")
    with open_source(shop.params) as source:
        table, scn = read_tables(source, (words,), "FREEPDB1")[words], read_current_scn(source)
        ruled = read_snapshot(
            source, table, scn, 100, container="FREEPDB1", ordered=True, rules={"T": "replace", "B": "binary"}
        )
        fetched = pa.concat_tables([pa.table(frame) for frame in ruled])
        with pytest.raises(TextNotValid, match=r"T contains a text .* in the row with ID 1"):
            list(read_snapshot(source, table, scn, 100, container="FREEPDB1", ordered=True))
    assert fetched["T"].to_pylist() == [*MEANT.values()] * 2
    assert fetched["B"].to_pylist() == [bytes.fromhex(one) for one in ODD.values()] * 2


def test_the_dictionary_is_read_whatever_bytes_a_comment_has(shop: Shop, odd_texts: object) -> None:
    with open_source(shop.params) as source:
        source.use_container("FREEPDB1")
        found = source.query_text("SELECT t FROM shop.words ORDER BY id", {}, "comments")
    assert [row.t for row in found][1] == MEANT["Latin-1"]
    assert all(row.t for row in found)


def test_half_a_surrogate_pair_that_the_driver_cannot_decode_is_a_typed_error(shop: Shop) -> None:
    shop.run_sql(
        "CREATE TABLE halves (id NUMBER(9) PRIMARY KEY, n NVARCHAR2(20))", r"INSERT INTO halves VALUES (1, UNISTR('x\D83Dy'))"
    )
    halves = TableId("SHOP", "HALVES")
    with open_source(shop.params) as source:
        table, scn = read_tables(source, (halves,), "FREEPDB1")[halves], read_current_scn(source)
        with pytest.raises(TextNotValid, match="half a surrogate pair") as refused:
            list(read_snapshot(source, table, scn, 100, container="FREEPDB1"))
    assert "correct the value in Oracle" in refused.value.cure


def test_each_type_has_its_delta_type(shop: Shop) -> None:
    with open_source(shop.params) as source:
        table = read_tables(source, (KINDS,), "FREEPDB1")[KINDS]
    types = {column.name: column.type for column in table.columns}
    assert {n: spark_ddl_type(types[n], c.rule) for n, c in zip(NAMES, COLUMNS, strict=True)} == {
        n: c.delta for n, c in zip(NAMES, COLUMNS, strict=True)
    }


def test_a_boolean_is_refused_because_logminer_shows_no_row_of_its_table(shop: Shop) -> None:
    shop.run_sql("CREATE TABLE switches (id NUMBER(9) PRIMARY KEY, is_on BOOLEAN)", "INSERT INTO switches VALUES (1, TRUE)")

    found = run_doctor(shop.pipeline(tables=["SHOP.SWITCHES"]), shop.params)

    (error,) = (f for f in found if f.subject == "SHOP.SWITCHES.IS_ON")
    assert (error.severity, "UNSUPPORTED" in error.what) == ("error", True)
    with open_source(shop.params) as source:
        table = read_tables(source, (TableId("SHOP", "SWITCHES"),), "FREEPDB1")[TableId("SHOP", "SWITCHES")]
        (frame,) = map(pa.table, read_snapshot(source, table, read_current_scn(source), 100, container="FREEPDB1"))
    assert frame["IS_ON"].to_pylist() == [True]
