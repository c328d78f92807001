"""The assets that connect the DAGs: one for a pipeline's landing, and one per Delta table, for users' own DAGs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from airflow.sdk import Asset, AssetAlias

from pipelines.config import Pipeline
from pipelines.table import TableId


def landing_asset(pipeline: Pipeline) -> Asset:
    return Asset(name=f"{pipeline.name}.landing", uri=f"redolake://{pipeline.name}/landing")


def table_asset(pipeline: Pipeline, table: TableId) -> Asset:
    """Return the asset `<pipeline>.OWNER.NAME`; characters that asset names cannot have are percent-encoded."""
    name = quote(str(table), safe=".$#_")
    uri = f"redolake://{pipeline.name}/{quote(str(table), safe='.$_')}"
    return Asset(name=f"{pipeline.name}.{name}", uri=uri, extra={"target": pipeline.target(table)})


def tables_alias(pipeline: Pipeline) -> AssetAlias:
    """Return the alias to which events are added: plain outlets would publish an event for held tables too."""
    return AssetAlias(name=f"{pipeline.name}.tables")


def publish_table_events(events: Any, pipeline: Pipeline, complete_to: Mapping[str, object]) -> None:
    """Publish one event per table that advanced, with the SCN it is complete to. Keys of `complete_to` are `OWNER.NAME`."""
    for table in pipeline.tables:
        if str(table.id) in complete_to:
            scn = complete_to[str(table.id)]
            events[tables_alias(pipeline)].add(table_asset(pipeline, table.id), extra={"complete_to": scn})
