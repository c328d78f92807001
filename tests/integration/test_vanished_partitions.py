"""Rows of partitions that came and went between two readings of the dictionary. Without Spark and Delta."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
import yaml
from typer.testing import CliRunner

from redolake import steps
from redolake.cli import app
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError, NotReadableAsOf, RedoLost
from redolake.source import open_source, read_current_scn
from redolake.steps.ranges import touched_keys
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.references.plain_lake import PlainLake

NO_SPARK = "no Spark"
BY_K = "PARTITION BY RANGE (k) INTERVAL (100) (PARTITION p1 VALUES LESS THAN (100)) ENABLE ROW MOVEMENT"
INTO_NEW = ("UPDATE {t} SET k = 110 WHERE id = 1", "INSERT INTO {t} (id, k, a) VALUES (3, 120, 'new')")
# Each makes a partition, changes rows in it, and ends it.
MERGED = (*INTO_NEW, "ALTER TABLE {t} MERGE PARTITIONS p1, {made} INTO PARTITION pm")
SPLIT = (*INTO_NEW, "ALTER TABLE {t} SPLIT PARTITION {made} AT (115) INTO (PARTITION low, PARTITION high)")
ENDS = {
    "merged": MERGED,
    "split": SPLIT,
    "split, changed and merged": (
        *SPLIT,
        "INSERT INTO {t} (id, k, a) VALUES (4, 111, 'between')",
        "ALTER TABLE {t} MERGE PARTITIONS low, high INTO PARTITION all_",
    ),
    "dropped": (*INTO_NEW, "ALTER TABLE {t} DROP PARTITION {made}"),
    "purged with its table": (*INTO_NEW, "DROP TABLE {t} PURGE"),
    "dropped with its table": (*INTO_NEW, "DROP TABLE {t}"),
}  # fmt: skip
BUILD = "BEGIN DBMS_LOGMNR_D.BUILD(OPTIONS => DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;"
KEEPS = {"on_ddl": {"drop_partition": "keep", "drop_table": "keep"}}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path) as opened:
        yield opened


def created(name: str, partitions: str = "", more: str = "") -> tuple[str, str]:
    return (
        f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, k NUMBER(9), a VARCHAR2(30){more}) {partitions}",
        f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )


def loaded(shop: Shop, of_t: str = "", names: Sequence[str] = ("t",), **settings: Any) -> Pipeline:
    """Return a pipeline with partitioned tables and a plain one, loaded and caught up."""
    for name, partitions, more in (*((name, BY_K, of_t) for name in names), ("plain", "", "")):
        rows = (f"INSERT INTO {name} (id, k, a) VALUES ({n}, {n}, 'old')" for n in (1, 2))
        shop.run_sql(*created(name, partitions, more), *rows)
    tables = [f"SHOP.{name.upper()}" for name in (*names, "plain")]
    pipeline = shop.pipeline(**{"tables": tables, **settings})
    steps.take_snapshot(pipeline, source=shop.params, spark=NO_SPARK)
    caught_up(shop, pipeline, NO_SPARK)
    return pipeline


def run(shop: Shop, table: str, statements: tuple[str, ...]) -> None:
    for statement in statements:
        made = newest_partition(shop, table) if "{made}" in statement else ""
        shop.run_sql(statement.format(t=table, T=table.upper(), made=made))


def newest_partition(shop: Shop, table: str) -> str:
    return sorted_partitions(shop, table)[-1]


def sorted_partitions(shop: Shop, table: str) -> list[str]:
    query = "SELECT partition_name FROM user_tab_partitions WHERE table_name = :1 ORDER BY partition_position"
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute(query, [table.upper()])
        return [str(name) for (name,) in cursor.fetchall()]


def landed_to(pipeline: Pipeline) -> int:
    return int(steps.read_status(pipeline).next_start_scn or 0)


def current_scn(shop: Shop) -> int:
    with open_source(shop.params) as source:
        return int(read_current_scn(source))


def held(pipeline: Pipeline) -> dict[str, str]:
    return {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.error}


def rows_of_source(shop: Shop, table: str) -> dict[int, tuple[Any, ...]]:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id, k, a FROM {table}")
        return {key: (str(k), a) for key, k, a in cursor.fetchall()}


def rows(lake: PlainLake, pipeline: Pipeline, name: str) -> dict[int, tuple[Any, ...]]:
    return {int(key): (str(k), a) for key, k, a, *_ in lake.tables[f"{pipeline.lake}/shop/{name}"].rows.values()}


@pytest.mark.parametrize("how", ENDS)
def test_rows_of_a_partition_that_no_reading_knows_hold_the_table_that_may_own_them(
    shop: Shop, lake: PlainLake, how: str
) -> None:
    pipeline = loaded(shop, **KEEPS)
    run(shop, "t", ENDS[how])
    shop.run_sql("INSERT INTO plain VALUES (3, 3, 'after')")
    caught_up(shop, pipeline, NO_SPARK)
    assert list(held(pipeline)) == ["SHOP.T"]
    assert "no reading of the dictionary knows" in held(pipeline)["SHOP.T"]
    assert rows(lake, pipeline, "t") == {1: ("1", "old"), 2: ("2", "old")}
    assert 3 in rows(lake, pipeline, "plain")
    if "table" in how:
        return

    steps.take_snapshot(pipeline, ["SHOP.T"], replace=True, source=shop.params, spark=NO_SPARK)
    shop.run_sql("INSERT INTO t VALUES (9, 9, 'later')")
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    assert rows(lake, pipeline, "t") == rows_of_source(shop, "t")


def test_a_table_whose_partition_ended_after_the_window_of_its_rows_is_held(shop: Shop, lake: PlainLake) -> None:
    """While capture stands still, the redo of rows and DDL is archived; one window ends between them."""
    pipeline = loaded(shop, window={"max_bytes": "1KiB", "slice_bytes": "1KiB"})
    run(shop, "t", INTO_NEW)
    shop.switch_logs()
    run(shop, "t", MERGED[-1:])
    caught_up(shop, pipeline, NO_SPARK)
    assert list(held(pipeline)) == ["SHOP.T"]
    assert rows(lake, pipeline, "t") == {1: ("1", "old"), 2: ("2", "old")}


def test_tables_that_are_not_captured_come_and_go_without_a_hold(shop: Shop, lake: PlainLake) -> None:
    endings = {"purged": "DROP TABLE {t} PURGE", "dropped": "DROP TABLE {t}", "emptied": "TRUNCATE TABLE {t}"}
    inserted = "INSERT INTO {t} VALUES (1, 1, 'staged')"
    pipeline = loaded(shop)
    for number, (name, ending) in enumerate(endings.items(), 3):
        run(shop, name, (*created(name), inserted, f"INSERT INTO t VALUES ({number}, 3, 'beside')", ending))
    # Once more, the CREATE in an earlier window than the rows.
    del endings["emptied"]
    for statements in ([created(name) for name in endings], [(inserted,)] * 2, [(ending,) for ending in endings.values()]):
        for name, of_it in zip(endings, statements, strict=True):
            run(shop, name, of_it)
        shop.switch_logs()
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    assert rows(lake, pipeline, "t") == rows_of_source(shop, "t")


def test_partitions_of_a_table_that_is_not_captured_come_and_go_every_night(shop: Shop, lake: PlainLake) -> None:
    """No DDL of the captured table ended a partition meanwhile. Once that redo is landed, the table goes on by itself."""
    shop.run_sql(*created("stage", BY_K), "INSERT INTO stage VALUES (1, 5, 'staged')")
    pipeline = loaded(shop)
    for night in (1, 2, 3):
        shop.run_sql(f"INSERT INTO stage VALUES ({night}0, {night}10, 'new')", f"INSERT INTO t VALUES ({night}0, 5, 'beside')")
        first, last = sorted_partitions(shop, "stage")
        shop.run_sql(f"ALTER TABLE stage MERGE PARTITIONS {first}, {last} INTO PARTITION pm{night}")
        caught_up(shop, pipeline, NO_SPARK)
        assert held(pipeline) == {}
        assert night == 1 or 10 * (night - 1) in rows(lake, pipeline, "t"), "that of the night before, at the latest"
    shop.run_sql("ALTER TABLE t ADD (b NUMBER(9))", "INSERT INTO plain VALUES (3, 3, 'after')")
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    assert rows(lake, pipeline, "t") == rows_of_source(shop, "t")


def test_a_table_with_such_a_ddl_of_its_own_stays_held_for_anothers_rows(shop: Shop, lake: PlainLake) -> None:
    shop.run_sql(*created("stage", BY_K), "INSERT INTO stage VALUES (1, 5, 'staged')")
    pipeline = loaded(shop, **KEEPS)
    shop.run_sql("INSERT INTO t VALUES (3, 150, 'new')")
    caught_up(shop, pipeline, NO_SPARK)
    run(shop, "stage", MERGED)
    run(shop, "t", ("ALTER TABLE {t} DROP PARTITION {made}",))
    caught_up(shop, pipeline, NO_SPARK)
    assert list(held(pipeline)) == ["SHOP.T"]
    assert "no reading of the dictionary knows" in held(pipeline)["SHOP.T"]


def test_rows_of_anothers_unknown_partition_hold_no_table_that_cannot_own_them(shop: Shop, lake: PlainLake) -> None:
    """A table without partitions never owns them, nor does one that a reading describes without the object in between."""
    pipeline = loaded(shop, tables=["SHOP.PLAIN"])
    shop.run_sql(*created("stage", BY_K), "INSERT INTO stage VALUES (1, 5, 'staged')")
    run(shop, "stage", MERGED)
    shop.run_sql("DROP TABLE stage", "INSERT INTO plain VALUES (3, 3, 'after')")
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    assert rows(lake, pipeline, "plain") == rows_of_source(shop, "plain")


def test_a_dropped_table_that_is_kept_is_not_held_for_what_comes_after_its_drop(shop: Shop, lake: PlainLake) -> None:
    pipeline = loaded(shop, **KEEPS)
    shop.run_sql("DROP TABLE t")
    caught_up(shop, pipeline, NO_SPARK)
    shop.run_sql(*created("stage", BY_K), "INSERT INTO stage VALUES (1, 5, 'staged')")
    run(shop, "stage", MERGED)
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}


def test_a_held_table_is_read_again_where_the_policy_says_so(shop: Shop, lake: PlainLake) -> None:
    pipeline = loaded(shop, on_ddl={"unknown_ddl": "resnapshot"})
    run(shop, "t", MERGED)
    caught_up(shop, pipeline, NO_SPARK)
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    assert rows(lake, pipeline, "t") == rows_of_source(shop, "t")


# Each ends a partition of `t` with changed rows in a way of its own.
OTHER_ENDS = {
    "renamed away, ended, renamed back": (*INTO_NEW, "RENAME t TO gone", MERGED[-1].replace("{t}", "gone"), "RENAME gone TO t"),
    "made and ended under another name": (
        "RENAME t TO gone",
        *(one.replace("{t}", "gone") for one in MERGED),
        "RENAME gone TO t",
    ),
    "dropped and taken back": (*MERGED, "DROP TABLE t", "FLASHBACK TABLE t TO BEFORE DROP"),
    "dropped and created again": (*MERGED, "DROP TABLE t PURGE", *created("t", BY_K), "INSERT INTO t VALUES (1, 5, 'again')"),
    "exchanged and dropped": (
        *INTO_NEW,
        *created("stage"),
        "ALTER TABLE t EXCHANGE PARTITION {made} WITH TABLE stage",
        "ALTER TABLE t DROP PARTITION {made}",
        "DROP TABLE stage PURGE",
    ),
    "redefined": (
        *INTO_NEW,
        *created("interim", BY_K),
        "BEGIN DBMS_REDEFINITION.START_REDEF_TABLE('SHOP', 'T', 'INTERIM'); END;",
        "INSERT INTO t VALUES (5, 130, 'meanwhile')",
        "BEGIN DBMS_REDEFINITION.FINISH_REDEF_TABLE('SHOP', 'T', 'INTERIM'); END;",
        "DROP TABLE interim PURGE",
    ),
    "truncated, then merged": (*INTO_NEW, "ALTER TABLE t TRUNCATE PARTITION {made}", MERGED[-1]),
    "moved, then merged": (*INTO_NEW, "ALTER TABLE t MOVE PARTITION {made} UPDATE INDEXES", MERGED[-1]),
}  # fmt: skip


@pytest.mark.parametrize("dictionary", ["online", "redo"])
@pytest.mark.parametrize("how", OTHER_ENDS)
def test_no_other_end_of_a_partition_passes_over_its_rows(shop: Shop, lake: PlainLake, how: str, dictionary: str) -> None:
    pipeline = loaded(shop, tables=["SHOP.T*", "SHOP.PLAIN"], **KEEPS, **(built(shop) if dictionary == "redo" else {}))
    for statement in OTHER_ENDS[how]:
        of = "gone" if " gone " in statement and "{made}" in statement else "t"
        run(shop, of, (statement,))
    for _ in range(2):
        caught_up(shop, pipeline, NO_SPARK)
    assert "SHOP.PLAIN" not in held(pipeline)
    assert "SHOP.T" in held(pipeline) or rows(lake, pipeline, "t") == rows_of_source(shop, "t")


def test_partitions_by_reference_to_a_table_that_is_not_captured_end_with_it(shop: Shop, lake: PlainLake) -> None:
    """The only DDL row is that of the parent."""
    parent = f"CREATE TABLE parent (id NUMBER(9) PRIMARY KEY, k NUMBER(9)) {BY_K}"
    key = "CONSTRAINT of_parent FOREIGN KEY (k) REFERENCES parent (id)"
    child = f"CREATE TABLE t (id NUMBER(9) PRIMARY KEY, k NUMBER(9) NOT NULL, a VARCHAR2(30), {key})"
    shop.run_sql(
        parent,
        f"{child} PARTITION BY REFERENCE (of_parent) ENABLE ROW MOVEMENT",
        "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO parent VALUES (1, 5)",
        "INSERT INTO t VALUES (1, 1, 'old')",
    )
    pipeline = shop.pipeline(tables=["SHOP.T"])
    steps.take_snapshot(pipeline, source=shop.params, spark=NO_SPARK)
    caught_up(shop, pipeline, NO_SPARK)
    shop.run_sql("INSERT INTO parent VALUES (2, 150)", "UPDATE t SET k = 2 WHERE id = 1", "INSERT INTO t VALUES (2, 2, 'new')")
    run(shop, "parent", MERGED[-1:])
    caught_up(shop, pipeline, NO_SPARK)
    assert "no reading of the dictionary knows" in held(pipeline)["SHOP.T"]


def test_hash_partitions_that_are_added_and_coalesced_again_hold_the_table(shop: Shop, lake: PlainLake) -> None:
    shop.run_sql(*created("t", "PARTITION BY HASH (k) PARTITIONS 2"), "INSERT INTO t VALUES (1, 1, 'old')")
    pipeline = shop.pipeline(tables=["SHOP.T"])
    steps.take_snapshot(pipeline, source=shop.params, spark=NO_SPARK)
    caught_up(shop, pipeline, NO_SPARK)
    added = (f"INSERT INTO t VALUES ({n}, {n}, 'new')" for n in range(10, 30))
    shop.run_sql("ALTER TABLE t ADD PARTITION", *added, "ALTER TABLE t COALESCE PARTITION")
    for _ in range(2):
        caught_up(shop, pipeline, NO_SPARK)
    assert "no reading of the dictionary knows" in held(pipeline)["SHOP.T"]


def test_no_copy_or_history_is_made_over_such_rows(shop: Shop, lake: PlainLake) -> None:
    pipeline = loaded(shop, history="changes")
    first = current_scn(shop)
    run(shop, "t", MERGED)
    caught_up(shop, pipeline, NO_SPARK)
    at = current_scn(shop)
    steps.take_snapshot(pipeline, ["SHOP.T"], replace=True, source=shop.params, spark=NO_SPARK)
    shop.run_sql("INSERT INTO t VALUES (9, 9, 'later')")
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    with pytest.raises((NotReadableAsOf, ConfigurationError)):
        steps.copy_tables(pipeline, first, at, execute=True, spark=NO_SPARK)
    with pytest.raises((NotReadableAsOf, ConfigurationError)):
        steps.rebuild_history(pipeline, "SHOP.T", str(first))


ISSUE = (
    "CREATE TABLE t (id NUMBER(9) PRIMARY KEY, k NUMBER(9), a VARCHAR2(30)) PARTITION BY RANGE (k) INTERVAL (100) "
    "(PARTITION p1 VALUES LESS THAN (100)) ENABLE ROW MOVEMENT",
    "ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    "INSERT INTO t VALUES (1, 5, 'old')",
)


@pytest.fixture
def typed(shop: Shop, lake: PlainLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Return what runs a command as somebody types it, over the table of the issue."""
    user = shop.oracle.capture_user
    address = f"oracle://{user.replace('#', '%23')}:{shop.oracle.passwords[user]}@{shop.oracle.root_dsn}"
    monkeypatch.setenv("AIRFLOW_CONN_ORACLE_SHOP", address)
    shop.run_sql(*ISSUE)
    body = shop.pipeline(tables=["SHOP.T"]).model_dump(mode="json", exclude={"name", "matches"}, exclude_unset=True)
    (tmp_path / "pipelines.yml").write_text(yaml.safe_dump({"pipelines": {"shop": body}}))
    monkeypatch.chdir(tmp_path)

    def run_command(*words: str) -> tuple[int, str]:
        done = CliRunner(env={"COLUMNS": "300"}).invoke(app, words)
        assert done.exception is None or isinstance(done.exception, SystemExit), (words, done.exception)
        return done.exit_code, " ".join(done.output.split())

    return run_command


@pytest.mark.parametrize("stands_still", [False, True])
def test_the_commands_never_show_a_table_as_right_that_has_lost_such_a_row(
    shop: Shop, lake: PlainLake, typed: Callable[..., tuple[int, str]], stands_still: bool
) -> None:
    """Oracle makes a partition for the row, and a job merges it: within one window, or while capture stands still."""
    assert typed("snapshot")[0] == 0
    shop.switch_logs()
    assert typed("run", "--until-caught-up")[0] == 0
    shop.run_sql("UPDATE t SET k = 110 WHERE id = 1")
    for _ in range(3 if stands_still else 0):
        shop.switch_logs()
    run(shop, "t", MERGED[-1:])
    shop.switch_logs()

    ran, status = typed("run", "--until-caught-up")[1], typed("status")[1]
    assert "SHOP.T" in ran
    assert "held" in status
    assert "no reading of the dictionary knows" in status
    assert "redolake snapshot SHOP.T --replace" in status
    assert typed("doctor")[0] == 0, "the source is right"
    assert typed("verify")[0] != 0
    pipeline = shop.pipeline(tables=["SHOP.T"])
    assert rows(lake, pipeline, "t") == {1: ("5", "old")}, "the row that Oracle has is not deleted"
    assert typed("resume", "SHOP.T")[0] == 0
    typed("run")
    assert "held" in typed("status")[1], "to resume it stops at the same row"

    assert typed("snapshot", "SHOP.T", "--replace")[0] == 0
    shop.run_sql("UPDATE t SET a = 'after' WHERE id = 1")
    shop.switch_logs()
    assert typed("run", "--until-caught-up")[0] == 0
    assert rows(lake, pipeline, "t") == rows_of_source(shop, "t") == {1: ("110", "after")}
    assert "held" not in typed("status")[1]


def built(shop: Shop) -> dict[str, Any]:
    shop.run_sql(BUILD, user="SYS")
    shop.switch_logs()
    shop.switch_logs()
    return {"source": {"connection": "oracle_shop", "container": "FREEPDB1", "dictionary": "redo"}}


class TakesName(NamedTuple):
    """Gives another table the name of T, which T has no more; what the hold says of it, and the other table's partitions."""

    says: str
    statements: tuple[str, ...]
    partitions: str = ""


RENAMED, STRANGE, LEFT = "another table was renamed to the name of the table", "but the statement names", "was renamed to SHOP."
AGAIN, IN_DICTIONARY = "a table of this name was created again", "is another object in the dictionary"
TAKES_NAME = {
    "by RENAME": TakesName(RENAMED, ("DROP TABLE {t}", "RENAME {t}_new TO {t}")),
    "by RENAME, partitioned": TakesName(RENAMED, ("DROP TABLE {t}", "RENAME {t}_new TO {t}"), BY_K),
    "by its owner's name": TakesName(STRANGE, ("DROP TABLE {t}", "ALTER TABLE shop.{t}_new RENAME TO {t}")),
    "by its owner's name, partitioned": TakesName(STRANGE, ("DROP TABLE {t}", "ALTER TABLE shop.{t}_new RENAME TO {t}"), BY_K),
    "taken from the recycle bin": TakesName(
        "another dropped table was taken out of the recycle bin under the name of the table",
        ("DROP TABLE {t}_new", "DROP TABLE {t}", "FLASHBACK TABLE {t}_new TO BEFORE DROP RENAME TO {t}"),
    ),
    "and the old one is dropped later": TakesName(
        LEFT, ("RENAME {t} TO {t}_old", "RENAME {t}_new TO {t}", "DROP TABLE {t}_old PURGE")
    ),
    "and the old one stays": TakesName(LEFT, ("RENAME {t} TO {t}_old", "ALTER TABLE {t}_new RENAME TO {t}")),
    "created as a copy": TakesName(AGAIN, ("DROP TABLE {t} PURGE", *created("{t}"), "INSERT INTO {t} SELECT * FROM {t}_new")),
    "by way of a third name": TakesName(
        STRANGE, ("DROP TABLE {t}", "RENAME {t}_new TO {t}_third", 'ALTER TABLE "{T}_THIRD" RENAME TO "{T}"')
    ),
}


@pytest.mark.parametrize("dictionary", ["online", "redo"])
def test_no_way_to_get_the_name_of_a_captured_table_is_seen_a_window_late(shop: Shop, lake: PlainLake, dictionary: str) -> None:
    """A table for each way. What holds it names its own statement, or its own objects, so no way hides behind another one."""
    ways = {f"t{number}": way for number, way in enumerate(TAKES_NAME.values())}
    tables = [f"SHOP.{name.upper()}" for name in ways]
    pipeline = loaded(shop, names=[*ways], **KEEPS, **(built(shop) if dictionary == "redo" else {}))
    for name, way in ways.items():
        copied = "INSERT INTO {t}_new SELECT * FROM {t} WHERE id = 2"
        new = "INSERT INTO {t} VALUES (8, 8, 'of the new one')"
        run(shop, name, (*created("{t}_new", way.partitions), copied, *way.statements, new))
    caught_up(shop, pipeline, NO_SPARK)
    why = held(pipeline)
    assert sorted(why) == tables
    for (name, way), text in zip(ways.items(), (why[table] for table in tables), strict=True):
        assert (AGAIN if way.says == AGAIN else IN_DICTIONARY) in text if dictionary == "redo" else way.says in text
        assert re.search(rf"\b{name}(_new|_old|_third)?\b", text, re.IGNORECASE), text
    assert {name: rows(lake, pipeline, name).keys() for name in ways} == {name: {1, 2} for name in ways}
    steps.take_snapshot(pipeline, tables, replace=True, source=shop.params, spark=NO_SPARK)
    for name in ways:
        shop.run_sql(f"INSERT INTO {name} VALUES (9, 9, 'later')")
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    assert {name: rows(lake, pipeline, name) for name in ways} == {name: rows_of_source(shop, name) for name in ways}


WAYS: dict[str, Any] = {
    "a dictionary in the redo": built,
    "history": lambda _: {"history": "changes"},
    "key: rowid": lambda _: {"tables": [{"table": "SHOP.T", "key": "rowid"}, "SHOP.PLAIN"]},
    "large_objects: reread": lambda _: {"large_objects": "reread", "tables": ["SHOP.T", "SHOP.PLAIN"]},
    "unsupported_columns: reread": lambda _: {"unsupported_columns": "reread"},
    "small windows": lambda _: {"window": {"max_bytes": "1KiB", "slice_bytes": "1KiB"}},
}


@pytest.mark.parametrize("how", ["merged", "dropped"])
@pytest.mark.parametrize("way", WAYS)
def test_no_other_way_to_capture_passes_over_such_rows(shop: Shop, lake: PlainLake, way: str, how: str) -> None:
    lake.replays = "rowid" not in way
    more = ", c CLOB" if "large" in way else ", g JSON" if "unsup" in way else ""
    pipeline = loaded(shop, of_t=more, **{**KEEPS, **WAYS[way](shop)})
    run(shop, "t", ENDS[how])
    caught_up(shop, pipeline, NO_SPARK)
    assert "SHOP.PLAIN" not in held(pipeline)
    if list(held(pipeline)) != ["SHOP.T"]:
        assert "rowid" not in way
        assert rows(lake, pipeline, "t") == rows_of_source(shop, "t")


@pytest.mark.parametrize("how", ["merged", "dropped"])
def test_a_range_with_such_rows_is_refused(shop: Shop, lake: PlainLake, how: str) -> None:
    pipeline = loaded(shop, **KEEPS)
    start = landed_to(pipeline)
    run(shop, "t", ENDS[how])
    caught_up(shop, pipeline, NO_SPARK)
    steps.take_snapshot(pipeline, ["SHOP.T"], replace=True, source=shop.params, spark=NO_SPARK)
    shop.run_sql("INSERT INTO t VALUES (9, 9, 'later')")
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    where = (pipeline, start, landed_to(pipeline), ["SHOP.T"])
    for from_logs in (None, steps.LogsToRead((), shop.params)):
        how_to: dict[str, Any] = {"from_logs": from_logs, "source": shop.params, "spark": NO_SPARK, "execute": True}
        for target in ("shadow", "changes"):
            with pytest.raises(ConfigurationError, match="no reading of the dictionary knows"):
                steps.run_backfill(*where, target=target, **how_to)
        found = steps.backfill_live(*where, reason="test", **how_to)
        assert "no reading of the dictionary knows" in found.tables[0].why_not


@pytest.mark.parametrize("how", ["merged", "split", "dropped"])
def test_a_range_is_refused_whose_transactions_changed_such_rows_before_it(shop: Shop, lake: PlainLake, how: str) -> None:
    pipeline = loaded(shop, window={"max_bytes": "1KiB", "slice_bytes": "1KiB"}, **KEEPS)
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for statement in (*INTO_NEW, "INSERT INTO plain (id, k, a) VALUES (3, 120, 'new')"):
            cursor.execute(statement.format(t="t"))
        shop.switch_logs()
        shop.run_sql("INSERT INTO plain VALUES (4, 4, 'between')")
        shop.switch_logs()
        start = current_scn(shop)
        connection.commit()
    run(shop, "t", ENDS[how][-1:])
    caught_up(shop, pipeline, NO_SPARK)
    steps.take_snapshot(pipeline, ["SHOP.T"], replace=True, source=shop.params, spark=NO_SPARK)
    shop.run_sql("INSERT INTO t VALUES (9, 9, 'later')")
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    with_: dict[str, Any] = {"source": shop.params, "spark": NO_SPARK, "reason": "test"}
    for execute, from_logs in ((False, None), (True, None), (True, steps.LogsToRead((), shop.params))):
        found = steps.backfill_live(pipeline, start, landed_to(pipeline), execute=execute, from_logs=from_logs, **with_)
        of_t, plain = sorted(found.tables, key=lambda one: one.table != "SHOP.T")
        assert "no reading of the dictionary knows" in of_t.why_not
        assert (plain.why_not, plain.rows) == ("", 1)
    with pytest.raises(ConfigurationError, match="no reading of the dictionary knows"):
        steps.run_backfill(pipeline, start, landed_to(pipeline), ["SHOP.T"], execute=True, source=shop.params, spark=NO_SPARK)


@pytest.mark.parametrize("dictionary", ["online", "redo"])
@pytest.mark.parametrize("xid", ["0.0.0", "7.7.4294967295"])
def test_a_change_of_an_unknown_transaction_before_a_range_is_read_again_or_refuses_it(
    shop: Shop, lake: PlainLake, monkeypatch: pytest.MonkeyPatch, xid: str, dictionary: str
) -> None:
    """LogMiner has not shown the xid of the first of two changes that commit together in the range."""
    for statement in (*created("plain"), "INSERT INTO plain (id, k, a) VALUES (1, 1, 'old')"):
        shop.run_sql(statement)
    pipeline = shop.pipeline(tables=["SHOP.PLAIN"])
    pipeline = pipeline.model_copy(update={"source": pipeline.source.model_copy(update={"dictionary": dictionary})})
    if dictionary == "redo":
        shop.run_sql(BUILD, *["ALTER SYSTEM ARCHIVE LOG CURRENT"] * 2, user="SYS")
    steps.take_snapshot(pipeline, source=shop.params, spark=NO_SPARK)
    caught_up(shop, pipeline, NO_SPARK)
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO plain VALUES (3, 3, 'first')")
        cursor.execute("INSERT INTO plain VALUES (4, 4, 'second')")
        caught_up(shop, pipeline, NO_SPARK)
        start = landed_to(pipeline)
        connection.commit()
    caught_up(shop, pipeline, NO_SPARK)

    def forgotten(*asked: Any) -> Iterator[pa.RecordBatch]:
        for batch in columns_of(*asked):
            rows = [row | (unknown if "'first'" in str(row.get("sql_redo")) else {}) for row in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, batch.schema)

    columns_of, unknown = touched_keys.columns_of, {"xid": xid, "pxid": xid}
    monkeypatch.setattr(touched_keys, "columns_of", forgotten)
    for from_logs in (None, steps.LogsToRead((), shop.params)):
        with_: dict[str, Any] = {"source": shop.params, "spark": NO_SPARK, "reason": "test", "from_logs": from_logs}
        (found,) = steps.backfill_live(pipeline, start, landed_to(pipeline), execute=from_logs is not None, **with_).tables
        assert (found.changes, found.rows, found.why_not) == (2, 2, "")
        for target in ("shadow", "changes"):  # which have no older state to be read again
            how: dict[str, Any] = {"target": target, "from_logs": from_logs, "source": shop.params, "dry_run": False}
            with pytest.raises(ConfigurationError, match="perhaps of one that commits in the range"):
                steps.prepare_backfill(pipeline, start, landed_to(pipeline), ["SHOP.PLAIN"], **how)
    shop.run_sql("INSERT INTO plain VALUES (5, 5, 'later')")
    end = landed_to(pipeline)
    caught_up(shop, pipeline, NO_SPARK)
    assert steps.prepare_backfill(pipeline, end, landed_to(pipeline), ["SHOP.PLAIN"], source=shop.params).tables


@pytest.mark.parametrize("is_ended_later", [False, True])
def test_a_gap_with_such_rows_is_not_closed(shop: Shop, lake: PlainLake, is_ended_later: bool) -> None:
    pipeline = loaded(shop)
    rows_, ddl = MERGED[:-1], MERGED[-1:]
    run(shop, "t", rows_ if is_ended_later else (*rows_, *ddl))
    shop.switch_logs()
    shop.oracle.faults.purge_logs()
    run(shop, "t", ddl if is_ended_later else ())
    shop.run_sql("INSERT INTO t VALUES (9, 9, 'later')")
    shop.switch_logs()
    with pytest.raises(RedoLost):
        steps.plan_next_window(Run(pipeline, shop.params))
    steps.recover_redo_loss(pipeline, "gap", source=shop.params, spark=NO_SPARK, by="test", reason="lost")
    caught_up(shop, pipeline, NO_SPARK)
    shop.oracle.faults.restore_logs(folder=str(shop.folder / "restored"))
    closed = steps.close_gap(pipeline, source=shop.params, spark=NO_SPARK, execute=True, reason="found", by="test")
    why = {one.table: one.why_not for one in closed.tables}
    assert not closed.done
    assert ("no reading of the dictionary" if is_ended_later else "a DDL at SCN") in why["SHOP.T"]
