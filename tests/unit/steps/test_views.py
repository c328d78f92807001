"""The statements of views for other engines."""

from __future__ import annotations

from pipelines.steps.views import STATEMENTS, ViewOf
from pipelines.values.table import TableId

ORDERS = ViewOf(TableId("SHOP", "ORDERS"), "/lake/shop/orders", 7)
MARKED = ViewOf(TableId("SHOP", 'odd "`name'), "/lake/it's/here", None, True)


def test_a_view_has_the_version_of_its_table_and_no_deleted_rows():
    assert STATEMENTS["spark"]([ORDERS, MARKED]) == [
        "CREATE SCHEMA IF NOT EXISTS `shop`;",
        "CREATE OR REPLACE VIEW `shop`.`orders` AS SELECT * FROM delta.`/lake/shop/orders` VERSION AS OF 7;",
        "CREATE OR REPLACE VIEW `shop`.`odd \"``name` AS SELECT * FROM delta.`/lake/it's/here` WHERE NOT `_deleted`;",
    ]
    assert STATEMENTS["duckdb"]([ORDERS, MARKED]) == [
        "LOAD delta;",
        'CREATE SCHEMA IF NOT EXISTS "shop";',
        """CREATE OR REPLACE VIEW "shop"."orders" AS SELECT * FROM delta_scan('/lake/shop/orders', version = 7);""",
        """CREATE OR REPLACE VIEW "shop"."odd ""`name" AS SELECT * FROM delta_scan('/lake/it''s/here') """
        """WHERE NOT "_deleted";""",
    ]


def test_trino_gets_each_table_registered_under_another_name_than_its_view():
    assert STATEMENTS["trino"]([ORDERS]) == [
        'CREATE SCHEMA IF NOT EXISTS delta."shop";',
        "CALL delta.system.register_table(schema_name => 'shop', table_name => 'orders$delta', "
        "table_location => '/lake/shop/orders');",
        'CREATE OR REPLACE VIEW delta."shop"."orders" AS SELECT * FROM delta."shop"."orders$delta" FOR VERSION AS OF 7;',
    ]
