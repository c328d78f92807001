"""kill -9 of the command by its name, with the Spark of its own that it has started: the next one makes it good.

Behind each write, and through a Connect server: tests/e2e/test_kills_everywhere.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from pipelines import steps
from pipelines.runtime import environment
from tests.fix_shop import Shop
from tests.fix_spark import QUIET
from tests.source_comparison import compare_with_source

pytestmark = pytest.mark.spark

TABLES = ["SHOP.ORDER_LINES", "SHOP.PAYMENTS"]


def write_settings(shop: Shop) -> Path:
    pipeline = shop.pipeline(tables=TABLES, window={"max_bytes": "200KiB", "slice_bytes": "60KiB"}, spark={"conf": QUIET})
    file = shop.folder / "pipelines.yml"
    file.write_text(yaml.safe_dump({"pipelines": {"shop": pipeline.model_dump(exclude={"name"})}}))
    return file


def redolake(shop: Shop, *arguments: str, crash_at: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in its own process, which kills itself with SIGKILL at the named point."""
    user = shop.oracle.capture_user
    address = shop.oracle.root_dsn
    env = {
        **environment(),
        "AIRFLOW_CONN_ORACLE_SHOP": f"oracle://{quote(user)}:{shop.oracle.passwords[user]}@{address}",
        "REDOLAKE_CONFIG": str(shop.folder / "pipelines.yml"),
        "REDOLAKE_CRASH_AT": crash_at,
    }
    command = [str(Path(sys.executable).with_name("redolake")), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)


def difference_of_rows(shop: Shop) -> dict[str, Any]:
    found = compare_with_source(shop.pipeline(tables=TABLES), shop.params)
    return {t.table: (t.source_rows - t.delta_rows, t.differing_cells) for t in found.tables}


def test_a_run_killed_between_two_tables_is_made_good_by_the_next_one(shop: Shop, spark: Any) -> None:
    write_settings(shop)
    shop.work(40)
    steps.take_snapshot(shop.pipeline(tables=TABLES), source=shop.params, spark=spark)
    shop.work(80, seed=2)
    shop.switch_logs()

    killed = redolake(shop, "run", "--until-caught-up", crash_at="merge")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    shop.work(40, seed=3)
    shop.switch_logs()
    steps.run_pipeline(shop.pipeline(tables=TABLES), until_caught_up=True, source=shop.params, spark=spark)

    assert difference_of_rows(shop) == {"SHOP.ORDER_LINES": (0, 0), "SHOP.PAYMENTS": (0, 0)}
    assert os.environ.get("REDOLAKE_CRASH_AT") is None
