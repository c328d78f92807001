"""A TRUNCATE .. CASCADE of a parent counts for the child as its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.reconcile.truncated_by_parents import Parents, find_truncations
from redolake.records.windows import DdlRow, WindowManifest
from redolake.values.scn import Scn
from redolake.values.table import TableId, TableVersion

CHILD = TableVersion(TableId("SHOP", "CHILD"), Scn(1), 7, 8, (), (), 3)


def windows(cascades_from: str, sql: str) -> list[WindowManifest]:
    row = DdlRow(150, 1, "0x01", 0, "SHOP", "PARENT", 5, sql, cascades_from=cascades_from)
    return [WindowManifest(7, 11, 100, 200, (), ("SHOP.CHILD",), {}, "", (row,), ())]


@pytest.mark.parametrize(
    ("parents", "cascades_from", "statements"),
    [
        (
            Parents(frozenset({"SHOP.PARENT"}), are_seen=True),
            "SHOP.PARENT",
            ["TRUNCATE TABLE SHOP.CHILD /* by that of SHOP.PARENT with CASCADE */"],
        ),
        (Parents(frozenset({"SHOP.PARENT"}), are_seen=True), "SHOP.OTHER", []),
        (Parents(frozenset(), are_seen=False), "OTHER.CHILD", ["TRUNCATE TABLE OTHER.CHILD CASCADE"]),
        (Parents(frozenset(), are_seen=False), "SHOP.CHILD", []),
        (Parents(frozenset({"SHOP.PARENT"}), are_seen=True), "", []),
        (Parents(frozenset({"SHOP.PARENT"}), are_seen=True), "*.PARENT", ['TRUNCATE TABLE "*".PARENT CASCADE']),
        (Parents(frozenset({"SHOP.CHILD"}), are_seen=True), "*.CHILD", ['TRUNCATE TABLE "*".CHILD CASCADE']),
        (Parents(frozenset({"SHOP.PARENT"}), are_seen=True), "*.OTHER", []),
        (Parents(frozenset(), are_seen=False), "user SHOP", ["DROP TABLE SHOP.CHILD /* by DROP USER */"]),
        (Parents(frozenset(), are_seen=False), "user OTHER", []),
        (Parents(frozenset(), are_seen=False), "cluster SHOP.THINGS", []),
    ],
    ids=[
        "a parent",
        "no parent",
        "perhaps a parent that the user may not see",
        "the table itself",
        "without CASCADE",
        "perhaps a parent, of an unknown owner",
        "perhaps one of the table's own name",
        "of an unknown owner, and no parent",
        "its user",
        "another user",
        "a cluster, of which it is none",
    ],
)
def test_a_truncate_of_a_parent_is_one_of_the_child(parents: Parents, cascades_from: str, statements: list[str]) -> None:
    rows = list(find_truncations(CHILD, windows(cascades_from, "truncate table parent cascade"), parents))

    assert [(row.owner, row.table, row.scn, row.object_id, row.sql) for row in rows] == [
        ("SHOP", "CHILD", 150, 7, sql) for sql in statements
    ]


def test_an_emptied_cluster_is_a_statement_of_every_table_in_a_cluster() -> None:
    found = find_truncations(
        replace(CHILD, organization="cluster"),
        windows("cluster SHOP.THINGS", "truncate cluster things"),
        Parents(frozenset(), True),
    )

    assert [(row.object_id, row.sql) for row in found] == [(7, "truncate cluster things")]


def test_a_truncated_partition_of_a_parent_is_no_truncate_of_the_whole_child() -> None:
    parents = Parents(frozenset({"SHOP.PARENT"}), are_seen=True)

    (row,) = find_truncations(CHILD, windows("SHOP.PARENT", "ALTER TABLE parent TRUNCATE PARTITION p CASCADE"), parents)

    assert row.sql == "TRUNCATE TABLE SHOP.PARENT CASCADE"  # and the child stops there


@pytest.mark.parametrize(("owner", "count"), [("OTHER", 1), ("SYS", 0)])
def test_partitions_of_the_dictionary_itself_concern_no_table_whose_parents_are_unknown(owner: str, count: int) -> None:
    parents = Parents(frozenset(), are_seen=False, of_partitioned=True)

    found = find_truncations(CHILD, windows(f"{owner}.WRH", f"alter table {owner}.wrh split partition p at (5)"), parents)

    assert len(list(found)) == count


@pytest.mark.parametrize(
    "what", ["drop partition p", "split partition p at (5)", "merge partitions p, q", "coalesce partition"]
)
@pytest.mark.parametrize("is_partitioned", [True, False])
def test_a_changed_partition_of_a_parent_is_one_of_a_partitioned_child(is_partitioned: bool, what: str) -> None:
    parents = Parents(frozenset({"SHOP.PARENT"}), are_seen=True, of_partitioned=is_partitioned)

    found = find_truncations(CHILD, windows("SHOP.PARENT", f'alter table shop."PARENT" {what}'), parents)

    own = f"ALTER TABLE SHOP.CHILD {what} /* by that of SHOP.PARENT */"
    assert [row.sql for row in found] == ([own] if is_partitioned else [])
