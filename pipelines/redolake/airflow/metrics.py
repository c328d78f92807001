"""Send what `redolake metrics` prints through Airflow's metric layer, to the StatsD, DogStatsD or OpenTelemetry that it is
configured for."""

from __future__ import annotations

import logging

from airflow.sdk.configuration import conf
from airflow.sdk.observability import stats

from redolake.config import Pipeline
from redolake.errors import RedolakeError

SWITCHES = ("statsd_on", "statsd_datadog_enabled", "otel_on")

log = logging.getLogger(__name__)


def send_metrics(pipeline: Pipeline) -> None:
    """Send every metric of the pipeline as a gauge. The ledger alone is read; where that fails, the task that calls goes on."""
    if not any(conf.getboolean("metrics", switch, fallback=False) for switch in SWITCHES):
        return
    from redolake.cockpit import read_overview
    from redolake.cockpit.metrics import samples
    from redolake.cockpit.overview import EVERY_TABLE
    from redolake.context import ledger_url, now

    try:
        found = read_overview(pipeline, ledger_url(pipeline), now(), tables=EVERY_TABLE)
    except RedolakeError as error:
        log.warning("no metrics were sent: %s", error)
        return
    for name, labels, value in samples(found):
        if value is not None:
            stats.gauge(stat_name(name, labels), value, tags=labels)


def stat_name(name: str, labels: dict[str, str]) -> str:
    """Return `redolake.<pipeline>.<metric>` and the values of the other labels: plain StatsD has no labels."""
    pipeline, *rest = labels.values()
    parts = ["redolake", pipeline, name.removeprefix("redolake_"), *(value.replace(" ", "_") for value in rest)]
    return str(stats.normalize_name_for_stats(".".join(parts)))
