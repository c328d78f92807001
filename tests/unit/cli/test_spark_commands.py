"""`redolake spark`: what a host needs before Spark runs there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from redolake.cli import app
from redolake.decode import choice
from redolake.host import runtime


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["spark", *words])


def test_setup_says_in_json_which_java_and_which_jars_spark_gets() -> None:
    done = run("setup", "--output", "json")

    body = json.loads(done.stdout)
    assert runtime.java_home_of(Path(body["java_home"], "bin", "java")) is not None
    assert [Path(jar).name for jar in body["delta_jars"]] == list(runtime.DELTA_JARS)


@pytest.mark.parametrize("command", ["setup", "serve"])
def test_a_jar_that_is_missing_is_wrong_configuration(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(runtime.JARS_VARIABLE, "/nowhere/delta.jar")

    done = run(command)

    assert done.exit_code == 2
    assert "/nowhere/delta.jar: Delta's jar does not exist\n    do this: run `redolake spark setup`" in done.output


def test_a_setting_of_the_server_without_a_value_is_wrong_usage() -> None:
    done = run("serve", "--conf", "spark.cores.max")

    assert (done.exit_code, "write KEY=VALUE, not spark.cores.max" in done.output) == (2, True)


def test_compile_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda _: None)

    done = run("compile", "--output", "json")

    assert done.exit_code == 2
    assert json.loads(done.stdout)["findings"][0]["cure"].startswith("pip install 'redolake[compiled]'")
