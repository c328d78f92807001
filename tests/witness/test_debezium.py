"""An unmodified Debezium agrees with the stand-in: its events, folded, are the rows of the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from standin.workload.shop import TABLES
from tests.fix_shop import Shop, open_shop
from tests.witness.debezium import debezium, grant_user
from tests.witness.fold import Rows, folded, number_columns, source_rows

MODES = {
    "buffered": {},
    "buffered, archived logs only": {"log_mining_archive_log_only_mode": "true"},
    "unbuffered": {"database_connection_adapter": "logminer_unbuffered"},
}

CAPTURED = [*TABLES, "MARK"]


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_shops_events_are_the_rows_of_the_source(tmp_path: Path, mode: dict[str, str], threads: int) -> None:
    with open_shop(tmp_path, threads=threads, verifier_rounds=4096, supplemental=frozenset({"MIN"})) as shop:
        grant_user(shop.oracle)
        shop.run_sql("CREATE TABLE mark (id NUMBER(9) PRIMARY KEY)", "ALTER TABLE mark ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        shop.work(15)
        with debezium(shop.oracle, tmp_path / "debezium", **mode) as engine:
            engine.wait_for(lambda events: any(event.source["snapshot"] == "last" for event in events))
            shop.work(40, seed=2)
            end_with_a_mark(shop)
            engine.wait_for(lambda events: any(event.table == "MARK" for event in events))
            with shop.oracle.connect("SHOP") as connection:
                numbers = number_columns(connection, CAPTURED)
                expected = source_rows(connection, CAPTURED)
            assert differences(expected, folded(engine.events, numbers)) == []


def end_with_a_mark(shop: Shop) -> None:
    """Write a row that Debezium shows after all others, in logs that are archived."""
    shop.run_sql("INSERT INTO mark VALUES (1)")
    shop.switch_logs()


def differences(expected: Rows, got: Rows) -> list[Any]:
    return [
        (table, key, expected.get(table, {}).get(key), got.get(table, {}).get(key))
        for table in sorted(expected.keys() | got.keys())
        for key in sorted(expected.get(table, {}).keys() | got.get(table, {}).keys(), key=str)
        if expected.get(table, {}).get(key) != got.get(table, {}).get(key)
    ]
