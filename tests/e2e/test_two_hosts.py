"""Two hosts run one pipeline by turns: ledger in PostgreSQL, landing and lake on S3, and only `redolake` commands.

A host is a process with its own working folder; it shares nothing with the other but the pipeline file. One is killed with
kill -9, with the Spark of its own that it has started, between two tables.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.crash import VARIABLE
from pipelines.runtime import environment
from tests.fix_s3 import S3
from tests.fix_shop import Shop
from tests.fix_spark import QUIET

pytestmark = pytest.mark.spark

PARTS, BINS = "SHOP.PARTS", "SHOP.BINS"


@dataclass(slots=True)
class Host:
    folder: Path
    settings: dict[str, str]

    def start(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("redolake")), *arguments, "--output", "json"]
        env = {**environment(), **self.settings, **more}
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=300, check=False)

    def run(self, *arguments: str) -> Any:
        done = self.start(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout[-1000:]}{done.stderr[-4000:]}"
        return json.loads(done.stdout)


@dataclass(slots=True)
class Setup:
    shop: Shop
    bucket: str
    hosts: tuple[Host, Host]

    def change(self, number: int) -> None:
        self.shop.run_sql(
            *(f"INSERT INTO {table} VALUES ({number}, 'shelf', {number})" for table in ("parts", "bins")),
            *(f"UPDATE {table} SET quantity = quantity + {number} WHERE id = 1" for table in ("parts", "bins")),
        )
        self.shop.switch_logs()

    def commits(self, s3: S3) -> list[int]:
        """Return the number of commits of each Delta table."""
        keys = [key for key in s3.keys(self.bucket) if key.endswith(".json")]
        return [sum(f"/{table}/_delta_log/" in key for key in keys) for table in ("parts", "bins")]


@pytest.fixture
def two_hosts(shop: Shop, s3: S3, bucket: str, postgres_url: str, tmp_path: Path) -> Setup:
    for table in ("parts", "bins"):
        shop.run_sql(
            f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))",
            f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            f"INSERT INTO {table} VALUES (1, 'floor', 1)",
        )
    user = shop.oracle.capture_user
    file = tmp_path / "pipelines.yml"
    pipeline = {
        "source": {"connection": "oracle_shop", "container": "FREEPDB1"},
        "landing": f"s3://{bucket}/landing",
        "lake": f"s3://{bucket}/lake",
        "ledger": {"url": postgres_url},
        "spark": {"conf": dict(QUIET), "tables_at_once": 1},  # it is killed between two of them
        "tables": [PARTS, BINS],
    }
    file.write_text(yaml.safe_dump({"pipelines": {"shop": pipeline}}))
    oracle = {"conn_type": "oracle", "login": user, "password": shop.oracle.passwords[user], "extra": {}}
    oracle["extra"] = {"dsn": shop.params.dsn}
    settings = {"REDOLAKE_CONFIG": str(file), "AIRFLOW_CONN_ORACLE_SHOP": json.dumps(oracle), **s3.environment}
    hosts = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        hosts.append(Host(tmp_path / name, settings))
    return Setup(shop, bucket, (hosts[0], hosts[1]))


def test_snapshot_windows_a_kill_verify_and_a_backfill_on_two_hosts(two_hosts: Setup, s3: S3) -> None:
    here, there = two_hosts.hosts
    here.run("doctor")
    with two_hosts.shop.oracle.connect("SHOP") as connection:
        connection.cursor().execute("INSERT INTO parts VALUES (100, 'long', 100)")
        two_hosts.change(2)
        first = here.run("run", "--until-caught-up")  # the snapshot, then a window in which the transaction stays open
        assert (first["windows"], first["batches"]) == (1, 1)
        two_hosts.change(3)
        connection.commit()
    two_hosts.change(4)

    before = two_hosts.commits(s3)
    killed = there.start("run", "--until-caught-up", **{VARIABLE: "merge"})
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-4000:]
    assert sorted(now - then for now, then in zip(two_hosts.commits(s3), before, strict=True)) == [0, 1]
    here.run("run", "--until-caught-up")

    verified = there.run("verify")
    assert [(t["source_rows"], t["delta_rows"], t["differing_cells"]) for t in verified["tables"]] == [(5, 5, 0), (4, 4, 0)]
    begins, ends = first["tables"][0]["complete_to"] + 1, there.run("windows")[-1]["end"]
    filled = here.run("backfill", "--from", str(begins), "--to", str(ends), "--execute", PARTS)
    assert [(t["inserted"], t["updated"], t["deleted"]) for t in filled["tables"]] == [(4, 0, 0)]  # into an empty shadow
    keys = s3.keys(two_hosts.bucket)
    assert any(key.startswith("lake/_shadow/") for key in keys)
    assert any("carry-" in key for key in keys)
    assert [list(host.folder.rglob("*.parquet")) for host in two_hosts.hosts] == [[], []]
