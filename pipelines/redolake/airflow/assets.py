"""The assets that connect the DAGs: one for a pipeline's landing, and one per Delta table, for users' own DAGs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from airflow.sdk import Asset, AssetAlias

from redolake.config import Pipeline
from redolake.values.table import TableId


def group_of(pipeline: Pipeline) -> str:
    """Return the group under which Airflow lists a pipeline's assets together."""
    return f"redolake.{pipeline.name}"


def landing_asset(pipeline: Pipeline) -> Asset:
    return Asset(name=f"{pipeline.name}.landing", uri=f"redolake://{pipeline.name}/landing", group=group_of(pipeline))


def table_asset(pipeline: Pipeline, table: TableId) -> Asset:
    """Return the asset `<pipeline>.OWNER.NAME`; characters that asset names cannot have are percent-encoded."""
    name = quote(str(table), safe=".$#_")
    uri = f"redolake://{pipeline.name}/{quote(str(table), safe='.$_')}"
    return Asset(name=f"{pipeline.name}.{name}", uri=uri, group=group_of(pipeline), extra={"target": pipeline.target(table)})


def tables_alias(pipeline: Pipeline) -> AssetAlias:
    """Return the alias to which events are added: plain outlets would publish an event for held tables too."""
    return AssetAlias(name=f"{pipeline.name}.tables", group=group_of(pipeline))


def publish_table_events(
    events: Any,
    pipeline: Pipeline,
    advanced: Collection[str],
    complete_to: Mapping[str, int],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Publish one event for each of the tables `advanced`, with the SCN it is complete to now, and `more` facts. Tables are
    `OWNER.NAME`.

    Consumers use that SCN as a watermark. The SCN that a batch reached itself would be too low when the run of an older
    batch is cleared and runs again.
    """
    for name in sorted(advanced):
        if name in complete_to:
            asset = table_asset(pipeline, TableId.parse(name))
            events[tables_alias(pipeline)].add(asset, extra={"complete_to_scn": complete_to[name], **(more or {})})


def start_again(events: Any, pipeline: Pipeline, scn: int) -> None:
    """Publish an event of the landing for windows from `scn` on that wait, so that apply runs again at once."""
    events[tables_alias(pipeline)].add(landing_asset(pipeline), extra={"waiting_from": scn})
