"""DDL of a captured table whose row names another table, or none."""

from __future__ import annotations

import pytest

from redolake.land.landing import Landing
from redolake.values.table import TableId
from tests.unit.land.redo_rows import ORDERS, TABLES, row, window, write

MIXED, STREET = TableId("SHOP", "Mixed Case"), TableId("SHOP", "STRAßE")
OTHERS_ORDERS = TableId("ZOO", "ORDERS")
OTHERS = {"owner": "SHOP", "table": "SALES", "object_id": 90}  # a partitioned table that is not captured
NOBODYS = {"owner": None, "table": None, "object_id": None}
CASES = {
    "a partition exchanged with it": (OTHERS, "alter table sales exchange partition p1 with table orders", [ORDERS]),
    "with an owner, in quotes, past comments": (
        OTHERS, 'ALTER TABLE sales EXCHANGE /* all */ SUBPARTITION FOR (1)\n WITH -- now\n TABLE Shop . "ORDERS"', [ORDERS],
    ),
    "a name in mixed case": (OTHERS, 'alter table sales exchange partition p with table "Mixed Case"', [MIXED]),
    "one of the same name in another schema": (
        OTHERS | {"owner": "OTHER"}, "alter table sales exchange partition p1 with table orders", [],
    ),
    "another table": (OTHERS, "alter table sales exchange partition p1 with table orders_2", []),
    "with an owner for the first table only, so that the session's schema is open": (
        OTHERS | {"owner": "STG"}, "alter table stg.sales exchange partition p1 with table orders", [ORDERS, OTHERS_ORDERS],
    ),
    "with the name of another table in a quoted name": (
        OTHERS, 'alter table sales exchange partition "p with table x" with table orders', [ORDERS],
    ),
    "past a text that contains a quote": (
        OTHERS, "alter table sales exchange partition for (q'[it's]') with table orders -- it's", [ORDERS],
    ),
    "past a q-quoted text that looks like the end": (
        OTHERS, "alter table sales exchange partition for (Nq'!x' with table y!') with table orders", [ORDERS],
    ),
    "a text that only speaks of it": (OTHERS, "comment on table sales is 'exchange partition p with table orders'", []),
    "its own, without name and number": (NOBODYS, "truncate table orders", [ORDERS, OTHERS_ORDERS]),
    "tables of a flashback, of which the row has the first": (
        OTHERS, 'flashback table sales, shop."Mixed Case", orders to scn 100', [MIXED, ORDERS, OTHERS_ORDERS],
    ),
    "dropped by an owner of whom nothing is left": (
        {"owner": "UNKNOWN", "table": "OBJ# 0", "object_id": 0}, 'drop table "SHOP"."ORDERS" cascade constraints', [ORDERS],
    ),
    "an object of its own that shares the name": (
        {"owner": "UNKNOWN", "table": "OBJ# 91", "object_id": 91}, "truncate table orders", [],
    ),
    "text that ends with a NUL byte": (NOBODYS, "truncate table orders\0", [ORDERS, OTHERS_ORDERS]),
    "a name with a letter without a capital": (NOBODYS, "truncate table shop.straße", [STREET]),
    "a table that may exist already": (NOBODYS, "create table if not exists orders (id number)", [ORDERS, OTHERS_ORDERS]),
    "another table that gets its name": (OTHERS, "rename sales to orders", [ORDERS]),
    "another table that gets its name by ALTER": (OTHERS, 'ALTER TABLE shop.sales RENAME TO "ORDERS"', [ORDERS]),
    "another table out of the recycle bin": (OTHERS, "flashback table sales to before drop rename to orders", [ORDERS]),
    "a column that gets its name": (OTHERS, "alter table sales rename column a to orders", []),
    "a partition that gets its name": (OTHERS, "alter table sales rename partition p to orders", []),
    "a nameless grant": (NOBODYS, "grant select on orders to somebody", []),
}  # fmt: skip


@pytest.mark.parametrize(("of", "sql", "tables"), CASES.values(), ids=CASES)
def test_ddl_belongs_to_the_captured_table_that_its_text_is_about(tmp_path, of, sql, tables):
    landing, ddl = Landing(str(tmp_path), "shop"), row(120, 5, **of, sql_redo=sql)
    tables_by_id = {**TABLES, 4712: MIXED, 4713: STREET, 4714: OTHERS_ORDERS}

    records = write(landing, window(), rows=([ddl], []), tables=tables_by_id)
    manifest = landing.windows.publish(window(), list(tables_by_id.values()), records, None)

    assert [(d.owner, d.table, d.sql) for d in manifest.ddl] == [(t.owner, t.name, sql.rstrip("\0")) for t in tables]
    assert manifest.counts == {f"{t} ddl": 1 for t in tables[:1]}, "one row is landed, whatever it changes"


CASCADING = {
    "of a table that is not captured": ("truncate table sales drop storage cascade", "SHOP.SALES"),
    "with an owner and a comment": ('TRUNCATE TABLE other."Sales" /* all */ CASCADE', 'OTHER."Sales"'),
    "of a partition": ("alter table sales truncate partition p1 update indexes cascade", "SHOP.SALES"),
    "of several partitions": ("alter table sales truncate partitions p1, p2 cascade", "SHOP.SALES"),
    "a dropped partition": ("alter table sales drop partition p1 update indexes", "SHOP.SALES"),
    "a split partition": ("alter table sales split partition p1 at (5) into (partition a, partition b)", "SHOP.SALES"),
    "merged partitions": ("alter table sales merge partitions a, b into partition c", "SHOP.SALES"),
    "a coalesced partition": ("alter table sales coalesce partition", "SHOP.SALES"),
    "a partition added to a hash": ("alter table sales add partition p9", "SHOP.SALES"),
    "a partition added with its values": ("alter table sales add partition p9 values less than (9)", None),
    "a partition added to a hash, with subpartitions that have values": (
        "alter table sales add partition p9 (subpartition a values (1))",
        "SHOP.SALES",
    ),
    "a coalesced subpartition": ("alter table sales modify partition p1 coalesce subpartition", "SHOP.SALES"),
    "a subpartition added to a hash": ('alter table sales modify partition for (5) add subpartition "S"', "SHOP.SALES"),
    "if it exists": ("alter table if exists sales drop partition p1", "SHOP.SALES"),
    "truncated if it exists": ("truncate table if exists sales cascade", "SHOP.SALES"),
    "a moved partition": ("alter table sales move partition p1", None),
    "a dropped column called partition": ('alter table sales drop ("partition")', None),
    "without CASCADE": ("truncate table sales /* cascade */", None),
    "CASCADE CONSTRAINTS": ("drop table sales cascade constraints", None),
}


def test_a_table_of_the_user_counts_too_and_runs_that_do_not_know_the_user_agree(tmp_path):
    sql, found = "alter table sales exchange partition p1 with table orders", []
    for name, user in (("known", "SHOP"), ("unknown", "UNKNOWN"), ("owner", "STG")):
        landing = Landing(str(tmp_path / name), "shop")
        ddl = row(120, 5, **OTHERS | {"owner": "STG"}, sql_redo=sql, username=user)
        found.append(landing.windows.publish(window(), [ORDERS], write(landing, window(), rows=([ddl], [])), None))

    assert [[(d.owner, d.table, d.object_id) for d in one.ddl] for one in found] == [[("SHOP", "ORDERS", 0)], [], []]
    assert found[0].identity() == found[1].identity()


GROUPS = {
    "tables that refer to either side of an exchange": (
        OTHERS, "alter table other.sales exchange partition p with table copies cascade", ["OTHER.SALES", "*.COPIES"],
    ),
    "both in the schema of the session": (
        OTHERS, "alter table sales exchange partition p with table copies cascade", ["SHOP.SALES", "SHOP.COPIES"],
    ),
    "a parent of whose owner nothing is left": (NOBODYS, "truncate table sales cascade", ["*.SALES"]),
    "a user with captured tables": (NOBODYS, 'drop user if exists "SHOP" cascade', ["user SHOP"]),
    "a user without": (NOBODYS, "drop user somebody cascade", []),
    "a cluster": (NOBODYS, "truncate cluster shop.things reuse storage", ["cluster SHOP.THINGS"]),
    "a cluster in nobody's schema": (NOBODYS, "drop cluster things including tables", ["cluster *.THINGS"]),
    "a cluster without tables": (NOBODYS, "drop cluster things", []),
}  # fmt: skip


@pytest.mark.parametrize(("of", "sql", "sources"), GROUPS.values(), ids=GROUPS)
def test_what_reaches_tables_that_no_text_names_is_landed(tmp_path, of, sql, sources):
    landing, ddl = Landing(str(tmp_path), "shop"), row(120, 5, **of, sql_redo=sql)

    manifest = landing.windows.publish(window(), [ORDERS], write(landing, window(), rows=([ddl], [])), None)

    assert [d.cascades_from for d in manifest.ddl] == sources


@pytest.mark.parametrize(("sql", "table"), CASCADING.values(), ids=CASCADING)
def test_a_truncate_with_cascade_is_landed_whatever_table_it_names(tmp_path, sql, table):
    landing, ddl = Landing(str(tmp_path), "shop"), row(120, 5, **OTHERS, sql_redo=sql)

    manifest = landing.windows.publish(window(), [ORDERS], write(landing, window(), rows=([ddl], [])), None)

    assert [d.cascades_from for d in manifest.ddl] == ([] if table is None else [table])
    assert manifest.counts == {}
