"""Start a Spark Connect server with the jars and settings that Delta and Redolake need, in place of this process."""

from __future__ import annotations

import os
from typing import NoReturn

from redolake.apply.spark.session import spark_conf
from redolake.host.runtime import environment, spark_jars

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


def serve(master: str, host: str, port: int, memory: str, on_s3: bool, conf: list[str]) -> NoReturn:
    """Become the server. Raises ConfigurationError without Java or jars."""
    command = server_command(master, host, port, memory, on_s3, conf)
    env = environment()
    if not master.startswith("local"):
        del env["SPARK_LOCAL_IP"]  # executors on other hosts call the driver back
    os.execvpe(command[0], command, env)
