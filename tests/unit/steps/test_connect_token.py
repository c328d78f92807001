"""A Spark Connect server runs code for whoever reaches it: clients send the token, and validate says where none is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake.config import Pipeline
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
    opened = list[Any]()
    for builder in (session.SparkSession.Builder, SparkSession.Builder):
        monkeypatch.setattr(builder, "create", lambda self: opened.append(self))
    connected_session(url, token)
    (found,) = opened
    channel = getattr(found, "_channel_builder", None) or DefaultChannelBuilder(found._options["spark.remote"])

    assert dict(channel.metadata()).get("authorization") == sent
    assert channel.secure is secure
