"""Each command that reads a damaged Delta log ends with an error that names the table, and never with one of Spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from redolake import steps
from redolake.cli import app
from redolake.context import spark as spark_session
from redolake.errors import TableHeld
from standin.serve import standin
from tests.fixtures.shop import Shop

pytestmark = pytest.mark.spark

LOOKS = ("status", "doctor")
COMMANDS = (
    "views --for spark --history", "verify SHOP.ITEMS", "repair SHOP.ITEMS --key ID=3 --execute --reason x", "quarantine list",
    "history prune --execute --yes --reason x", "history rebuild SHOP.ITEMS --execute --reason x --yes",
    "read SHOP.ITEMS --as-of {scn}", "optimize --execute",
    "backfill --from {start} --to {scn} --target copy SHOP.ITEMS --execute",
)  # fmt: skip
# Where the log is damaged, and how many of the commands cannot be done.
PLACES = {"shop/items": 8, "_history/shop/items": 4, "_quarantine/shop.items": 4}


@dataclass
class Made:
    shop: Shop
    pipeline: Any
    folder: Path
    values: dict[str, str]

    def run(self, command: str) -> Any:
        return CliRunner().invoke(app, command.format(**self.values).split())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("damaged")
    with standin(threads=1, log_bytes=64 * 1024, archive_lag_target=0) as oracle, pytest.MonkeyPatch.context() as patch:
        shop = Shop(oracle, folder)
        for name in ("items", "plain"):
            shop.run_sql(
                f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, n NUMBER, note VARCHAR2(20))",
                f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
                *(f"INSERT INTO {name} VALUES ({n}, {n}, 'n{n}')" for n in range(1, 4)),
            )
        tables = [{"table": "SHOP.ITEMS", "columns": {"N": 2}, "history": "changes"}, "SHOP.PLAIN"]
        pipeline = shop.pipeline(tables=tables, on_error={"value": "quarantine"}, keep={"history": timedelta(days=30)})
        user = oracle.capture_user
        address = f"oracle://{user.replace('#', '%23')}:{oracle.passwords[user]}@{oracle.root_dsn}"
        patch.setenv("AIRFLOW_CONN_ORACLE_SHOP", address)
        patch.setattr(spark_session, "open_spark", lambda _pipeline: spark)
        patch.setattr(spark_session.Spark, "stop", lambda _self: None)
        body = pipeline.model_dump(mode="json", exclude={"name", "matches"}, exclude_unset=True)
        (folder / "pipelines.yml").write_text(yaml.safe_dump({"pipelines": {"shop": body}}))
        patch.chdir(folder)
        start = steps.take_snapshot(pipeline, source=shop.params, spark=spark).scn + 1
        for n in (1, 2):
            shop.run_sql(
                f"UPDATE items SET n = 1.2345 WHERE id = {n}",
                f"INSERT INTO items VALUES ({n}7, {n}, 'x')",
                "UPDATE plain SET n = n + 1",
            )
            shop.switch_logs()
            with suppress(TableHeld):
                steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
        status = steps.read_status(pipeline)
        scn = status.tables[0].complete_to_scn
        values = {"start": str(start), "scn": str(scn), "copy": f"{start}-{scn}-copy"}
        yield Made(shop, pipeline, folder, values)


def damage(log: Path) -> None:
    newest = max(log.glob("*.json"))
    newest.write_bytes(newest.read_bytes()[:-30])
    for file in [*log.glob("*.crc"), *log.glob(".*.crc")]:
        file.unlink(missing_ok=True)


@pytest.mark.parametrize("place", PLACES)
def test_each_command_says_of_which_table_the_log_is_damaged(made: Made, place: str, tmp_path: Path) -> None:
    log = Path(made.pipeline.lake, place, "_delta_log")
    kept = shutil.copytree(log, tmp_path / "kept")
    damage(log)
    refused = 0
    for command in (*LOOKS, *COMMANDS):
        done = made.run(command)
        assert done.exception is None or isinstance(done.exception, SystemExit), (command, done.exception)
        said = " ".join(done.output.split())
        if done.exit_code and "LakeDamaged" in said:
            assert "SHOP.ITEMS" in said, (command, said)
            assert "`redolake " in said, (command, said)
            refused += command not in LOOKS
    shutil.rmtree(log)
    shutil.copytree(kept, log)
    assert refused >= PLACES[place]
