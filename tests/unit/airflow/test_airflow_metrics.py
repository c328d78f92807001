"""What arrives at a StatsD server through Airflow's own metric layer."""

from __future__ import annotations

import socket
from datetime import UTC, datetime

import pytest

from tests.cockpit_ledger import CockpitLedger

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]


@pytest.fixture
def statsd(monkeypatch):
    """Return a StatsD server's socket, with Airflow's metrics switched on as its task runner does."""
    from airflow.sdk.observability import stats
    from airflow.sdk.observability.metrics.stats_utils import get_stats_factory

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        for name, value in (("ON", "True"), ("HOST", "127.0.0.1"), ("PORT", server.getsockname()[1]), ("PREFIX", "airflow")):
            monkeypatch.setenv(f"AIRFLOW__METRICS__STATSD_{name}", str(value))
        stats.initialize(factory=get_stats_factory(), export_legacy_names=False)
        yield server
    monkeypatch.undo()
    stats.initialize(factory=get_stats_factory(), export_legacy_names=False)


@pytest.fixture
def shop(tmp_path):
    made = CockpitLedger(tmp_path, datetime.now(UTC))
    made.run()
    yield made
    made.ledger.close()


def test_the_metrics_of_a_pipeline_arrive_as_gauges(statsd, shop):
    from pipelines.airflow.metrics import send_metrics

    shop.hold_stock()
    send_metrics(shop.pipeline)

    found = {}
    while "airflow.redolake.shop.tables_differing" not in found:  # the last one
        name, _, value = statsd.recv(4096).decode().partition(":")
        found[name] = value
    assert found["airflow.redolake.shop.tables.held"] == "1|g"
    assert found["airflow.redolake.shop.health.not_started"] == "0.0|g"
    assert 0 <= float(found["airflow.redolake.shop.lag_seconds"].removesuffix("|g")) < 1000


def test_a_ledger_that_cannot_be_read_does_not_fail_the_task(statsd, shop, caplog):
    from pipelines.airflow.metrics import send_metrics

    away = shop.pipeline.ledger.model_copy(update={"url": "postgresql://redolake@127.0.0.1:1/ledger"})
    send_metrics(shop.pipeline.model_copy(update={"ledger": away}))

    assert "no metrics were sent" in caplog.text
