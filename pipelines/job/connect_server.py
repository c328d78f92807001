"""Start a Spark Connect server with the jars and settings that Delta and Redolake need, in place of this process:
`python -m pipelines.job.connect_server --master spark://host:7077`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from pipelines.apply.spark.session import spark_conf
from pipelines.host.runtime import environment, spark_jars

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
ON_S3 = "s3://"


def server_command(master: str, host: str, port: int, memory: str, on_s3: bool, conf: list[str]) -> list[str]:
    """Return spark-submit's arguments; `conf` are KEY=VALUE and win."""
    settings = {
        "spark.connect.grpc.binding.address": host,
        "spark.connect.grpc.binding.port": str(port),
        **dict(one.split("=", 1) for one in conf),
    }
    command = ["spark-submit", "--class", SERVER, "--name", "redolake", "--master", master, "--driver-memory", memory]
    command += ["--jars", ",".join(spark_jars(*([ON_S3] if on_s3 else ())))]
    for key, value in spark_conf(settings).items():
        command += ["--conf", f"{key}={value}"]
    return command


def main(
    master: Annotated[str, typer.Option(help="Spark's master: local[2], spark://host:7077, yarn, ...")] = "local[2]",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 15002,
    memory: Annotated[str, typer.Option(help="Memory of the driver, where batches are planned.")] = "2g",
    s3: Annotated[bool, typer.Option("--s3", help="With Hadoop's S3 file system, for a landing or lake on S3.")] = False,
    conf: Annotated[list[str] | None, typer.Option(help="KEY=VALUE: another setting of Spark; may be repeated.")] = None,
) -> None:
    """Start a Spark Connect server for Redolake in this process."""
    command = server_command(master, host, port, memory, s3, conf or [])
    env = environment()
    if not master.startswith("local"):
        del env["SPARK_LOCAL_IP"]  # executors on other hosts call the driver back
    os.execvpe(command[0], command, env)


if __name__ == "__main__":
    typer.run(main)
