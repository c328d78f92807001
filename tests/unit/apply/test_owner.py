"""Whose a Delta table is, by its log: only its owner may write it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from redolake.apply.delta.log import read_log
from redolake.apply.owner import ORIGIN, Owner, Use, check_owner, why_taken
from redolake.errors import FolderTaken
from redolake.values.table import TableId
from tests.unit.apply.delta.test_log import commit

MINE = Owner("shop", "SHOP.ORDERS", origin="1-2-3", object_id=7)


def taken(table: Path, own: Owner = MINE, use: Use = "merge") -> str | None:
    log = read_log(str(table))
    assert log is not None
    return why_taken(log, own, use)


def marked(table: Path, owner: Owner) -> Path:
    commit(table, 0, (f"{owner.pipeline}/{owner.table}/1", 10))
    (table / "_delta_log" / f"{0:020d}.crc").write_text(json.dumps({"metadata": {"configuration": owner.properties}}))
    return table


def unmarked(table: Path, *apps: str) -> Path:
    for version, app in enumerate(apps):
        commit(table, version, (app, 10))
    if not apps:
        commit(table, 0)
    with (table / "_delta_log" / f"{0:020d}.json").open("a") as file:
        file.write(json.dumps({"metaData": {"configuration": {}}}) + "\n")
    return table


def test_a_marked_table_is_its_owners_also_after_it_was_created_again_in_oracle(tmp_path: Path) -> None:
    assert taken(marked(tmp_path, MINE), Owner("shop", "SHOP.ORDERS", origin="1-2-3", object_id=8)) is None


OTHERS = {
    "another table": Owner("shop", 'SHOP."Orders"', origin="1-2-3"),
    "another pipeline": Owner("old", "SHOP.ORDERS", origin="1-2-3"),
    "a pipeline of the same name with another landing": Owner("shop", "SHOP.ORDERS", origin="9-2-3"),
    "a shadow of the table": Owner("shop", "SHOP.ORDERS", "100-200", "1-2-3"),
}


@pytest.mark.parametrize("use", ["merge", "load", "rebuild"])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_marked_table_is_nobody_elses_whether_it_is_merged_into_or_replaced(tmp_path: Path, other: Owner, use: Use) -> None:
    why = taken(marked(tmp_path, other), use=use)

    assert "belongs to" in str(why)
    with pytest.raises(FolderTaken, match=r"set `target` of SHOP\.ORDERS"):
        check_owner(read_log(str(tmp_path)), MINE, TableId("SHOP", "ORDERS"), str(tmp_path), use)


def test_a_table_without_properties_is_adopted_by_the_one_whose_commits_it_has(tmp_path: Path) -> None:
    unmarked(tmp_path, "shop/SHOP.ORDERS/1", "shop/SHOP.ORDERS/2/ddl", "a-streaming-query")

    assert taken(tmp_path) is None
    assert "SHOP.ORDERS of pipeline shop" in str(taken(tmp_path, Owner("shop", 'SHOP."Orders"')))
    assert "SHOP.ORDERS of pipeline shop" in str(taken(tmp_path, Owner("new_name", "SHOP.ORDERS"), "rebuild"))


def test_a_table_without_properties_that_two_have_written_is_whose_who_rebuilds_it(tmp_path: Path) -> None:
    unmarked(tmp_path, "shop/SHOP.ORDERS/1", 'shop/SHOP."Orders"/1')

    assert '"Orders" of pipeline shop was written to the same folder' in str(taken(tmp_path))
    assert taken(tmp_path, use="rebuild") is None


def test_a_delta_table_of_somebody_else_is_replaced_only_on_request(tmp_path: Path) -> None:
    unmarked(tmp_path)

    assert "did not write" in str(taken(tmp_path, use="load"))
    assert taken(tmp_path, use="rebuild") is None


def test_a_name_with_slashes_is_no_other_table() -> None:
    odd = Owner.of('shop/SHOP."A/1/shadow/b"/77')

    assert (odd and odd.table, odd and odd.shadow) == ('SHOP."A/1/shadow/b"', "")
    assert Owner.of("shop/SHOP.A/77/shadow/1-2-current") == Owner("shop", "SHOP.A", "1-2-current")
    assert Owner.of("shop/SHOP.A/77/shadow/1-2/ddl") == Owner("shop", "SHOP.A", "1-2")


def test_where_the_landing_began_counts_only_where_both_know_it(tmp_path: Path) -> None:
    assert taken(marked(tmp_path, Owner("shop", "SHOP.ORDERS"))) is None
    assert ORIGIN in MINE.properties


def test_the_cure_names_the_setting_that_made_the_owner_another_one(tmp_path: Path) -> None:
    table = marked(tmp_path, MINE)
    others = {"`landing` was changed": replace(MINE, origin="9-9-9"), "pipeline was renamed": replace(MINE, pipeline="new")}
    for setting, own in others.items():
        with pytest.raises(FolderTaken, match=f"if .*{setting}"):
            check_owner(read_log(str(table)), own, TableId("SHOP", "ORDERS"), str(table))


@pytest.mark.parametrize("app", ["shop/SHOP.T/1/history/0", "shop/SHOP.T/2/history/3/load/7-x"])
def test_a_history_is_its_tables_in_each_incarnation(app: str) -> None:
    assert Owner.of(app) == Owner("shop", "SHOP.T", is_history=True)


@pytest.mark.parametrize("name", ["S.a/b/7", "S.T/1", "S.history/2"])
def test_a_name_with_slashes_and_numbers_is_the_tables(name: str) -> None:
    for more in ("", "/load/7-x", "/load/7-x/repair", "/shadow/1-5"):
        found = Owner.of(f"shop/{name}/12{more}")
        assert found is not None
        assert (found.pipeline, found.table, found.is_history) == ("shop", name, False)
