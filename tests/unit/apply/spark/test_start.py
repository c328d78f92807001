"""A Java that is killed while a session opens is tried again; one that refuses its settings is a wrong configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from redolake.host.runtime import environment, find_java
from redolake.operations import Verdict

# Spark starts `java` first to build a command, then to run it.
JAVA = """#!/bin/sh
case "$*" in *launcher.Main*|*-version*) exec {real}/bin/java "$@" ;; esac
echo started >> {log}
{then}
"""
ONCE = '[ "$(wc -l < {log})" -gt 1 ] || kill -9 $$\nexec {real}/bin/java "$@"'
# pyspark gets the port of a Java that is killed before the first call.
WHILE_IT_OPENS = """port="$_PYSPARK_DRIVER_CONN_INFO_PATH"
exec 3<&0  # Java ends with its input
_PYSPARK_DRIVER_CONN_INFO_PATH="$port.held" {real}/bin/java "$@" <&3 &
while ! [ -s "$port.held" ] && kill -0 $!; do sleep 0.1; done
kill -9 $!
mv "$port.held" "$port"
kill -9 $$
"""
OPEN = """
import json, sys
from redolake.apply.spark.start import start_session
from redolake.cli.options import exit_code_of
from redolake.errors import RedolakeError
said = []
for _ in range(int(sys.argv[1])):
    try:
        start_session("local", *json.loads(sys.argv[2]))
        said.append("open")
    except RedolakeError as error:
        said.append([error.code, exit_code_of(error), str(error)])
print(json.dumps(said))
"""
# pyspark itself tries for ten minutes, and again when Python ends.
CONNECT = """
import os
from pyspark.sql.connect.client import retries
from redolake.apply.spark.start import start_session
from redolake.cli.options import exit_code_of
from redolake.errors import RedolakeError
retries.DefaultPolicy.can_retry = lambda *_: False
try:
    start_session("connect", "sc://127.0.0.1:9")
except RedolakeError as error:
    print(exit_code_of(error), error, flush=True)
os._exit(0)
"""


def opened(tmp_path: Path, java: str, *arguments: Any, times: int = 1) -> list[Any]:
    """Try to open a session so many times in another process, with that Java."""
    real, log, home = find_java(), tmp_path / "log", tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    file = home / "bin" / "java"
    file.write_text(JAVA.format(real=real, log=log, then=java.format(real=real, log=log)))
    file.chmod(0o755)
    command = [sys.executable, "-c", OPEN, str(times), json.dumps(arguments)]
    done = subprocess.run(command, env={**environment(), "JAVA_HOME": str(home)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stdout.splitlines()[-1]))


def test_a_java_that_is_killed_while_a_session_opens_is_to_be_tried_again(tmp_path: Path) -> None:
    for code, exit_code, text in opened(tmp_path, WHILE_IT_OPENS, times=2):
        assert (code, exit_code) == ("SparkLost", Verdict.LATER)
        assert "Spark's Java has ended while it started" in text


def test_a_java_that_is_killed_at_once_is_started_a_second_time(tmp_path: Path) -> None:
    assert opened(tmp_path, ONCE) == ["open"]


@pytest.mark.parametrize(
    ("says", "arguments"),
    [
        ("Java ends before Spark has started", [None, {"spark.driver.extraJavaOptions": "-Xmx1g"}]),
        (
            "Spark does not start: java.lang.IllegalArgumentException: Unsupported scheduling mode",
            [None, {"spark.scheduler.mode": "NONE"}],
        ),
    ],
    ids=["Java's", "Spark's"],
)
def test_settings_that_are_refused_are_a_wrong_configuration(tmp_path: Path, says: str, arguments: list[Any]) -> None:
    ((code, exit_code, text),) = opened(tmp_path, 'exec {real}/bin/java "$@"', *arguments)

    assert (code, exit_code) == ("ConfigurationError", Verdict.MISUSED)
    assert says in text
    assert "do this: correct" in text


def test_a_connect_server_that_does_not_answer_is_to_be_tried_again() -> None:
    done = subprocess.run([sys.executable, "-c", CONNECT], env=environment(), capture_output=True, text=True, check=True)

    assert done.stdout.startswith("75 SparkLost: the Spark Connect server sc://127.0.0.1:9 does not answer")
