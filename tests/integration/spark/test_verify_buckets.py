"""Tables are compared by the hashes of buckets. The verdict is that of a comparison of all rows, whatever the values are."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.cockpit import read_overview
from redolake.context import Run, ledger_url, now
from redolake.errors import TableSetBack, Terminal
from redolake.host import crash
from redolake.records.proofs import TableProof
from redolake.steps.proof import hash_chunks
from redolake.steps.proof.verify import last_proofs
from redolake.values.table import TableId
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.hunts import EXAMPLES
from tests.integration.test_chunks import large
from tests.integration.test_pipeline import caught_up, parts_pipeline

pytestmark = pytest.mark.spark

TABLES = ("WORDS", "STORIES", "EVENTS", "DOCS", "CLIENTS")
ALL_TABLES = (*TABLES, "PERSONS", "VISITS")  # the lake's key of one is computed, and columns of the other, which has none
BY_ROWS = ("SHOP.PERSONS", "SHOP.VISITS")
HOSTILE = (
    "CREATE TABLE words (code VARCHAR2(20), day DATE, text VARCHAR2(4000), wide NVARCHAR2(40), n NUMBER, x BINARY_DOUBLE)",
    "CREATE UNIQUE INDEX words_u ON words (code, day)",
    "INSERT INTO words VALUES ('a', DATE '2026-01-01', RPAD('long', 1900, 'ü'), UNISTR('\\D83D\\DE00 '), 1e40, 0)",
    "INSERT INTO words VALUES ('a ', DATE '2026-01-01', 'trailing  ', N'|', -.5, BINARY_DOUBLE_NAN)",
    "INSERT INTO words VALUES ('A', DATE '2026-01-01', 'trailing', N'||', 100, -BINARY_DOUBLE_INFINITY)",
    "INSERT INTO words VALUES (NULL, DATE '2026-01-01', 'x|y', N'z', 0, 1)",
    "INSERT INTO words VALUES ('x', NULL, 'x|y', N'z', 0, 1)",
    *["INSERT INTO words VALUES (NULL, NULL, 'twice', NULL, NULL, NULL)"] * 2,
    "INSERT INTO words VALUES (NULL, NULL, NULL, NULL, NULL, NULL)",
    "ALTER TABLE words ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    "CREATE TABLE events (at TIMESTAMP, what VARCHAR2(30), n NUMBER(5,2))",
    "ALTER TABLE events ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    *(f"INSERT INTO events VALUES (TIMESTAMP '2026-01-01 00:00:00.5', 'event {n % 7}', {n % 3})" for n in range(40)),
    "CREATE TABLE stories (id NUMBER(9) PRIMARY KEY, text VARCHAR2(32767), scan RAW(32767))",
    "ALTER TABLE stories ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    "INSERT INTO stories VALUES (1, RPAD('long', 15000, 'ü'), UTL_RAW.COPIES(HEXTORAW('00FF'), 9000))",
    "INSERT INTO stories VALUES (2, 'short ', NULL)",
    "CREATE TABLE docs (id NUMBER(9) PRIMARY KEY, title VARCHAR2(30), body CLOB, waits INTERVAL DAY TO SECOND)",
    "ALTER TABLE docs ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    *(f"INSERT INTO docs VALUES ({n}, 'title {n}', 'body {n}', INTERVAL '{n}' HOUR)" for n in range(30)),
    "CREATE TABLE clients (id NUMBER(9) PRIMARY KEY, name VARCHAR2(40), ssn VARCHAR2(20), region VARCHAR2(2), amount "
    "NUMBER(9,2), note VARCHAR2(40), born DATE)",
    "ALTER TABLE clients ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    *(
        f"INSERT INTO clients VALUES ({n}, 'name {n}', 'ssn-{n}', '{('EU', 'US', '')[n % 3]}', {n}.5, 'note {n} ', SYSDATE)"
        for n in range(40)
    ),
    "CREATE TABLE persons (ssn VARCHAR2(20), n NUMBER(5), text VARCHAR2(40), CONSTRAINT persons_pk PRIMARY KEY (ssn, n))",
    "ALTER TABLE persons ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    *(f"INSERT INTO persons VALUES ('ssn-{n // 2}', {n}, 'text {n}')" for n in range(30)),
    "CREATE TABLE visits (page VARCHAR2(40), seconds NUMBER(9), ssn VARCHAR2(20))",
    "ALTER TABLE visits ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    *(f"INSERT INTO visits VALUES ('page {n // 4}', {n // 2}, 'ssn-{n // 3}')" for n in range(30)),
)
MASK_KEY = {"mask_key": {"variable": "REDOLAKE_MASK_KEY"}}
ENTRIES = [
    {"table": "SHOP.WORDS", "key": ["CODE", "DAY"], "columns": {"N": "string"}},
    {"table": "SHOP.STORIES", "unsupported_columns": "reread"},
    {"table": "SHOP.EVENTS", "key": "append"},
    {"table": "SHOP.DOCS", "large_objects": "reread"},
    {
        "table": "SHOP.CLIENTS",
        "rename": {"NAME": "customer"},
        "mask": {"SSN": "hash"},
        "add": {"label": {"expression": "concat(name, '/', region)", "type": "string"}},
        "columns": {"AMOUNT": {"expression": "amount * 100", "type": "bigint"}},
        "where": "region = 'EU' OR `ID` > 20",
        **MASK_KEY,
    },
    {"table": "SHOP.PERSONS", "mask": {"SSN": "hash"}, "rename": {"N": "number"}, **MASK_KEY},
    {
        "table": "SHOP.VISITS",
        "key": "append",
        "mask": {"SSN": "hash"},
        "add": {"label": {"expression": "concat(page, '/', seconds)", "type": "string"}},
        "where": "seconds > 2",
        **MASK_KEY,
    },
]


@pytest.fixture(scope="module")
def loaded(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shop, Any]]:
    with standin(archive_lag_target=0, extended_strings=True) as oracle, pytest.MonkeyPatch.context() as environment:
        environment.setenv("REDOLAKE_MASK_KEY", "a key of masks that nobody guesses")
        shop = Shop(oracle, tmp_path_factory.mktemp("buckets"))
        shop.run_sql(*HOSTILE)
        pipeline = shop.pipeline(tables=ENTRIES)
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        yield shop, pipeline


def compared(loaded: tuple[Shop, Any], spark: Any, method: Any, *tables: str, **more: Any) -> dict[str, TableProof]:
    shop, pipeline = loaded
    found = steps.verify_tables(pipeline, list(tables), source=shop.params, spark=spark, method=method, **more)
    assert not found.not_compared, found.not_compared
    return {one.table: one for one in found.tables}


def test_equal_tables_have_equal_hashes_whatever_their_values_are(loaded: Any, spark: Any) -> None:
    found = compared(loaded, spark, "buckets", *(f"SHOP.{name}" for name in TABLES))

    assert {name: (one.equal, one.method, one.differing_buckets) for name, one in found.items()} == {
        f"SHOP.{name}": (True, "buckets", 0) for name in TABLES
    }
    assert found["SHOP.WORDS"].source_rows_read == 0
    assert found["SHOP.DOCS"].source_rows_read == 30  # large objects and intervals are fetched
    clients = found["SHOP.CLIENTS"]
    assert clients.source_rows == 26  # that pass the filter
    # What the filter, and what the computed columns are made of; Oracle leaves out the other rows.
    assert clients.source_rows_read == 2 * 26


@pytest.mark.parametrize("seed", range(EXAMPLES or 1))
def test_hashes_find_what_a_comparison_of_all_rows_finds_and_a_repair_mends_it(loaded: Any, spark: Any, seed: int) -> None:
    _, pipeline = loaded
    chosen = random.Random(seed)
    for name in ALL_TABLES:
        change_lake(spark, pipeline.target(TableId("SHOP", name)), chosen)
    by_rows, by_buckets = compared(loaded, spark, "rows"), compared(loaded, spark, "buckets")

    assert {name: counts(one) for name, one in by_buckets.items()} == {name: counts(one) for name, one in by_rows.items()}
    assert all(one.method == "buckets" or one.differing_buckets for name, one in by_buckets.items() if name not in BY_ROWS)
    shop, pipeline = loaded
    repaired = [
        steps.repair_table(pipeline, name, reason="changed by hand", source=shop.params, spark=spark)
        for name, one in by_buckets.items()
        if not one.equal
    ]
    assert repaired
    assert all(one.equal for one in repaired), repaired
    assert all(one.equal for one in compared(loaded, spark, "rows").values())


def test_a_sample_of_the_buckets_finds_what_lies_in_them_and_is_no_proof_of_the_table(
    loaded: Any, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "SystemRandom", partial(random.Random, 5))
    _, pipeline = loaded
    target = pipeline.target(TableId("SHOP", "WORDS"))
    whole = compared(loaded, spark, "buckets", "SHOP.WORDS")["SHOP.WORDS"]
    equal = compared(loaded, spark, "buckets", "SHOP.WORDS", sample=0.5)["SHOP.WORDS"]
    spark.sql(f"UPDATE delta.`{target}` SET text = concat(text, '.') WHERE text IS NOT NULL")
    with Run(pipeline) as context:
        before = last_proofs(context.ledger.reading())
        found = compared(loaded, spark, "buckets", "SHOP.WORDS", sample=0.5)["SHOP.WORDS"]
        after = last_proofs(context.ledger.reading())
    spark.sql(f"UPDATE delta.`{target}` SET text = substr(text, 1, length(text) - 1) WHERE text IS NOT NULL")

    assert (equal.equal, equal.buckets, equal.share, equal.method) == (True, 128, 0.5, "buckets")
    assert 0 < equal.source_rows < whole.source_rows
    assert not found.equal
    # A row without a key that differs is missing in the one, and extra in the other.
    assert found.differing_cells + found.missing_rows + found.extra_rows > 0
    assert "of a sample, 50.0% of the buckets" in str(found)
    assert before == after
    assert compared(loaded, spark, "rows", "SHOP.WORDS")["SHOP.WORDS"].equal


def test_text_of_another_character_set_is_converted_to_utf_8_and_hashed(spark: Any, tmp_path: Path) -> None:
    with standin(archive_lag_target=0) as oracle:
        oracle.database.state.pdb_characterset = "WE8MSWIN1252"
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE notes (code VARCHAR2(20) PRIMARY KEY, text VARCHAR2(4000), fixed CHAR(10))",
            "ALTER TABLE notes ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            "INSERT INTO notes VALUES ('é€', RPAD('long', 1300, 'ü€'), 'œ')",
            "INSERT INTO notes VALUES ('e', RPAD('x', 1000, '€'), NULL)",
            "INSERT INTO notes VALUES ('E ', NULL, '')",
        )
        pipeline = shop.pipeline(tables=["SHOP.NOTES"])
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        equal = compared((shop, pipeline), spark, "buckets")["SHOP.NOTES"]
        target = pipeline.target(TableId("SHOP", "NOTES"))
        spark.sql(f"UPDATE delta.`{target}` SET text = concat(substr(text, 1, 1299), 'u') WHERE code = 'é€'")
        found = compared((shop, pipeline), spark, "buckets")["SHOP.NOTES"]

    assert (equal.equal, equal.method, equal.differing_buckets, equal.source_rows_read) == (True, "buckets", 0, 0)
    assert (found.differing_cells, found.source_rows_read) == (1, 1)


def test_where_undo_does_not_last_ranges_of_the_key_are_compared_at_scns_of_their_own(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hash_chunks, "HASHED_IN_A_HURRY", 65536)
    with standin(archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        pipeline = large(shop)
        shop.run_sql("BEGIN DBMS_STATS.GATHER_TABLE_STATS('SHOP', 'PARTS'); END;")
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        begun = steps.read_status(pipeline).tables[0].complete_to_scn

        def too_old(line: Any) -> None:
            """Let apply advance and undo end, before the table is hashed and after two of its ranges are."""
            is_hashed = "hashed" in getattr(line, "work", "") and line.done == 2
            if is_hashed or ("hashing SHOP.PARTS AS OF" in str(line) and not lines):
                shop.run_sql("UPDATE parts SET id = 10000 - id, quantity = -id WHERE MOD(id, 500) = 7")
                caught_up(shop, pipeline, spark)
                shop.oracle.faults.fail_statements(1555, "STANDARD_HASH", 1)
                lines.append(str(line))

        lines: list[str] = []
        found = steps.verify_tables(pipeline, source=shop.params, spark=spark, method="buckets", report=too_old)

    assert not found.not_compared, found.not_compared
    (table,) = found.tables
    assert begun is not None
    assert (table.equal, table.differing_buckets, table.source_rows_read) == (True, 0, 0)
    assert table.scns[0] > begun
    assert len(table.scns) == 2
    assert table.scn == table.scns[-1]
    assert f"AS OF SCNs {table.scns[0]}, {table.scns[1]}" in str(table)


class Killed(BaseException):
    """Stands for a kill at a point."""


def repeated_after_kills(monkeypatch: pytest.MonkeyPatch, repair: Callable[[], Any]) -> list[str]:
    """Stop the repair after each of its writes once, repeat it until nothing is left to do, and return the points."""
    passed: list[str] = []

    def kill(name: str) -> None:
        if name not in passed and threading.current_thread() is threading.main_thread():
            passed.append(name)
            raise Killed(name)

    monkeypatch.setattr(crash, "point", kill)
    for _ in range(30):
        try:
            assert repair().equal
        except Killed:
            continue
        except Terminal as error:
            if "found no row that differs" in error.what:
                return passed
            raise
    raise AssertionError(passed)


def test_a_repair_stopped_after_each_write_ends_right_and_releases_the_table_with_no_older_row(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with standin(archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        pipeline = parts_pipeline(shop)
        shop.run_sql(*(f"INSERT INTO parts (id, place, quantity) VALUES ({n}, 'W1', {n})" for n in range(1, 9)))
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        target = pipeline.target(TableId("SHOP", "PARTS"))
        spark.sql(f"UPDATE delta.`{target}` SET quantity = -1 WHERE id IN (1, 2)")
        spark.sql(f"DELETE FROM delta.`{target}` WHERE id = 3")
        spark.sql(f"INSERT INTO delta.`{target}` SELECT 99, place, quantity, _commit_scn FROM delta.`{target}` WHERE id = 4")
        shop.run_sql("UPDATE parts SET quantity = 50 WHERE id = 1", "DELETE FROM parts WHERE id = 2")
        caught_up(shop, pipeline, spark)
        (held,) = steps.read_status(pipeline).tables
        (found,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
        spark.sql(f"UPDATE delta.`{target}` SET quantity = -2 WHERE id = 8")
        repair = partial(
            steps.repair_table, pipeline, "SHOP.PARTS", reason="by hand", by="ann", source=shop.params, spark=spark
        )
        with pytest.raises(TableSetBack, match=r"after the last comparison of all rows"):
            repair()
        steps.verify_tables(pipeline, source=shop.params, spark=spark)

        points = repeated_after_kills(monkeypatch, repair)
        monkeypatch.undo()
        (released,) = steps.read_status(pipeline).tables
        metadata = spark.sql(f"DESCRIBE HISTORY delta.`{target}`").select("userMetadata").first()[0]
        at_repair = {int(row["ID"]): int(row["QUANTITY"]) for row in spark.read.format("delta").load(target).collect()}
        caught_up(shop, pipeline, spark)
        (afterwards,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
        decided = [one.reason for one in read_overview(pipeline, ledger_url(pipeline), now()).decisions if one.kind == "repair"]

    assert (held.state, "another writer changed rows" in str(held.error)) == ("held", True)
    assert counts(found) == (8, 8, 1, 1, 2)
    assert released.state == "live"
    assert {"repair", "ledger.release"} <= set(points)
    assert '"reason": "by hand"' in metadata
    assert '"by": "ann"' in metadata
    assert at_repair == {n: n for n in range(1, 9)}  # AS OF the position, before the later changes
    assert (afterwards.equal, afterwards.source_rows) == (True, 7)
    assert set(decided) == {"by hand"}


def test_a_row_is_repaired_by_its_key_and_a_key_that_is_none_is_refused(loaded: Any, spark: Any) -> None:
    shop, pipeline = loaded
    target = pipeline.target(TableId("SHOP", "STORIES"))
    spark.createDataFrame([], spark.read.format("delta").load(target).schema).write.format("delta").mode("append").save(target)
    repair = partial(steps.repair_table, pipeline, "SHOP.STORIES", reason="a try", source=shop.params, spark=spark)
    compared(loaded, spark, "rows", "SHOP.STORIES")

    assert repair(keys=[{"ID": "2"}]).source_rows_read == 1
    with pytest.raises(Terminal, match="NAME is not the table's key"):
        repair(keys=[{"NAME": "2"}])
    with pytest.raises(Terminal, match="found no row that differs"):
        repair()


def test_rows_without_a_key_are_repaired_by_the_columns_that_nothing_computes(loaded: Any, spark: Any) -> None:
    """Also where only a computed column is wrong: rows that are equal in the others are written again together."""
    shop, pipeline = loaded
    target = pipeline.target(TableId("SHOP", "VISITS"))
    spark.sql(f"UPDATE delta.`{target}` SET label = 'wrong' WHERE SECONDS = 5")
    spark.sql(f"DELETE FROM delta.`{target}` WHERE SECONDS = 7 AND PAGE = 'page 3'")
    found = compared(loaded, spark, "rows", "SHOP.VISITS")["SHOP.VISITS"]
    done = steps.repair_table(pipeline, "SHOP.VISITS", reason="by hand", source=shop.params, spark=spark)

    assert (found.missing_rows, found.extra_rows) == (4, 2)
    assert (done.rows, done.equal, done.source_rows_read) == (2, True, 4)
    assert compared(loaded, spark, "rows", "SHOP.VISITS")["SHOP.VISITS"].equal


def counts(one: TableProof) -> tuple[int, ...]:
    return one.source_rows, one.delta_rows, one.missing_rows, one.extra_rows, one.differing_cells


def change_lake(spark: Any, target: str, chosen: random.Random) -> None:
    """Write the table with some cells changed, some rows removed, and some there twice."""
    frame = spark.read.format("delta").load(target)
    found = [row.asDict() for row in frame.collect()]
    columns = [name for name in frame.columns if not name.startswith("_")]
    for _ in range(chosen.randint(0, 4)):
        row = chosen.choice(found)
        action = chosen.choice(("cell", "cell", "cell", "remove", "again"))
        if action == "remove":
            found.remove(row)
        elif action == "again":
            found.append(dict(row))
        else:
            name = chosen.choice(columns)
            row[name] = changed(row[name], chosen)
    spark.createDataFrame(found, frame.schema).write.format("delta").mode("overwrite").save(target)


def changed(value: Any, chosen: random.Random) -> Any:
    """Return a value like it: NULL, one that Oracle cannot hold, or one that only differs a little."""
    if value is None or chosen.random() < 0.2:
        return None
    if isinstance(value, str):
        return chosen.choice((value + " ", value[:-1], value.swapcase(), "", "|", value + "\0"))
    if isinstance(value, bytes | bytearray):
        return chosen.choice((bytes(value) + b"\0", bytes(value)[1:], b""))
    if isinstance(value, float):
        return chosen.choice((-value, math.nan, value + 1e-9, -0.0, math.inf))
    if isinstance(value, datetime):
        return value + chosen.choice((timedelta(microseconds=1), timedelta(hours=-1), timedelta(days=1)))
    return value + chosen.choice((1, -1, 10)) if isinstance(value, int) else -value
