"""What arrives at a StatsD server and at an OpenTelemetry collector through Airflow's own metric layer."""

from __future__ import annotations

import atexit
import socket
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.states.cockpit_ledger import CockpitLedger

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]


@contextmanager
def metrics_on(monkeypatch, **settings):
    """Switch Airflow's metrics on as its task runner does."""
    from airflow.sdk.observability import stats
    from airflow.sdk.observability.metrics.stats_utils import get_stats_factory

    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    stats.initialize(factory=get_stats_factory(), export_legacy_names=False)
    yield
    monkeypatch.undo()
    stats.initialize(factory=get_stats_factory(), export_legacy_names=False)


@pytest.fixture
def statsd(monkeypatch):
    """Return a StatsD server's socket, with Airflow's metrics switched on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        names = {"ON": "True", "HOST": "127.0.0.1", "PORT": server.getsockname()[1], "PREFIX": "airflow"}
        with metrics_on(monkeypatch, **{f"AIRFLOW__METRICS__STATSD_{name}": value for name, value in names.items()}):
            yield server


@pytest.fixture
def collector(monkeypatch):
    """Return the requests that an OpenTelemetry collector got over HTTP, with Airflow's metrics switched on."""
    from airflow.sdk._shared.observability.metrics.otel_logger import flush_otel_metrics
    from opentelemetry.metrics import get_meter_provider

    requests = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            requests.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Write nothing to stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        to_it = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "AIRFLOW__METRICS__OTEL_ON": "True"}
        with metrics_on(monkeypatch, **to_it, OTEL_EXPORTER_OTLP_COMPRESSION="none"):
            yield requests
            atexit.unregister(flush_otel_metrics)
            get_meter_provider().shutdown()
        server.shutdown()


@pytest.fixture
def shop(tmp_path):
    made = CockpitLedger(tmp_path, datetime.now(UTC))
    made.run()
    yield made
    made.ledger.close()


def test_the_metrics_of_a_pipeline_arrive_as_gauges(statsd, shop):
    from redolake.airflow.metrics import send_metrics

    shop.hold_stock()
    send_metrics(shop.pipeline)

    found = {}
    while "airflow.redolake.shop.tables_differing" not in found:  # the last one
        name, _, value = statsd.recv(4096).decode().partition(":")
        found[name] = value
    assert found["airflow.redolake.shop.tables.held"] == "1|g"
    assert found["airflow.redolake.shop.health.not_started"] == "0.0|g"
    assert 0 <= float(found["airflow.redolake.shop.lag_seconds"].removesuffix("|g")) < 1000


def test_the_metrics_of_a_pipeline_arrive_at_an_opentelemetry_collector_with_their_labels(collector, shop):
    from airflow.sdk._shared.observability.metrics.otel_logger import flush_otel_metrics
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    from redolake.airflow.metrics import send_metrics

    shop.run()
    shop.hold_stock()
    send_metrics(shop.pipeline)
    flush_otel_metrics()  # a task's process does it when it ends

    found = {}
    for path, body in collector:
        assert path == "/v1/metrics"
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                for point in metric.gauge.data_points:
                    labels = {one.key: one.value.string_value for one in point.attributes}
                    found[metric.name] = point.as_double or float(point.as_int), labels
    assert found["airflow.redolake.shop.tables.held"] == (1, {"pipeline": "shop", "state": "held"})
    assert found["airflow.redolake.shop.ddl_changes.add_column"] == (14, {"pipeline": "shop", "kind": "add_column"})
    assert 41 <= found["airflow.redolake.shop.lag_seconds"][0] < 1000


def test_a_ledger_that_cannot_be_read_does_not_fail_the_task(statsd, shop, caplog):
    from redolake.airflow.metrics import send_metrics

    away = shop.pipeline.ledger.model_copy(update={"url": "postgresql://redolake@127.0.0.1:1/ledger"})
    send_metrics(shop.pipeline.model_copy(update={"ledger": away}))

    assert "no metrics were sent" in caplog.text
