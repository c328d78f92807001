"""Start a Spark Connect server with the jars and settings that Delta and Redolake need, in place of this process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NoReturn

from redolake.apply.spark.session import spark_conf
from redolake.errors import ConfigurationError, Finding
from redolake.host.connect_token import TOKEN, is_loopback
from redolake.host.runtime import environment, spark_jars
from redolake.host.secrets import NEW_KEY, weakness_of
from redolake.host.spark_settings import WORKERS_PYTHON

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
ON_S3 = "s3://"
ADDRESS, TOKEN_SETTING = "spark.connect.grpc.binding.address", "spark.connect.authenticate.token"
OF_ANOTHER = ("MASTER", "SPARK_DAEMON_MEMORY")  # of this host's master or worker: Spark takes them for --master and --memory
TOKEN_OF_SPARK = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # where the server finds it without a setting, which others could list


def settings_in(conf: list[str]) -> dict[str, str]:
    """Return the settings that are written KEY=VALUE."""
    return dict(one.split("=", 1) for one in conf)


def server_command(master: str, host: str, port: int, memory: str, on_s3: bool, conf: list[str]) -> list[str]:
    """Return spark-submit's arguments; `conf` are KEY=VALUE and win."""
    settings = {
        ADDRESS: host,
        "spark.connect.grpc.binding.port": str(port),
        **settings_in(conf),
    }
    command = ["spark-submit", "--class", SERVER, "--name", "redolake", "--master", master, "--driver-memory", memory]
    command += ["--jars", ",".join(spark_jars(*([ON_S3] if on_s3 else ())))]
    for key, value in spark_conf(settings).items():
        command += ["--conf", f"{key}={value}"]
    return command


def server_token(host: str, conf: list[str], environ: Mapping[str, str]) -> str:
    """Return the token that clients must send, an empty text for none. Raises ConfigurationError for one that others can see or
    guess, and for an address that other machines reach without one: who reaches the port runs code as this user."""
    settings = settings_in(conf)
    token = environ.get(TOKEN) or environ.get(TOKEN_OF_SPARK) or ""
    cure = f"{NEW_KEY}, and export {TOKEN} for the server and for what connects to it"
    if TOKEN_SETTING in settings:
        raise ConfigurationError([Finding("--conf", f"shows {TOKEN_SETTING} to those who list processes on this host", cure)])
    if token and (weakness := weakness_of(token.encode())):
        raise ConfigurationError([Finding(TOKEN, f"the token of the Connect server {weakness}", cure)])
    if not token and not is_loopback(host := settings.get(ADDRESS, host)):
        what = "other machines reach it, and without a token whoever connects runs code as this user"
        raise ConfigurationError([Finding(f"--host {host}", what, cure)])
    return token


def workers_python(conf: list[str]) -> str | None:
    """Return the Python of the workers that `conf` names. They work in a folder of their session, below that of the executor,
    into which `spark.archives` is unpacked (seen with 4.2.0)."""
    named = settings_in(conf).get(WORKERS_PYTHON)
    return named.replace("./", "../", 1) if named and named.startswith("./") else named


def serve(master: str, host: str, port: int, memory: str, on_s3: bool, conf: list[str]) -> NoReturn:
    """Become the server. Raises ConfigurationError without Java or jars, and as `server_token` does."""
    token = server_token(host, conf, os.environ)
    command = server_command(master, host, port, memory, on_s3, conf)
    env = environment()
    env.pop(TOKEN, None)
    env["PYSPARK_PYTHON"] = workers_python(conf) or env["PYSPARK_PYTHON"]
    for name in OF_ANOTHER:
        env.pop(name, None)
    if token:
        env[TOKEN_OF_SPARK] = token
    if not master.startswith("local"):
        del env["SPARK_LOCAL_IP"]  # executors on other hosts call the driver back
    os.execvpe(command[0], command, env)
