"""The statements of views for other engines."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from redolake.config import Pipeline
from redolake.config.union_views import UnionView
from redolake.context import Run
from redolake.errors import ConfigurationError, NotReadableAsOf
from redolake.steps.shown import history_views
from redolake.steps.shown.history_views import HistoryOf, history_statements, history_unions, write_history_views
from redolake.steps.shown.union_views import Member, make_union
from redolake.steps.shown.views import (
    STATEMENTS,
    Engine,
    ViewOf,
    check_names,
    check_union_name,
    left_out_unions,
    renamed_views,
    write_views,
)
from redolake.values.common_type import common_type
from redolake.values.lake_rules import LakeColumn
from redolake.values.scn import Scn
from redolake.values.table import TableId

ORDERS = ViewOf(TableId("SHOP", "ORDERS"), "/lake/shop/orders", 7)
MARKED = ViewOf(TableId("SHOP", 'odd "`name'), "/lake/it's/here", None, True)


def test_a_view_has_the_version_of_its_table_and_no_deleted_rows():
    assert STATEMENTS["spark"]([ORDERS, MARKED], []) == [
        "SET spark.sql.variable.substitute=false;",
        "SET spark.sql.parser.escapedStringLiterals=false;",
        "CREATE SCHEMA IF NOT EXISTS `shop`;",
        "CREATE OR REPLACE VIEW `shop`.`orders` AS SELECT * FROM delta.`/lake/shop/orders` VERSION AS OF 7;",
        "CREATE OR REPLACE VIEW `shop`.`odd_x20__x22__x60_name` AS SELECT * FROM delta.`/lake/it's/here` WHERE NOT `_deleted`;",
    ]
    assert STATEMENTS["duckdb"]([ORDERS, MARKED], []) == [
        "INSTALL delta;",
        "LOAD delta;",
        'CREATE SCHEMA IF NOT EXISTS "shop";',
        """CREATE OR REPLACE VIEW "shop"."orders" AS SELECT * FROM delta_scan('/lake/shop/orders', version = 7);""",
        """CREATE OR REPLACE VIEW "shop"."odd ""`name" AS SELECT * FROM delta_scan('/lake/it''s/here') """
        """WHERE NOT "_deleted";""",
    ]


def test_a_text_in_a_view_of_spark_begins_no_variable() -> None:
    members = [Member(FIRST, "${env:HOME}", (ID,)), Member(SECOND, "$(x)", (ID,))]
    made = STATEMENTS["spark"]([ViewOf(FIRST, "/1"), ViewOf(SECOND, "/2")], [make_union("all.orders", SHARDS, members)])

    assert made[0] == "SET spark.sql.variable.substitute=false;"
    assert "$" not in made[-1]
    assert "'\\u0024{env:HOME}' AS `shard`" in made[-1]


def test_two_tables_whose_views_would_have_one_name_are_refused_by_their_names() -> None:
    check_names("spark", [TableId("SHOP", "A"), TableId("SHOP", "B")])

    with pytest.raises(ConfigurationError, match=r'SHOP."customers": its view and that of SHOP.CUSTOMERS'):
        check_names("trino", [TableId("SHOP", "CUSTOMERS"), TableId("SHOP", "customers"), TableId("SHOP", "B")])
    for suffix in ("", "_versions"):
        with pytest.raises(ConfigurationError, match=rf'SHOP."a\$b": .* would both be shop.a_x24_b{suffix}\n'):
            check_names("spark", [TableId("SHOP", "A_X24_B"), TableId("SHOP", "a$b")], suffix)
        check_names("duckdb", [TableId("SHOP", "A_X24_B"), TableId("SHOP", "a$b")], suffix)


def new_pipeline(folder: Path, *tables: object) -> Pipeline:
    body = {"name": "shop", "source": {"connection": "c"}, "landing": f"{folder}/landing", "lake": f"{folder}/lake"}
    return Pipeline.model_validate({**body, "history": "scd2", "tables": tables})


ODD = (
    "T$",
    "T#",
    "MY TABLE",
    "A.B",
    "A/B",
    "A`B",
    "TÄT",
    "日本",
    "A\nB; DROP TABLE x --",
    "${env:HOME}",
    "İ",
    "\x1b[2J",
    "[/x]",
)


@pytest.mark.parametrize("name", ODD)
def test_spark_gets_only_names_that_it_takes_and_a_comment_says_which_table_each_is(name: str) -> None:
    """SessionCatalog.validateName: letters of ASCII, digits and _, of a view as of its schema; tried in test_as_of.py."""
    table = TableId(name, name)
    made = [
        *STATEMENTS["spark"]([ViewOf(table, "/1")], []),
        *history_statements([HistoryOf(table, "/2", ("ID",), ("ID",))], "spark"),
    ]

    heads = [re.match(r"CREATE (?:SCHEMA IF NOT EXISTS|OR REPLACE VIEW) (.+?)(?: AS\b|;)", line, re.S) for line in made]
    named = [found[1] for found in heads if found is not None]
    assert len(named) == 4
    assert all(re.fullmatch(r"`[a-z0-9_]+`(\.`[a-z0-9_]+`)?", one) for one in named), named
    (comment,) = renamed_views("spark", [table])
    assert comment.isprintable()
    assert named[1].replace("`", "") in comment
    assert list(renamed_views("duckdb", [table])) == []


def test_a_schema_that_spark_keeps_for_itself_has_another_name() -> None:
    for owner in ("GLOBAL_TEMP", "SPARK_CATALOG"):
        assert f"VIEW `{owner.lower()}_`.`t` AS" in STATEMENTS["spark"]([ViewOf(TableId(owner, "T"), "/1")], [])[-1]


@pytest.mark.parametrize("owner", ["SHOP", "TEMP", "SYSTEM", "MEMORY", "MAIN", "PG_CATALOG", "INFORMATION_SCHEMA", "Ü $"])
def test_duckdb_makes_the_view_of_each_owner_and_a_comment_says_which_has_another_name(owner: str) -> None:
    view = ViewOf(TableId(owner, "T"), "/1")
    made = STATEMENTS["duckdb"]([view], [])
    schema, made_view = made[-2], made[-1].partition(" AS ")[0]

    with duckdb.connect() as con:
        con.execute(schema)
        con.execute(f"{made_view} AS SELECT 7 AS a")
        name = made_view.removeprefix("CREATE OR REPLACE VIEW ")
        assert con.execute(f"SELECT a FROM {name}").fetchall() == [(7,)]
    assert (f'"{owner.lower()}"."t"' == name) == (list(renamed_views("duckdb", [view.table])) == [])


def test_trino_registers_no_table_under_the_name_of_another_ones_view() -> None:
    with pytest.raises(ConfigurationError, match=r"that of SHOP.ORDERS would both be shop.orders\$delta"):
        check_names("trino", [TableId("SHOP", "ORDERS"), TableId("SHOP", "ORDERS$DELTA")])
    check_names("trino", [TableId("SHOP", "LINES"), TableId("SHOP", "ORDERS$DELTA")])


@pytest.mark.parametrize(("engine", "schema"), [("spark", "global_temp"), ("duckdb", "temp"), ("trino", "information_schema")])
@pytest.mark.parametrize("suffix", ["", "_versions"])
def test_a_view_over_shards_in_a_schema_that_the_engine_refuses_is_refused_before(
    engine: Engine, schema: str, suffix: str
) -> None:
    with pytest.raises(ConfigurationError, match="takes no view in that schema"):
        check_union_name(engine, f"{schema}.orders", [FIRST], suffix)
    check_union_name(engine, "all.orders", [FIRST], suffix)


def test_histories_whose_views_would_have_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = new_pipeline(tmp_path, "SHOP.CUSTOMERS", {"table": 'SHOP."customers"', "target": "other"})
    monkeypatch.setattr(history_views, "history_of", lambda table, path, target: HistoryOf(table, path, ("ID",), ("ID",)))

    for engine in ("spark", "duckdb", "trino"):
        with pytest.raises(ConfigurationError, match=r"would both be shop\.customers_versions"):
            write_history_views(pipeline, engine)


def test_a_view_of_versions_replaces_no_view_of_another_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = new_pipeline(tmp_path, "SHOP.T", "SHOP.T_VERSIONS")
    monkeypatch.setattr(history_views, "history_of", lambda table, path, target: HistoryOf(table, path, ("ID",), ("ID",)))

    with pytest.raises(ConfigurationError, match=r"SHOP\.T: its view and that of SHOP\.T_VERSIONS would both"):
        write_history_views(pipeline, "duckdb", ["SHOP.T"])


@pytest.mark.parametrize("tables", [["SHOP.*"], ["SHOP.ORDERS", "SHOP.*"], ["SHOP.ORDERS"]])
def test_views_before_the_first_plan_are_refused_with_the_reason(tmp_path: Path, tables: list[str]) -> None:
    pipeline = new_pipeline(tmp_path, *tables)

    with pytest.raises(NotReadableAsOf, match="no table has contents yet, and patterns are matched by the first plan"):
        write_views(pipeline, "spark")
    if "SHOP.ORDERS" in tables:
        with pytest.raises(NotReadableAsOf, match=r"SHOP\.ORDERS"):
            write_views(pipeline, "spark", None, ["SHOP.ORDERS"])


def test_a_table_without_contents_is_left_out_and_named(tmp_path: Path) -> None:
    pipeline = new_pipeline(tmp_path, "SHOP.ORDERS", "SHOP.LINES", "SHOP.NEW$")
    with Run(pipeline) as context:
        for table in (TableId("SHOP", "LINES"), TableId("SHOP", "ORDERS")):
            context.ledger.add_table(table, Scn(5))
            context.ledger.record_complete_to(table, Scn(5), 2, 0)

    made = write_views(pipeline, "spark")

    assert "-- SHOP.NEW$ is left out: it has no contents yet." in made.text
    assert (made.tables, made.text.count("CREATE OR REPLACE VIEW")) == (("SHOP.ORDERS", "SHOP.LINES"), 2)


def test_trino_gets_each_table_registered_under_another_name_than_its_view():
    assert STATEMENTS["trino"]([ORDERS], []) == [
        'CREATE SCHEMA IF NOT EXISTS delta."shop";',
        "CALL delta.system.register_table(schema_name => 'shop', table_name => 'orders$delta', "
        "table_location => '/lake/shop/orders');",
        'CREATE OR REPLACE VIEW delta."shop"."orders" AS SELECT * FROM delta."shop"."orders$delta" FOR VERSION AS OF 7;',
    ]


SHARDS = UnionView(tables=("/SHOP(\\d)/.ORDERS",), discriminator="shard", value="{1}")
ID, NOTE = LakeColumn("ID", "bigint"), LakeColumn("NOTE", "string")
FIRST, SECOND = TableId("SHOP1", "ORDERS"), TableId("SHOP2", "ORDERS")


def test_the_discriminator_has_what_the_groups_of_a_pattern_stand_for():
    assert SHARDS.values([FIRST, SECOND, TableId("SHOP1", "LINES")]) == {FIRST: "1", SECOND: "2"}


def test_a_view_over_shards_has_the_columns_of_all_by_name_and_leaves_deleted_rows_out():
    members = [Member(FIRST, "1", (ID,)), Member(SECOND, "it's \\2", (LakeColumn("note", "string"), ID))]
    union = make_union("all.orders", SHARDS, members)
    views = [ViewOf(FIRST, "/lake/1", 7), ViewOf(SECOND, "/lake/2", None, True)]

    assert STATEMENTS["spark"](views, [union])[-1] == (
        "CREATE OR REPLACE VIEW `all`.`orders` AS SELECT '1' AS `shard`, `ID`, CAST(NULL AS STRING) AS `note` "
        "FROM delta.`/lake/1` VERSION AS OF 7\n"
        "UNION ALL SELECT 'it\\'s \\\\2' AS `shard`, `ID`, `note` FROM delta.`/lake/2` WHERE NOT `_deleted`;"
    )
    assert """SELECT 'it''s \\2' AS "shard",""" in STATEMENTS["duckdb"](views, [union])[-1]


def test_a_column_that_is_narrower_in_one_shard_has_the_type_that_holds_both() -> None:
    narrow = (LakeColumn("N", "int"), LakeColumn("P", "decimal(5,1)"), LakeColumn("D", "date"))
    wide = (LakeColumn("n", "bigint"), LakeColumn("P", "decimal(9,4)"), LakeColumn("D", "timestamp_ntz"))
    union = make_union("all.orders", SHARDS, [Member(FIRST, "1", narrow), Member(SECOND, "2", wide)])
    views = [ViewOf(FIRST, "/lake/1"), ViewOf(SECOND, "/lake/2")]
    texts = {engine: STATEMENTS[engine](views, [union])[-1] for engine in ("spark", "duckdb", "trino")}

    assert [(c.name, c.type) for c in union.columns] == [("N", "bigint"), ("P", "decimal(9,4)"), ("D", "timestamp_ntz")]
    assert "CAST(`N` AS BIGINT) AS `N`, CAST(`P` AS DECIMAL(9,4)) AS `P`" in texts["spark"]
    assert "CAST(`D` AS TIMESTAMP_NTZ) AS `D`" in texts["spark"]
    assert "SELECT '2' AS `shard`, `n` AS `N`, `P`, `D` FROM" in texts["spark"]
    assert 'CAST("D" AS TIMESTAMP) AS "D"' in texts["duckdb"]
    assert 'CAST("D" AS TIMESTAMP(6)) AS "D"' in texts["trino"]


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("int", "decimal(12,0)", "decimal(12,0)"),
        ("int", "decimal(5,2)", "decimal(12,2)"),
        ("bigint", "decimal(38,2)", "decimal(38,2)"),
        ("bigint", "decimal(38,20)", None),
        ("decimal(38,0)", "decimal(38,10)", None),
        ("decimal(12,0)", "decimal(10,5)", "decimal(17,5)"),
        ("float", "double", "double"),
        ("int", "double", "double"),
        ("bigint", "double", None),
        ("decimal(5,2)", "double", None),
        ("date", "timestamp", None),
        ("timestamp", "timestamp_ntz", None),
        ("string", "int", None),
        ("boolean", "int", None),
        ("binary", "binary", "binary"),
    ],
)
def test_a_common_type_holds_each_value_as_it_is(one: str, other: str, common: str | None) -> None:
    assert common_type(one, other) == common_type(other, one) == common


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([], "no captured table matches"),
        ([Member(FIRST, "1", (ID,)), Member(SECOND, "1", (ID,))], "SHOP1.ORDERS and SHOP2.ORDERS both have '1' in shard"),
        ([Member(FIRST, "1", (LakeColumn("SHARD", "string"),))], "SHOP1.ORDERS has a column SHARD itself"),
        (
            [Member(FIRST, "1", (ID, NOTE)), Member(SECOND, "2", (ID, LakeColumn("note", "binary")))],
            "note is string in SHOP1.ORDERS and binary in SHOP2.ORDERS, and no type holds",
        ),
        (
            [
                Member(FIRST, "1", (LakeColumn("N", "decimal(38,2)"),)),
                Member(SECOND, "2", (LakeColumn("n", "decimal(38,10)"),)),
            ],
            r"n is decimal\(38,2\) in SHOP1.ORDERS and decimal\(38,10\) in SHOP2.ORDERS",
        ),
    ],
)
def test_tables_that_do_not_make_one_are_refused_with_their_names(members: list[Member], why: str):
    with pytest.raises(ConfigurationError, match=why):
        make_union("all.orders", SHARDS, members)


def test_a_view_over_shards_of_which_one_is_left_out_is_not_made_and_a_comment_says_so() -> None:
    body = {"name": "shop", "source": {"connection": "c"}, "landing": "/landing", "lake": "/lake"}
    views = {"all.orders": {"tables": "/SHOP\\d/.ORDERS", "discriminator": "shard"}}
    pipeline = Pipeline.model_validate({**body, "tables": [str(FIRST), str(SECOND)], "union_views": views})

    assert list(left_out_unions(pipeline, [FIRST, SECOND], "spark")) == []
    assert list(left_out_unions(pipeline, [FIRST], "spark")) == [
        "-- all.orders is not made, and one made before stays as it is: SHOP2.ORDERS left out."
    ]


def test_versions_of_rows_are_a_view_of_the_history_in_each_engine() -> None:
    kept = HistoryOf(TableId("SHOP", "ORDERS"), "/lake/_history/shop/orders", ("ID", "NOTE"), ("ID",))

    texts = {engine: "\n".join(history_statements([kept], engine)) for engine in ("spark", "duckdb", "trino")}

    assert "VIEW `shop`.`orders_versions` AS" in texts["spark"]
    assert "FROM delta.`/lake/_history/shop/orders` r JOIN epochs e" in texts["spark"]
    assert "FROM delta_scan('/lake/_history/shop/orders') r JOIN epochs e" in texts["duckdb"]
    assert "table_name => 'orders$history', table_location => '/lake/_history/shop/orders'" in texts["trino"]
    assert 'FROM delta."shop"."orders$history" r JOIN epochs e' in texts["trino"]
    assert 'PARTITION BY r._epoch, r."ID" ORDER BY r._commit_scn, r._seq' in texts["trino"]


def test_versions_of_shards_are_one_view_with_the_discriminator_and_the_widest_types() -> None:
    body = {"name": "shop", "source": {"connection": "c"}, "landing": "/landing", "lake": "/lake"}
    views = {"all.orders": {"tables": "/SHOP(\\d)/.ORDERS", "discriminator": "shard", "value": "{1}"}}
    pipeline = Pipeline.model_validate({**body, "tables": [str(FIRST), str(SECOND)], "union_views": views})
    histories = [
        HistoryOf(FIRST, "/lake/_history/1", ("ID", "NOTE"), ("ID",), ("int", "string")),
        HistoryOf(SECOND, "/lake/_history/2", ("id",), ("id",), ("bigint",)),
    ]
    unions, left_out = history_unions(pipeline, "duckdb", histories)

    assert left_out == []
    assert history_statements(histories, "duckdb", unions)[-1] == (
        """CREATE OR REPLACE VIEW "all"."orders_versions" AS SELECT '1' AS "shard", CAST("ID" AS BIGINT) AS "ID", "NOTE", """
        "valid_from_scn, valid_to_scn, valid_from, valid_to, is_current, _op, _xid, _user, _redo_thread "
        """FROM "shop1"."orders_versions"\nUNION ALL SELECT '2' AS "shard", "id" AS "ID", CAST(NULL AS VARCHAR) AS "NOTE", """
        "valid_from_scn, valid_to_scn, valid_from, valid_to, is_current, _op, _xid, _user, _redo_thread "
        'FROM "shop2"."orders_versions";'
    )
    assert history_unions(pipeline, "duckdb", histories[:1]) == (
        [],
        ["-- all.orders_versions is not made: no history of SHOP2.ORDERS, or left out."],
    )
    for wrong, why in (
        ({"all.orders": {**views["all.orders"], "discriminator": "is_current"}}, "has a column is_current itself"),
        ({**views, "all.orders_versions": views["all.orders"]}, "is also the name of a view"),
    ):
        other = Pipeline.model_validate({**body, "tables": [str(FIRST), str(SECOND)], "union_views": wrong})
        with pytest.raises(ConfigurationError, match=why):
            history_unions(other, "duckdb", histories)
