"""Changes that cannot be applied go to quarantine: the rest of the table goes on, and what is wrong is listed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from redolake import steps
from redolake.cockpit import read_overview
from redolake.errors import QuarantineInTheWay, TableHeld, Terminal
from standin.serve import standin
from tests.fixtures.shop import Shop

pytestmark = pytest.mark.spark

LOG = "ALTER TABLE {} ADD SUPPLEMENTAL LOG DATA ({}) COLUMNS"


@pytest.fixture
def source(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    with standin(threads=1, log_bytes=64 * 1024, archive_lag_target=0, urowids="unsupported") as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE items (id NUMBER(9) PRIMARY KEY, n NUMBER, v UROWID, note VARCHAR2(20))",
            LOG.format("items", getattr(request, "param", "ALL")),
            *(f"INSERT INTO items VALUES ({n}, {n}, NULL, 'n{n}')" for n in range(1, 7)),
        )
        yield shop


ITEMS = {"table": "SHOP.ITEMS", "columns": {"N": 2}}


def caught_up(shop: Shop, pipeline: Any, spark: Any) -> Any:
    shop.switch_logs()
    with suppress(TableHeld):
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    (table,) = steps.read_status(pipeline).tables
    return table


def lake(spark: Any, pipeline: Any) -> dict[int, Any]:
    rows = spark.read.format("delta").load(pipeline.target(pipeline.tables[0].id)).collect()
    return {int(row["ID"]): row for row in rows}


def quarantine(spark: Any, pipeline: Any) -> list[Any]:
    return spark.read.format("delta").load(pipeline.quarantine_path(pipeline.tables[0].id)).orderBy("position", "scn").collect()


def test_values_that_do_not_fit_or_are_not_shown_are_listed_and_the_table_goes_on(spark: Any, source: Shop) -> None:
    pipeline = source.pipeline(tables=[ITEMS], on_error={"value": "quarantine", "undecodable": "quarantine"})
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql(
        "UPDATE items SET n = 1.2345 WHERE id = 1",
        "UPDATE items SET v = 'AAAR3sAAEAAAACXAAB' WHERE id = 2",
        "UPDATE items SET n = 33 WHERE id = 3",
        "INSERT INTO items VALUES (7, 7.7777, NULL, 'n7')",
    )
    status = caught_up(source, pipeline, spark)
    first, listed = lake(spark, pipeline), quarantine(spark, pipeline)

    assert status.state == "live"
    assert sorted(first) == [1, 2, 3, 4, 5, 6]
    assert (first[1]["N"], first[2]["V"], first[3]["N"]) == (1, None, 33)
    assert {(row["key"], row["class"], row["operation"]) for row in listed} == {
        ('{"ID":"1"}', "value", "UPDATE"), ('{"ID":"2"}', "undecodable", "UPDATE"), ('{"ID":"7"}', "value", "INSERT"),
    }  # fmt: skip
    assert all("update" in row["redo"].lower() or "insert" in row["redo"].lower() for row in listed)
    verified = steps.verify_tables(pipeline, source=source.params, spark=spark).tables[0]
    assert (verified.equal, verified.quarantined_keys, verified.source_rows) == (True, 3, 4)
    account = steps.read_stats(pipeline, 1).tables[0].total.rows
    assert (account["quarantined"], account["applied"]) == (3, 1)

    # A change that says all of its row makes the key right; one that the source has corrected meanwhile is read again.
    source.run_sql("UPDATE items SET n = 7.77 WHERE id = 7", "UPDATE items SET n = 11, note = 'one' WHERE id = 1")
    caught_up(source, pipeline, spark)
    found = steps.list_quarantine(pipeline, spark=spark)
    assert (found.keys, {change.key for change in found.changes}) == (1, {'{"ID":"2"}'})
    assert (lake(spark, pipeline)[1]["NOTE"], lake(spark, pipeline)[7]["N"]) == ("one", Decimal("7.77"))
    done = steps.retry_quarantine(pipeline, "SHOP.ITEMS", reason="the release reads UROWIDs", source=source.params, spark=spark)
    assert (done.done, done.left) == (('{"ID":"2"}',), {})
    assert lake(spark, pipeline)[2]["V"] == "AAAR3sAAEAAAACXAAB"
    last = steps.verify_tables(pipeline, source=source.params, spark=spark).tables[0]
    assert (last.equal, last.quarantined_keys, last.source_rows) == (True, 0, 7)
    with pytest.raises(Terminal, match="no key of the table is in quarantine"):
        steps.retry_quarantine(pipeline, "SHOP.ITEMS", reason="again", source=source.params, spark=spark)

    # A copy that begins before the retry would bring the older row back.
    source.run_sql("UPDATE items SET note = 'later' WHERE id = 6")
    caught_up(source, pipeline, spark)
    end, how = int(steps.read_status(pipeline).next_start_scn or 0), {"execute": True, "reason": "a fault", "spark": spark}
    early, late = (steps.copy_tables(pipeline, at, end, execute=True, spark=spark).name for at in (done.applied_scn, end - 1))
    with pytest.raises(QuarantineInTheWay, match="they are not in the redo"):
        steps.swap_table(pipeline, "SHOP.ITEMS", early, **how)
    steps.swap_table(pipeline, "SHOP.ITEMS", late, **how)
    assert (lake(spark, pipeline)[2]["V"], lake(spark, pipeline)[6]["NOTE"]) == ("AAAR3sAAEAAAACXAAB", "later")


@pytest.mark.parametrize("source", ["PRIMARY KEY"], indirect=True)
def test_reads_as_of_an_scn_copies_and_swaps_know_which_rows_are_wrong_and_rows_read_again_are_not(
    spark: Any, source: Shop
) -> None:
    pipeline = source.pipeline(tables=[ITEMS], on_error={"value": "quarantine"})
    steps.take_snapshot(pipeline, source=source.params, spark=spark)

    def scn_after(*statements: str) -> int:
        source.run_sql(*statements)
        with source.oracle.connect("SYSTEM") as connection, connection.cursor() as cursor:
            return int(cursor.execute("SELECT current_scn FROM v$database").fetchone()[0])

    def applied() -> int:
        return int(caught_up(source, pipeline, spark).complete_to_scn)

    def wrong_at(scn: int) -> list[str]:
        (table,) = steps.read_as_of(pipeline, str(scn), spark=spark).tables
        assert table.rows == 6
        return [key.partition(":")[2].strip('"}') for key in table.wrong_keys]

    first, later = scn_after("UPDATE items SET n = 1.2345 WHERE id = 1"), scn_after("UPDATE items SET n = 22 WHERE id = 2")
    end = applied()
    alone = scn_after("UPDATE items SET n = 3.3333 WHERE id = 3")  # a batch that merges nothing
    applied()
    assert [wrong_at(scn) for scn in (first, later, end, alone - 1, alone)] == [["1"], ["1"], ["1"], ["1"], ["1", "3"]]
    text = steps.write_views(pipeline, "duckdb", str(end), spark=spark).text
    assert '-- SHOP.ITEMS: the rows of 1 keys in quarantine are known to be wrong: {"ID":"1"}' in text
    assert "-- SHOP.ITEMS: the rows of 2 keys in quarantine" in steps.write_views(pipeline, "duckdb").text

    # The redo of an UPDATE lacks values here, so keys that the source corrects stay listed until they are read again.
    start = scn_after("UPDATE items SET n = 1 WHERE id = 1", "UPDATE items SET n = 3 WHERE id = 3")
    end_of_it, how = applied(), {"execute": True, "reason": "a fault", "spark": spark}
    (old,) = steps.copy_tables(pipeline, end, end_of_it + 1, execute=True, spark=spark).tables
    assert old.wrong_keys == ('{"ID":"1"}', '{"ID":"3"}')
    steps.backfill_live(pipeline, alone, end_of_it + 1, source=source.params, **how)
    assert (steps.list_quarantine(pipeline, spark=spark).keys, lake(spark, pipeline)[3]["N"]) == (0, 3)
    assert wrong_at(end_of_it) == ["1", "3"]  # the version before the rows were read again
    scn_after("UPDATE items SET note = 'six' WHERE id = 6")
    assert wrong_at(applied()) == []
    with pytest.raises(QuarantineInTheWay, match="rows of 2 keys are right in the table and wrong in the copy"):
        steps.swap_table(pipeline, "SHOP.ITEMS", f"{end}-{end_of_it + 1}-copy", **how)

    # What a swap has replaced comes back with its list.
    scn_after("UPDATE items SET n = 5.5555 WHERE id = 5")
    new_end = applied()
    copied = steps.copy_tables(pipeline, new_end, new_end + 1, execute=True, spark=spark)
    assert steps.swap_table(pipeline, "SHOP.ITEMS", copied.name, **how).quarantined_keys == 1
    scn_after("UPDATE items SET n = 5 WHERE id = 5")
    applied()
    steps.repair_table(pipeline, "SHOP.ITEMS", keys=[{"ID": "5"}], source=source.params, reason="corrected", spark=spark)
    assert steps.list_quarantine(pipeline, spark=spark).wrong == ()
    assert steps.swap_table(pipeline, "SHOP.ITEMS", **how).quarantined_keys == 1
    compared = steps.verify_tables(pipeline, source=source.params, spark=spark).tables[0]
    assert (compared.equal, compared.quarantined_keys, start > end) == (True, 1, True)

    # A key is listed by its column's name: a DDL that changes it waits, also one that no change of the table follows.
    source.run_sql("ALTER TABLE items RENAME COLUMN id TO number_of_it")
    held = caught_up(source, pipeline, spark)
    assert "the name of a column of the key, and 1 keys of the table are in quarantine" in str(held.error)


@pytest.mark.parametrize("source", ["PRIMARY KEY"], indirect=True)
def test_an_update_of_a_listed_key_goes_to_quarantine_too_and_a_limit_holds_the_table(spark: Any, source: Shop) -> None:
    on_error = {"value": "quarantine", "at_most": {"rows": 2}}
    pipeline = source.pipeline(tables=[{**ITEMS, "on_error": on_error}])
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql("INSERT INTO items VALUES (7, 7.7777, NULL, 'n7')", "UPDATE items SET n = 4.4444 WHERE id = 4")
    caught_up(source, pipeline, spark)
    source.run_sql(
        "UPDATE items SET note = 'later' WHERE id = 7",
        "UPDATE items SET id = 40 WHERE id = 4",
        "UPDATE items SET id = 4 WHERE id = 5",
        "UPDATE items SET note = 'six' WHERE id = 6",
    )
    held = caught_up(source, pipeline, spark)

    # The row at 4 moved to 40 with values that nobody has read, so 4, 40 and 5 would be in quarantine with 7: more than two.
    assert held.state == "held"
    assert "at_most.rows" in (held.error or "")
    assert sorted(lake(spark, pipeline)) == [1, 2, 3, 4, 5, 6]
    more = source.pipeline(tables=[{**ITEMS, "on_error": {**on_error, "at_most": {"rows": 9}}}])
    steps.resume_tables(more, ["SHOP.ITEMS"])
    assert caught_up(source, more, spark).state == "live"
    listed = steps.list_quarantine(more, spark=spark)
    assert {key.key for key in listed.wrong} == {'{"ID":"4"}', '{"ID":"40"}', '{"ID":"5"}', '{"ID":"7"}'}
    assert ('{"ID":"4"}', '{"ID":"40"}') in {(change.key, change.other_key) for change in listed.changes}
    assert listed.keys == 4
    looked = steps.look_up_quarantined(more, "shop.items", [{"ID": "4"}], spark=spark)
    of_key = [change for change in listed.changes if '{"ID":"4"}' in (change.key, change.other_key)]
    assert ([key.key for key in looked.wrong], [*looked.changes]) == (['{"ID":"4"}'], of_key)
    assert len(steps.look_up_quarantined(more, "SHOP.ITEMS", spark=spark).wrong) == 4
    with pytest.raises(Terminal, match="no such key of the table is in quarantine"):
        steps.look_up_quarantined(more, "SHOP.ITEMS", [{"ID": "6"}], spark=spark)
    assert lake(spark, more)[6]["NOTE"] == "six"
    compared = steps.verify_tables(more, source=source.params, spark=spark).tables[0]
    assert (compared.equal, compared.quarantined_keys) == (True, 4)
    dropped = steps.drop_quarantined(more, "SHOP.ITEMS", [{"ID": "7"}], reason="nobody needs it", by="ann", spark=spark)
    assert (dropped.done, steps.list_quarantine(more, spark=spark).keys) == (('{"ID":"7"}',), 3)
    source.run_sql("UPDATE items SET n = 1 WHERE id = 7", "UPDATE items SET n = 44.44 WHERE id = 40")
    caught_up(source, more, spark)
    worked = steps.retry_quarantine(more, "SHOP.ITEMS", reason="corrected", source=source.params, spark=spark)
    assert not worked.left
    assert steps.verify_tables(more, source=source.params, spark=spark).tables[0].quarantined_keys == 0
    assert sorted(lake(spark, more)) == [1, 2, 3, 4, 6, 7, 40]


def test_users_code_that_raises_for_one_row_leaves_that_row_out_alone_and_no_clear_text(spark: Any, source: Shop) -> None:
    table = {
        "table": "SHOP.ITEMS",
        "columns": {"N": 2},
        "transform": {"function": "tests.references.user_code:shouting", "columns": {"LOUD": "string"}},
        "mask": {"NOTE": "redact"},
        "on_error": {"transform": "quarantine"},
    }
    pipeline = source.pipeline(tables=[table])
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql(
        "UPDATE items SET note = 'bad' WHERE id = 1",
        "UPDATE items SET note = 'good' WHERE id = 2",
        "INSERT INTO items VALUES (8, 8, NULL, 'eight')",
    )
    held = caught_up(source, source.pipeline(tables=[{**table, "on_error": {}}]), spark)
    assert "shouting raised ValueError" in str(held.error)
    assert "set `on_error: {transform: quarantine}` and resume it" in str(held.cure)
    steps.resume_tables(pipeline, ["SHOP.ITEMS"])
    status = caught_up(source, pipeline, spark)
    (listed,) = quarantine(spark, pipeline)
    rows = lake(spark, pipeline)

    assert (status.state, status.error) == ("live", None)
    assert (rows[1]["LOUD"], rows[2]["LOUD"], rows[8]["LOUD"]) == ("N1", "GOOD", "EIGHT")
    assert (listed["key"], listed["class"], listed["redo"]) == ('{"ID":"1"}', "transform", None)
    assert "ValueError" in listed["reason"]
    assert "bad" not in str(listed.asDict())
    compared = steps.verify_tables(pipeline, source=source.params, spark=spark).tables[0]
    assert (compared.equal, compared.quarantined_keys) == (True, 1)
    left = steps.retry_quarantine(pipeline, "SHOP.ITEMS", reason="try", source=source.params, spark=spark)
    assert list(left.left) == ['{"ID":"1"}']
    source.run_sql("UPDATE items SET note = 'fine' WHERE id = 1")
    caught_up(source, pipeline, spark)
    assert lake(spark, pipeline)[1]["LOUD"] == "FINE"
    assert steps.verify_tables(pipeline, source=source.params, spark=spark).tables[0].quarantined_keys == 0


class Killed(BaseException):
    """Ends a process at a point, as a kill does: no handler of errors sees it."""


def killed_at(name: str) -> Any:
    def point(passed: str) -> None:
        if passed == name:
            raise Killed

    return mock.patch("redolake.host.crash.point", point)


@pytest.mark.parametrize("point", ["quarantine", "merge", "before manifest"])
def test_a_batch_killed_after_each_write_lists_each_change_once_also_where_the_next_one_is_larger(
    spark: Any, source: Shop, point: str
) -> None:
    pipeline = source.pipeline(tables=[ITEMS], on_error={"value": "quarantine"})
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql("UPDATE items SET n = 1.2345 WHERE id = 1", "UPDATE items SET n = 22 WHERE id = 2")
    source.switch_logs()
    with killed_at(point), pytest.raises(Killed):
        steps.run_pipeline(pipeline, until_caught_up=True, source=source.params, spark=spark)
    assert "1.2345" in str(quarantine(spark, pipeline))  # before the MERGE, so that no change is in neither
    source.run_sql("INSERT INTO items VALUES (9, 9.9999, NULL, 'n9')", "UPDATE items SET n = 33 WHERE id = 3")
    assert caught_up(source, pipeline, spark).state == "live"

    assert [(row["key"], row["event"]) for row in quarantine(spark, pipeline)] == [
        ('{"ID":"1"}', "quarantined"), ('{"ID":"9"}', "quarantined"),
    ]  # fmt: skip
    assert {n: int(row["N"]) for n, row in lake(spark, pipeline).items()} == {1: 1, 2: 22, 3: 33, 4: 4, 5: 5, 6: 6}
    compared = steps.verify_tables(pipeline, source=source.params, spark=spark).tables[0]
    assert (compared.equal, compared.quarantined_keys) == (True, 2)
    (counted,) = steps.read_stats(pipeline, 1).tables  # as if nothing had been killed
    account = {term: counted.total.rows.get(term, 0) for term in ("applied", "quarantined", "held")}
    assert ((counted.total.inserted, counted.total.updated), account) == ((0, 2), {"applied": 2, "quarantined": 2, "held": 0})
    assert counted.total.first_commit_at is not None
    of_windows = [one.account or {} for one in steps.list_windows(pipeline, 9)]
    assert [sum(one.get(term, 0) for one in of_windows) for term in ("applied", "quarantined")] == [2, 2]
    assert read_overview(pipeline, pipeline.ledger_url, datetime.now(UTC)).tables[0].quarantined_keys == 2


def test_a_ddl_that_changes_the_key_waits_until_no_key_is_in_quarantine(spark: Any, source: Shop) -> None:
    pipeline = source.pipeline(tables=[ITEMS], on_error={"value": "quarantine"})
    steps.take_snapshot(pipeline, source=source.params, spark=spark)
    source.run_sql("UPDATE items SET n = 1.2345 WHERE id = 1")
    caught_up(source, pipeline, spark)
    source.run_sql(
        "UPDATE items SET n = 1 WHERE id = 1", "ALTER TABLE items MODIFY id NUMBER(12)", "UPDATE items SET n = 5 WHERE id = 2"
    )
    healed = caught_up(source, pipeline, spark)
    source.run_sql("UPDATE items SET n = 1.2345 WHERE id = 1")
    caught_up(source, pipeline, spark)
    source.run_sql("ALTER TABLE items MODIFY id NUMBER(20)", "UPDATE items SET n = 6 WHERE id = 2")
    held = caught_up(source, pipeline, spark)
    shown = (held.state, held.error)
    with killed_at("quarantine decision"), pytest.raises(Killed):
        steps.drop_quarantined(pipeline, "SHOP.ITEMS", reason="only to see", spark=spark)
    steps.take_snapshot(
        source.pipeline(tables=[{**ITEMS, "columns": {"N": 4}}]),
        ["SHOP.ITEMS"],
        replace=True,
        source=source.params,
        spark=spark,
    )
    last = steps.list_quarantine(pipeline, spark=spark)

    assert healed.state == "live"
    assert shown[0] == "held"
    assert "1 keys of the table are in quarantine" in (shown[1] or "")
    assert (last.keys, last.dropped) == (0, 0)


def test_an_index_organized_table_and_one_with_a_history_go_on_and_the_history_says_where_changes_are_missing(
    spark: Any, source: Shop
) -> None:
    source.run_sql(
        "CREATE TABLE places (id NUMBER(9) PRIMARY KEY, n NUMBER, note VARCHAR2(20)) ORGANIZATION INDEX",
        LOG.format("places", "ALL"),
        *(f"INSERT INTO places VALUES ({n}, {n}, 'n{n}')" for n in range(1, 5)),
    )
    tables = [{**ITEMS, "history": "changes"}, {"table": "SHOP.PLACES", "columns": {"N": 2}}]
    pipeline = source.pipeline(tables=tables, on_error={"value": "quarantine"})
    steps.take_snapshot(pipeline, source=source.params, spark=spark)

    def verified() -> dict[str, Any]:
        source.switch_logs()
        steps.run_pipeline(pipeline, until_caught_up=True, source=source.params, spark=spark)
        compared = steps.verify_tables(pipeline, source=source.params, spark=spark).tables
        return {one.table: (one.equal, one.quarantined_keys) for one in compared}

    source.run_sql("UPDATE items SET n = 5 WHERE id = 5")
    assert set(verified().values()) == {(True, 0)}
    source.run_sql(
        "UPDATE items SET n = 1.2345 WHERE id = 1",
        "UPDATE items SET n = 22 WHERE id = 2",
        "INSERT INTO items VALUES (7, 7.7777, NULL, 'n7')",
        "UPDATE items SET n = 4.4444 WHERE id = 4",
        "UPDATE places SET n = 1.2345 WHERE id = 1",
        "UPDATE places SET id = 20 WHERE id = 2",
    )
    assert verified() == {"SHOP.ITEMS": (True, 3), "SHOP.PLACES": (True, 1)}

    # All columns are logged, so these make the keys right. Another row comes to the key of PLACES that was wrong.
    source.run_sql(
        "UPDATE items SET n = 11, note = 'one' WHERE id = 1",
        "DELETE FROM items WHERE id = 7",
        "DELETE FROM items WHERE id = 4",
        "INSERT INTO items VALUES (4, 4, NULL, 'new')",
        "UPDATE places SET n = 30, id = 30 WHERE id = 1",
        "UPDATE places SET id = 1 WHERE id = 3",
        "UPDATE places SET note = 'came' WHERE id = 1",
    )
    assert verified() == {"SHOP.ITEMS": (True, 0), "SHOP.PLACES": (True, 0)}
    history = spark.read.format("delta").load(pipeline.history_target(pipeline.tables[0].id)).filter("_epoch = 1")
    rows = history.filter("_note IS NOT NULL AND ID IS NOT NULL").orderBy("ID", "_commit_scn", "_seq").collect()
    assert [(int(row["ID"]), row["_op"], row["_image"], row["N"], row["NOTE"]) for row in rows] == [
        (1, "update", "before", 1, "n1"), (1, "update", "after", 11, "one"), (4, "delete", "before", 4, "n4"),
        (7, "delete", "before", None, None),
    ]  # fmt: skip
