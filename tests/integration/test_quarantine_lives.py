"""Generated lives with changes that cannot be applied, and with runs that are killed at their writes: the lake equals the
source but for the keys in quarantine, and after a retry it equals it wholly."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.hunts import EXAMPLES
from tests.generated.killed import repeat_killed

pytestmark = pytest.mark.spark

SEED = int(os.environ.get("REDOLAKE_SEED", "7"))
COLUMNS = ("ID", "N", "V", "NOTE")
ROWID = "AAAR3sAAEAAAACXA"  # and two letters; LogMiner shows `Unsupported Type` for a UROWID
POINTS = ("quarantine", "history", "merge", "before manifest")


def literals(chance: random.Random, bad_share: float) -> dict[str, str]:
    """Return values, of which some do not fit and some are not shown by the redo."""
    bad = chance.random() < bad_share
    wrong = chance.choice(("N", "V")) if bad else ""
    n = f"{chance.randint(0, 99)}.{'1234' if wrong == 'N' else '25'}"
    v = f"'{ROWID}{chance.choice('ABCD')}{chance.choice('ABCD')}'" if wrong == "V" else "NULL"
    return {"N": n, "V": v, "NOTE": f"'n{chance.randint(0, 999)}'"}


def statement(chance: random.Random, taken: set[int], bad_share: float) -> str:
    """Return a statement on a table of which `taken` are the keys, and change these."""
    free, kind = [i for i in range(1, 16) if i not in taken], chance.random()
    values = literals(chance, bad_share)
    if free and (kind < 0.3 or not taken):
        new = chance.choice(free)
        taken.add(new)
        return f"INSERT INTO t VALUES ({new}, {', '.join(values.values())})"
    old = chance.choice(sorted(taken))
    if kind < 0.45:
        taken.discard(old)
        return f"DELETE FROM t WHERE id = {old}"
    if free and kind < 0.6:
        new = chance.choice(free)
        taken.discard(old)
        taken.add(new)
        return f"UPDATE t SET id = {new} WHERE id = {old}"
    names = chance.sample(sorted(values), chance.randint(1, 2))
    return f"UPDATE t SET {', '.join(f'{name} = {values[name]}' for name in names)} WHERE id = {old}"


def live(shop: Shop, chance: random.Random, taken: set[int], transactions: int, bad_share: float) -> None:
    """Run transactions, of which some are rolled back."""
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for _ in range(transactions):
            before = set(taken)
            for _ in range(chance.randint(1, 3)):
                cursor.execute(statement(chance, taken, bad_share))
            if chance.random() < 0.2:
                connection.rollback()
                taken.clear()
                taken.update(before)
            else:
                connection.commit()


def rows_of_source(shop: Shop) -> dict[int, tuple[Any, ...]]:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, TO_CHAR(n), v, note FROM t")
        return {row[0]: (float(row[1]), *row[2:]) for row in cursor}


def rows_of_lake(spark: Any, path: str) -> dict[int, tuple[Any, ...]]:
    rows = spark.read.format("delta").load(path).collect()
    found = {int(row["ID"]): (float(row["N"]), row["V"], row["NOTE"]) for row in rows}
    assert len(found) == len(rows)
    return found


def without(rows: dict[int, tuple[Any, ...]], keys: set[int]) -> dict[int, tuple[Any, ...]]:
    return {key: row for key, row in rows.items() if key not in keys}


@pytest.mark.parametrize("number", range(max(1, EXAMPLES)))
def test_the_lake_equals_the_source_but_for_what_is_listed_and_wholly_after_a_retry(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    chance, taken = random.Random(f"{SEED} {number}"), set[int]()
    index = " ORGANIZATION INDEX" if number % 2 else ""
    logging = "PRIMARY KEY" if number % 4 in (0, 3) else "ALL"
    table = {"table": "SHOP.T", "columns": {"N": 2}, **({"history": "changes"} if number % 3 == 0 else {})}
    with standin(threads=1, log_bytes=64 * 1024, archive_lag_target=0, urowids="unsupported") as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            f"CREATE TABLE t (id NUMBER(9) PRIMARY KEY, n NUMBER, v UROWID, note VARCHAR2(20)){index}",
            f"ALTER TABLE t ADD SUPPLEMENTAL LOG DATA ({logging}) COLUMNS",
        )
        live(shop, chance, taken, 8, 0)
        pipeline = shop.pipeline(tables=[table], on_error={"value": "quarantine", "undecodable": "quarantine"})
        path, seen, kills = pipeline.target(pipeline.tables[0].id), set[int](), 0
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)

        def run() -> object:
            return steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)

        for _ in range(3 if EXAMPLES else 2):
            live(shop, chance, taken, 8, 0.25)
            shop.switch_logs()
            kills += repeat_killed(monkeypatch, chance, run, POINTS, 0.4)
            (entry,) = steps.read_status(pipeline).tables
            if entry.error is not None:  # what an index-organized table cannot follow holds it, as without a quarantine
                assert index
                steps.take_snapshot(pipeline, ["SHOP.T"], replace=True, source=shop.params, spark=spark)
            listed = {int(json.loads(one.key)["ID"]) for one in steps.list_quarantine(pipeline, spark=spark).wrong}
            seen |= listed
            assert without(rows_of_lake(spark, path), listed) == without(rows_of_source(shop), listed), (logging, index)
        assert seen
        assert kills or EXAMPLES  # of one life, chance may end no run

        wrong = [key for key, row in rows_of_source(shop).items() if round(row[0], 2) != row[0]]
        shop.run_sql(*(f"UPDATE t SET n = 1 WHERE id = {key}" for key in wrong))
        shop.switch_logs()
        run()
        if steps.list_quarantine(pipeline, spark=spark).keys:
            done = steps.retry_quarantine(pipeline, "SHOP.T", reason="corrected", source=shop.params, spark=spark)
            assert not done.left
        assert rows_of_lake(spark, path) == rows_of_source(shop)
        (compared,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
        assert (compared.equal, compared.quarantined_keys) == (True, 0)
