"""A Spark Connect server runs code for whoever reaches it: clients send the token, and validate says where none is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redolake.apply.spark.start import of_server
from redolake.config import Pipeline
from redolake.context.spark import remote_of
from redolake.errors import ConfigurationError, RedolakeError
from redolake.steps.checks.validation import spark_findings

TOKEN = "3f9c0b7a5de1482696c4f1d8a0b7e352"


@pytest.mark.parametrize(
    ("remote", "token", "warned"),
    [
        ("sc://spark.example:15002", None, True),
        ("sc://10.1.2.3", None, True),
        ("sc://spark.example:15002/;use_ssl=true", None, True),
        ("sc://spark.example:15002", TOKEN, False),
        ("sc://spark.example:443/;token=abc", None, False),
        ("sc://localhost:15002", None, False),
        ("sc://127.0.0.1:15002", None, False),
    ],
)
def test_validate_warns_of_a_server_on_another_host_that_gets_no_token(
    remote: str, token: str | None, warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDOLAKE_SPARK_REMOTE", remote)
    monkeypatch.setenv("REDOLAKE_SPARK_TOKEN", token or "")
    body: dict[str, Any] = {"name": "shop", "source": {"connection": "o"}, "spark": {"mode": "connect"}, "tables": ["A.B"]}
    pipeline = Pipeline.model_validate(body | {"landing": str(tmp_path), "lake": f"{tmp_path}/lake"})

    assert [finding.severity for finding in spark_findings(pipeline)] == ["warning"] * warned
    assert TOKEN not in str(spark_findings(pipeline))


@pytest.mark.parametrize(
    ("url", "token", "sent", "secure"),
    [
        ("sc://spark.example:15002", TOKEN, f"Bearer {TOKEN}", False),
        ("sc://spark.example:15002/;use_ssl=true", TOKEN, f"Bearer {TOKEN}", True),
        ("sc://spark.example:15002/;token=own", TOKEN, None, True),
        ("sc://spark.example:15002", None, None, False),
        ("sc://spark.example:15002/;authorization=Basic%20x", TOKEN, "Basic x", False),
    ],
)
def test_a_client_sends_the_token_with_each_call(
    url: str, token: str | None, sent: str | None, secure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect import session
    from pyspark.sql.connect.client import DefaultChannelBuilder

    from redolake.apply.spark.session import connected_session

    monkeypatch.delenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", raising=False)
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "")  # restored afterwards
    opened = list[Any]()
    for builder in (session.SparkSession.Builder, SparkSession.Builder):
        monkeypatch.setattr(builder, "create", lambda self: opened.append(self))
    connected_session(url, token)
    (found,) = opened
    channel = getattr(found, "_channel_builder", None) or DefaultChannelBuilder(found._options["spark.remote"])

    assert dict(channel.metadata()).get("authorization") == sent
    assert channel.secure is secure


def connected(folder: Path) -> Pipeline:
    body = {"name": "shop", "source": {"connection": "o"}, "spark": {"mode": "connect", "connection": "sc"}, "tables": ["A.B"]}
    return Pipeline.model_validate(body | {"landing": str(folder), "lake": f"{folder}/lake"})


JSON = {"conn_type": "spark_connect", "host": "h", "port": 443}
KEPT = {
    "a URI": ("spark-connect://h:443", "sc://h:443"),
    "no port": ("spark-connect://h", "sc://h:15002"),
    "an IPv6 address": ("spark-connect://[::1]:443", "sc://[::1]:443"),
    "a password": ("spark-connect://:s%3Bc%3D@h:443", "sc://h:443/;token=s%3Bc%3D"),
    "a user": ("spark-connect://me:pw@h:443", "sc://h:443/;user_id=me;token=pw"),
    "TLS": ("spark-connect://h:443/?use_ssl=True", "sc://h:443/;use_ssl=true"),
    "Airflow's own form of extra": ("spark-connect://h:443/?__extra__=%7B%22use_ssl%22%3A+true%7D", "sc://h:443/;use_ssl=true"),
    "Spark's own form": ("sc://h:443/;token=t;use_ssl=true;x-cluster-id=1", "sc://h:443/;token=t;use_ssl=true;x-cluster-id=1"),
    "JSON": (json.dumps({**JSON, "password": "pw", "extra": {"use_ssl": True}}), "sc://h:443/;token=pw;use_ssl=true"),
    "extra as text": (json.dumps({**JSON, "extra": '{"use_ssl": true}'}), "sc://h:443/;use_ssl=true"),
    "a header": (json.dumps({**JSON, "extra": {"x-cluster-id": "a b"}}), "sc://h:443/;x-cluster-id=a%20b"),
    "a session": (json.dumps({**JSON, "extra": {"user_agent": "r", "session_id": None}}), "sc://h:443/;user_agent=r"),
    "Spark's form, as Airflow reads it": (json.dumps({**JSON, "schema": ";use_ssl=true"}), "sc://h:443/;use_ssl=true"),
    "a host with the scheme": (json.dumps({**JSON, "host": "sc://h"}), "sc://h:443"),
    "a token without TLS here": ("sc://localhost/;token=t;use_ssl=false", "sc://localhost:15002/;token=t;use_ssl=false"),
}
REFUSED = {
    "no host": ("spark-connect://", "names no host"),
    "no URL": ("h:443", "names no host"),
    "a path": ("spark-connect://h/db", "path or schema"),
    "a schema": (json.dumps({**JSON, "schema": "db"}), "path or schema"),
    "a token with a slash": ("spark-connect://me:15/secret@h", "%2F"),
    "a token with a semicolon": ("sc://h/;token=a;Secret=", "%3B"),
    "a port that is none": ("spark-connect://h:no", "no port"),
    "a fragment": ("sc://h/;token=a#b", "`#`"),
    "two tokens": ("sc://:pw@h/;token=t", "`token` twice"),
    "TLS that is neither": ("sc://h/;use_ssl=maybe", "`use_ssl`"),
    "a token without TLS": ("sc://h/;token=secret;use_ssl=false", "`use_ssl`"),
    "a list": (json.dumps({**JSON, "extra": {"hosts": ["a"]}}), "`hosts`"),
    "a name that no header has": (json.dumps({**JSON, "extra": {"My Header": "x"}}), "the name of none"),
    "a part without a value": ("sc://h/;token", "`token`"),
    "JSON that is cut": ('{"host": "h"', "is not the JSON"),
    "extra that is none": (json.dumps({**JSON, "extra": "{"}), "is not the JSON"),
    "a session that is none": ("sc://h/;session_id=7", "`session_id`"),
}


@pytest.mark.parametrize("given", KEPT)
@pytest.mark.parametrize("where", ["AIRFLOW_CONN_SC", "REDOLAKE_SPARK_REMOTE", "Airflow"])
def test_each_parameter_of_a_connection_reaches_spark(
    given: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.connect.client import DefaultChannelBuilder

    from redolake.airflow import spark

    text, url = KEPT[given]
    if where == "Airflow":
        monkeypatch.setattr(spark, "connection_json", lambda conn_id: {"sc": text}[conn_id])
        assert spark.connect_url("sc") == url
    else:
        monkeypatch.setenv(where, text)
        assert remote_of(connected(tmp_path)) == url
    DefaultChannelBuilder(url)  # which takes it


@pytest.mark.parametrize("given", REFUSED)
@pytest.mark.parametrize("where", ["AIRFLOW_CONN_SC", "REDOLAKE_SPARK_REMOTE"])
def test_what_a_connection_cannot_pass_on_is_refused_by_name_and_no_token_is_shown(
    given: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, says = REFUSED[given]
    monkeypatch.setenv(where, text)

    with pytest.raises(ConfigurationError) as refused:
        remote_of(connected(tmp_path))
    assert says in str(refused.value)
    assert where in str(refused.value)
    assert not any(secret in str(refused.value) for secret in ("secret", "Secret", "pw", "a#b"))


@pytest.mark.parametrize(
    ("said", "code", "cure"),
    [
        ("StatusCode.UNAUTHENTICATED: Invalid authentication token", "ConfigurationError", "REDOLAKE_SPARK_TOKEN"),
        ("StatusCode.PERMISSION_DENIED", "ConfigurationError", "right"),
        ("UNAVAILABLE: Ssl handshake failed: WRONG_VERSION_NUMBER", "ConfigurationError", "REDOLAKE_SPARK_TOKEN"),
        ("StatusCode.UNAVAILABLE: CERTIFICATE_VERIFY_FAILED", "ConfigurationError", "certificate"),
        ("StatusCode.UNAVAILABLE: connection refused", "SparkLost", "wait"),
    ],
)  # fmt: skip
def test_a_server_that_refuses_says_what_to_do_and_shows_no_token(said: str, code: str, cure: str) -> None:
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    error = of_server(f"sc://h:15002/;token={TOKEN}", SparkConnectGrpcException(f"{said} sc://h:15002/;token={TOKEN}"))
    assert isinstance(error, RedolakeError)
    assert error.code == code
    assert cure in error.cure
    assert "h:15002" in str(error)
    assert TOKEN not in str(error)
