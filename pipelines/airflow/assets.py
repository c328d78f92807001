"""The assets that join the DAGs: one for a pipeline's landing, one for each Delta table that users' own DAGs may wait for."""

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
    """Named `<pipeline>.OWNER.NAME`; what an asset's name cannot carry is percent-encoded."""
    name = quote(str(table), safe=".$#_")
    uri = f"redolake://{pipeline.name}/{quote(str(table), safe='.$_')}"
    return Asset(name=f"{pipeline.name}.{name}", uri=uri, extra={"target": pipeline.target(table)})


def tables_alias(pipeline: Pipeline) -> AssetAlias:
    """An alias emits only the assets added to it; plain outlets would announce held tables too."""
    return AssetAlias(name=f"{pipeline.name}.tables")


def announce(events: Any, pipeline: Pipeline, complete_to: Mapping[str, object]) -> None:
    """One event per table that advanced, with the SCN it is complete to. The keys are `OWNER.NAME` as the steps spell it."""
    for table in pipeline.tables:
        if str(table.id) in complete_to:
            scn = complete_to[str(table.id)]
            events[tables_alias(pipeline)].add(table_asset(pipeline, table.id), extra={"complete_to": scn})
