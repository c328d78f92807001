"""`python -m pipelines.job.class_archive`: let Java keep the classes that Spark and Delta load for a batch in an archive.

With it Spark starts with two thirds of the CPU time, since Java does not read and check some 20,000 classes again (JEP 350).
Its 220 MB are worth it where Spark is started for each batch. Write it again after an upgrade of Java or Spark.

Spark runs as a Connect server here, which loads all that a session without a server needs, too.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from pipelines.apply.spark.quoting import table_at
from pipelines.apply.spark.session import JAVA_OPTIONS, end_connect, open_session
from pipelines.host.runtime import class_archive, environment
from pipelines.job.connect_server import server_command

SECONDS = 300.0


def write_archive(file: Path) -> None:
    """Write the archive. Raises OSError where the server does not come up, or where this Java writes none."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="redolake-classes-") as name:
        folder = Path(name)
        options = f"{JAVA_OPTIONS}=-XX:ArchiveClassesAtExit={file} -XX:TieredStopAtLevel=1 -Xlog:disable"
        conf = [options, f"spark.sql.warehouse.dir={folder}"]
        command = server_command("local[2]", "127.0.0.1", port, "1g", False, conf)
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)
        try:
            wait_for(port, server)
            run_batch(f"sc://127.0.0.1:{port}", folder)
        finally:
            server.terminate()  # Java writes the archive as it ends
            server.wait(SECONDS)
        if not file.is_file():
            raise OSError(f"Java wrote no archive of Spark's classes: {(folder / 'log').read_text()[-500:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def run_batch(remote: str, folder: Path) -> None:
    """Run the kinds of queries that a batch consists of over a few rows, with and without compiled code."""
    spark = open_session("connect", remote)
    try:
        for compiled in ("true", "false"):
            spark.conf.set("spark.sql.codegen.wholeStage", compiled)
            run_queries(spark, folder / compiled)
    finally:
        end_connect(spark)  # a client whose server has gone delays the exit of its process by minutes


def run_queries(spark: Any, folder: Path) -> None:
    landed, target = folder / "landed", table_at(str(folder / "target"))
    spark.range(100).selectExpr("id", "id % 7 AS k", "CAST(id AS STRING) AS v", "CAST(id AS DECIMAL(22,1)) AS n").write.parquet(
        str(landed)
    )
    rows = spark.read.schema("id BIGINT, k BIGINT, v STRING, n DECIMAL(22,1)").parquet(str(landed))
    decoded = rows.mapInArrow(lambda batches: batches, rows.schema)
    decoded.createOrReplaceTempView("decoded")
    spark.sql(f"CREATE TABLE {target} (k BIGINT, v STRING, n DECIMAL(22,1)) USING delta").collect()
    net = "SELECT k, v, n FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS r FROM decoded) WHERE r = 1"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW net AS {net}")
    for _ in range(2):
        spark.sql(
            f"MERGE INTO {target} AS t USING net AS s ON t.k = s.k WHEN MATCHED AND s.k = 3 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ).collect()
    spark.sql(f"ALTER TABLE {target} ADD COLUMNS (w TIMESTAMP)").collect()
    sums = f"SELECT k, count(*), max(v), sum(n) FROM {target} GROUP BY k ORDER BY k"
    spark.sql(
        f"WITH sums AS ({sums}) SELECT * FROM sums LEFT ANTI JOIN decoded USING (k) UNION ALL SELECT * FROM sums"
    ).toArrow()
    spark.sql(f"DESCRIBE HISTORY {target}").collect()


def main() -> int:
    file = class_archive()
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        write_archive(unfinished)
        unfinished.replace(file)
    except OSError as error:
        sys.stderr.write(f"{error}\n  do this: Spark also works without; try again, or with JAVA_HOME set to another Java\n")
        return 1
    finally:
        unfinished.unlink(missing_ok=True)
    Console(soft_wrap=True, highlight=False).print(f"Spark's classes: {file}, {file.stat().st_size >> 20} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
