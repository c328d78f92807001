"""Each kind of mapping through each part of the product, compared with plain Python after each step.

docs/comparison.md lists KINDS and USES; tests/unit/test_docs.py compares them. `make test` takes one table that
has all kinds at once, `make soak` also a table for each kind.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.source.olr.settings import needed_configuration
from redolake.values.table import TableId
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.hunts import EXAMPLES
from tests.references.delta_table import delta_rows
from tests.references.replayed_changes import read_changes, replayed
from tests.support.short_pauses import short_pauses

pytestmark = pytest.mark.spark

KEY = "a key of masks that nobody guesses"
Row = Mapping[str, Any]
# What the tests below do with every kind. One that is left out here has no line in the documentation.
USES = (
    "snapshot", "stream", "key change", "delete", "DDL", "verify", "shadow", "changes", "fill-columns", "history", "repair",
    "quarantine",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """`entry` is what pipelines.yml says; `row` makes the row of the lake of one of Oracle, None where it shall have none."""

    entry: Mapping[str, Any]
    row: Callable[[Row], Row | None]

    def rows(self, source: list[Row]) -> list[Row]:
        return [made for one in source if (made := self.row(one)) is not None]


def hashed(text: str) -> str:
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def without(row: Row, *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


KINDS = {
    "rename": Kind({"rename": {"NAME": "customer"}}, lambda row: {**without(row, "NAME"), "customer": row["NAME"]}),
    "expression": Kind({"columns": {"N": {"expression": "n * 2", "type": "bigint"}}}, lambda row: {**row, "N": row["N"] * 2}),
    "added column": Kind(
        {"add": {"total": {"expression": "n + `ID`", "type": "bigint"}, "origin": "'ERP'"}},
        lambda row: {**row, "total": row["N"] + row["ID"], "origin": "ERP"},
    ),
    "mask": Kind(
        {"mask": {"NAME": "hash"}, "mask_key": {"variable": "REDOLAKE_MASK_KEY"}},
        lambda row: {**row, "NAME": hashed(row["NAME"])},
    ),
    "filter": Kind({"where": "region = 'EU' AND n > 0"}, lambda row: row if row["REGION"] == "EU" and row["N"] > 0 else None),
    "users' code": Kind(
        {"transform": {"function": "tests.references.user_code:sized", "columns": {"size": "int"}}},
        lambda row: {**row, "size": len(row["NAME"])},
    ),
    "key": Kind(
        {"columns": {"ID": {"expression": "`ID` + 1000", "type": "bigint", "injective": True}}},
        lambda row: {**row, "ID": row["ID"] + 1000},
    ),
}
ALL_KINDS = Kind(
    {
        "rename": {"NAME": "customer"},
        "columns": {
            "N": {"expression": "n * 2", "type": "bigint"},
            "ID": {"expression": "`ID` + 1000", "type": "bigint", "injective": True},
        },
        **{name: value for kind in KINDS.values() for name, value in kind.entry.items() if name not in ("rename", "columns")},
    },
    lambda row: (
        {
            **without(row, "NAME"),
            **{"ID": row["ID"] + 1000, "N": row["N"] * 2, "customer": hashed(row["NAME"])},
            **{"total": row["N"] + row["ID"], "origin": "ERP", "size": len(row["NAME"])},
        }
        if row["REGION"] == "EU" and row["N"] > 0
        else None
    ),
)
TAKEN = {"all kinds": ALL_KINDS, **(KINDS if EXAMPLES else {})}
TABLES = {kind: f"T{number}" for number, kind in enumerate(TAKEN)}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """One table for each kind, with four rows."""
    monkeypatch.setenv("REDOLAKE_MASK_KEY", KEY)
    with standin(threads=1, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        opened = Shop(oracle, tmp_path)
        for table in TABLES.values():
            opened.run_sql(
                f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, name VARCHAR2(40), n NUMBER(9), region VARCHAR2(2), "
                "v NUMBER, z NUMBER(9))",
                f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
                *(insert(table, n, "EU" if n % 2 else "US") for n in range(1, 6)),
            )
        yield opened


def insert(table: str, n: int, region: str) -> str:
    return f"INSERT INTO {table} (id, name, n, region, v, z) VALUES ({n}, 'name {n}', {n}, '{region}', {n}, {n})"


def on_each(shop: Shop, *statements: str) -> None:
    shop.run_sql(*(statement.format(t=table) for table in TABLES.values() for statement in statements))


def pipeline_of(shop: Shop, source: Mapping[str, Any] | None = None, *, without: tuple[str, ...] = ("Z",), **more: Any) -> Any:
    rule, more = {"V": 2}, {"exclude_columns": list(without), **more}
    entries = [
        {"table": f"SHOP.{TABLES[kind]}", **one.entry, "columns": {**rule, **one.entry.get("columns", {})}, **more}
        for kind, one in TAKEN.items()
    ]
    settings = {} if source is None else {"source": source}
    return shop.pipeline(tables=entries, spark={"parallel_tables": 1}, **settings)


def caught_up(shop: Shop, pipeline: Any, spark: Any) -> None:
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    held = {table.table: table.error for table in steps.read_status(pipeline).tables if table.error}
    assert held == {}


def source_rows(shop: Shop, table: str, names: Mapping[str, str]) -> list[Row]:
    """Return the rows, in the columns of the lake before its mapping, by their names in Oracle."""
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(names.values())} FROM {table}")
        return [dict(zip(names, row, strict=True)) for row in cursor]


FIRST = {name: name for name in ("ID", "NAME", "N", "REGION", "V")}


def check(shop: Shop, pipeline: Any, names: Mapping[str, str] = FIRST, *, apart: frozenset[int] = frozenset()) -> None:
    """Compare every table with its kind's Python. Rows with the keys `apart` are known to be wrong."""
    for kind, one in TAKEN.items():
        wanted = one.rows([row for row in source_rows(shop, TABLES[kind], names) if row["ID"] not in apart])
        keys = {made["ID"] for made in one.rows([{**dict.fromkeys(names, ""), "ID": i, "N": 1, "REGION": "EU"} for i in apart])}
        rows = delta_rows(pipeline.target(TableId("SHOP", TABLES[kind])))
        columns = sorted(wanted[0])
        assert {*columns} <= {*rows[0]}, kind
        found = [{name: row[name] for name in columns} for row in rows if row["ID"] not in keys]
        assert sorted(map(plain, found)) == sorted(map(plain, wanted)), kind


def plain(row: Row) -> str:
    return repr(sorted((name, value if isinstance(value, str) or value is None else int(value)) for name, value in row.items()))


def test_each_kind_of_mapping_holds_through_each_part_of_the_product(spark: Any, shop: Shop) -> None:
    pipeline = pipeline_of(shop, history="changes")
    taken = steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    check(shop, pipeline)
    began = {table: delta_rows(pipeline.target(TableId("SHOP", table))) for table in TABLES.values()}

    on_each(
        shop,
        insert("{t}", 6, "EU"),
        "UPDATE {t} SET name = 'other', n = 20 WHERE id = 1",
        "UPDATE {t} SET region = 'EU' WHERE id = 2",  # into the filter
        "UPDATE {t} SET region = 'US' WHERE id = 3",  # out of it
        "UPDATE {t} SET id = 40, region = 'EU' WHERE id = 4",  # a key change
        "DELETE FROM {t} WHERE id = 5",
    )
    caught_up(shop, pipeline, spark)
    check(shop, pipeline)

    landed = int(steps.read_status(pipeline).next_start_scn or 0)
    shadow = steps.run_backfill(pipeline, taken.tables[0].scn + 1, landed, execute=True, spark=spark)
    assert shadow.recorded is not None
    targets = {str(one.table): one.target for one in shadow.recorded.tables}
    for kind, one in TAKEN.items():
        touched = [row for row in source_rows(shop, TABLES[kind], FIRST) if row["ID"] in (1, 2, 6, 40)]
        left = [row for row in delta_rows(targets[f"SHOP.{TABLES[kind]}"]) if not row["_deleted"]]
        wanted = one.rows(touched)
        assert sorted(plain({name: row[name] for name in wanted[0]}) for row in left if row["ID"] % 1000 != 3) == sorted(
            map(plain, wanted)
        ), kind

    changed = steps.run_backfill(pipeline, taken.tables[0].scn + 1, landed, execute=True, target="changes", spark=spark)
    assert changed.recorded is not None
    for written in changed.recorded.tables:
        table = TableId.parse(written.table).name
        made = replayed(began[table], read_changes(spark, "delta", written.target), "ID")
        assert sorted(map(plain, made.values())) == sorted(map(plain, delta_rows(pipeline.target(TableId("SHOP", table)))))

    pipeline = pipeline_of(shop, without=(), history="changes")
    for table in TABLES.values():
        steps.fill_columns(pipeline, f"SHOP.{table}", execute=True, reason="wanted", source=shop.params, spark=spark)
    check(shop, pipeline, {**FIRST, "Z": "Z"})

    on_each(
        shop,
        "ALTER TABLE {t} ADD city VARCHAR2(9)",
        "ALTER TABLE {t} RENAME COLUMN name TO full_name",
        "UPDATE {t} SET full_name = 'after', city = 'Rome' WHERE id = 2",
        insert("{t}", 7, "EU").replace("name,", "full_name,"),
    )
    later = {**FIRST, "NAME": "FULL_NAME", "CITY": "CITY", "Z": "Z"}
    caught_up(shop, pipeline, spark)
    renamed = {"rename": "NAME", "all kinds": "NAME"}  # the mapped name stays; one that nobody has mapped follows Oracle's
    follows = {kind: renamed.get(kind, "FULL_NAME") for kind in TAKEN}
    for kind, one in TAKEN.items():
        wanted = one.rows(source_rows(shop, TABLES[kind], later))
        rows = delta_rows(pipeline.target(TableId("SHOP", TABLES[kind])))
        found = [{**row, "NAME": row.get(follows[kind])} for row in rows]
        assert sorted(plain({name: row[name] for name in wanted[0]}) for row in found) == sorted(map(plain, wanted)), kind

    assert steps.verify_tables(pipeline, source=shop.params, spark=spark).equal  # with the histories
    for table in TABLES.values():
        spark.sql(f"UPDATE delta.`{pipeline.target(TableId('SHOP', table))}` SET CITY = 'wrong' WHERE REGION = 'EU'")
    compared = steps.verify_tables(pipeline, source=shop.params, spark=spark)
    assert [table.equal for table in compared.tables] == [False] * len(TAKEN)
    for table in TABLES.values():
        repaired = steps.repair_table(pipeline, f"SHOP.{table}", reason="changed by hand", source=shop.params, spark=spark)
        assert repaired.equal, repaired


def test_each_kind_of_mapping_goes_on_while_a_change_is_in_quarantine(spark: Any, shop: Shop) -> None:
    pipeline = pipeline_of(shop, on_error={"value": "quarantine"})
    start = steps.take_snapshot(pipeline, source=shop.params, spark=spark).scn + 1
    on_each(shop, "UPDATE {t} SET v = 1.2345, n = 9 WHERE id = 1", insert("{t}", 6, "EU"))
    caught_up(shop, pipeline, spark)
    check(shop, pipeline, apart=frozenset({1}))
    compared = steps.verify_tables(pipeline, source=shop.params, spark=spark)
    assert [(table.equal, table.quarantined_keys) for table in compared.tables] == [(True, 1)] * len(TAKEN)
    changed = steps.run_backfill(pipeline, start, "now", execute=True, target="changes", spark=spark)
    assert changed.recorded is not None
    for (kind, one), written in zip(TAKEN.items(), changed.recorded.tables, strict=True):
        bad, good = read_changes(spark, "delta", written.target)
        keyed = [one.rows([{**dict.fromkeys(FIRST, ""), "ID": i, "N": 1, "REGION": "EU"}])[0]["ID"] for i in (1, 6)]
        assert (written.not_read, bad["_op"], good["_reason"], good["after"]["ID"]) == (1, "update", None, keyed[1]), kind
        assert "column V" in bad["_reason"], kind
        for side in ("before", "after"):
            assert {name for name, value in bad[side].items() if value is not None} == {"ID"}, kind
            assert (bad[side]["ID"], set(bad[f"_unknown_{side}"])) == (keyed[0], {*bad[side]} - {"ID"}), kind

    on_each(shop, "UPDATE {t} SET v = 5 WHERE id = 1")
    caught_up(shop, pipeline, spark)
    check(shop, pipeline)
    assert steps.list_quarantine(pipeline, spark=spark).keys == 0


def test_each_kind_of_mapping_holds_where_openlogreplicator_reads_the_redo(spark: Any, shop: Shop) -> None:
    with short_pauses():
        server = shop.oracle.replicate(needed_configuration("SHOP_DB", "127.0.0.1:5000", []))
        source = {
            "connection": "oracle_shop", "container": "FREEPDB1", "kind": "openlogreplicator", "address": server.address,
            "database": "SHOP_DB", "silent_seconds": 10,
        }  # fmt: skip
        pipeline = pipeline_of(shop, source, on_error={"value": "quarantine"})
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        on_each(
            shop,
            insert("{t}", 6, "EU"),
            "UPDATE {t} SET name = 'other', n = 20 WHERE id = 1",
            "UPDATE {t} SET region = 'EU' WHERE id = 2",  # into the filter
            "UPDATE {t} SET region = 'US' WHERE id = 3",  # out of it
            "UPDATE {t} SET id = 40, region = 'EU' WHERE id = 4",
            "DELETE FROM {t} WHERE id = 5",
            "ALTER TABLE {t} ADD city VARCHAR2(9)",
            "UPDATE {t} SET v = 1.2345 WHERE id = 2",  # does not fit
        )
        caught_up(shop, pipeline, spark)
    check(shop, pipeline, apart=frozenset({2}))
    assert steps.list_quarantine(pipeline, spark=spark).keys == len(TAKEN)
