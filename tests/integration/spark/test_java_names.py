"""A column costs one call to Java, not a question for its class and one for its method too."""

from __future__ import annotations

import pytest
from py4j.clientserver import ClientServerConnection
from pyspark.sql import functions as F

pytestmark = pytest.mark.spark


def test_a_column_costs_one_call_to_java(spark, monkeypatch) -> None:
    sent, send = [], ClientServerConnection.send_command

    def noting(connection: ClientServerConnection, command: str) -> str:
        sent.append(command)
        return send(connection, command)

    F.col("a")
    F.expr("1")
    monkeypatch.setattr(ClientServerConnection, "send_command", noting)
    F.col("b")
    F.expr("2")

    assert [command.splitlines()[1:3] for command in sent if not command.startswith("m")] == [
        ["z:org.apache.spark.sql.functions", "col"],
        ["z:org.apache.spark.sql.functions", "expr"],
    ]
