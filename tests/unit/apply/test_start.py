"""A Java that is killed while a session opens is tried again; one that refuses its settings is a wrong configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.apply.start import start_session
from pipelines.cli.options import CONFIGURATION, TRY_AGAIN
from pipelines.errors import SparkLost
from pipelines.runtime import environment, find_java

# Spark starts `java` first to build a command, then to run it.
JAVA = """#!/bin/sh
case "$*" in *launcher.Main*|*-version*) exec {real}/bin/java "$@" ;; esac
echo started >> {log}
{then}
"""
AT_ONCE = "kill -9 $$"
ONCE = '[ "$(wc -l < {log})" -gt 1 ] || kill -9 $$\nexec {real}/bin/java "$@"'
# py4j has its port by then, and asks this Java for Spark's classes.
WHILE_IT_OPENS = """exec 3<&0  # Java ends with its input
{real}/bin/java "$@" <&3 &
while ! [ -s "$_PYSPARK_DRIVER_CONN_INFO_PATH" ] && kill -0 $!; do :; done
kill -9 $!
kill -9 $$
"""
OPEN = """
import json, sys
from pipelines.apply.start import start_session
from pipelines.cli.options import exit_code_of
from pipelines.errors import RedolakeError
said = []
for _ in range(2):
    try:
        start_session("local", *json.loads(sys.argv[1]))
        said.append("open")
    except RedolakeError as error:
        said.append([error.code, exit_code_of(error), str(error)])
print(json.dumps(said))
"""


def opened_twice(tmp_path: Path, java: str, *arguments: Any) -> list[Any]:
    """Try to open a session twice in another process, with that Java."""
    real, log, home = find_java(), tmp_path / "log", tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    file = home / "bin" / "java"
    file.write_text(JAVA.format(real=real, log=log, then=java.format(real=real, log=log)))
    file.chmod(0o755)
    command = [sys.executable, "-c", OPEN, json.dumps(arguments)]
    done = subprocess.run(command, env={**environment(), "JAVA_HOME": str(home)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stdout.splitlines()[-1]))


def test_a_java_that_is_killed_while_a_session_opens_is_to_be_tried_again(tmp_path: Path) -> None:
    for code, exit_code, text in opened_twice(tmp_path, WHILE_IT_OPENS):
        assert (code, exit_code) == ("SparkLost", TRY_AGAIN)
        assert "Spark's Java has ended while it started" in text


def test_a_java_that_is_killed_at_once_is_started_a_second_time(tmp_path: Path) -> None:
    assert opened_twice(tmp_path, ONCE)[0] == "open"


def test_a_java_that_never_starts_is_a_wrong_configuration(tmp_path: Path) -> None:
    for code, exit_code, text in opened_twice(tmp_path, AT_ONCE):
        assert (code, exit_code) == ("ConfigurationError", CONFIGURATION)
        assert "Java ends before Spark has started" in text


@pytest.mark.parametrize(
    "arguments",
    [[None, {"spark.driver.memory": "1 potato"}], [None, {"spark.driver.extraJavaOptions": "-Xmx1g"}], ["no-master", {}]],
    ids=lambda arguments: str(arguments[1] or arguments[0]),
)
def test_settings_that_spark_refuses_are_a_wrong_configuration(tmp_path: Path, arguments: list[Any]) -> None:
    code, exit_code, text = opened_twice(tmp_path, 'exec {real}/bin/java "$@"', *arguments)[0]

    assert (code, exit_code) == ("ConfigurationError", CONFIGURATION)
    assert "do this: correct" in text


def test_a_connect_server_that_does_not_answer_is_to_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    from pyspark.sql.connect.client import retries

    monkeypatch.setattr(retries.DefaultPolicy, "can_retry", lambda *_: False)  # pyspark itself tries for ten minutes
    with pytest.raises(SparkLost, match=r"sc://127\.0\.0\.1:9"):
        start_session("connect", "sc://127.0.0.1:9")
