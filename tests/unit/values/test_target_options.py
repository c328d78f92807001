"""An option says itself whether existing rows fit after a change of it."""

from __future__ import annotations

from dataclasses import fields

import pytest

from redolake.config import Pipeline
from redolake.config.pipeline_settings import PipelineSettings
from redolake.values.table import TableId
from redolake.values.target_options import DEFAULT, TargetOptions

PLACES = {"source": {"connection": "c"}, "landing": "/landing", "lake": "/lake"}
OTHER = TargetOptions("any", "lower", (), "mark", (("a", "b"),), ("C",), ("P",))


@pytest.mark.parametrize(
    ("new_snapshot", "expected"),
    [(True, ["column_names", "metadata_columns", "deletes", "partition_by"]), (False, ["readers", "properties", "cluster_by"])],
)
def test_an_option_needs_a_new_snapshot_or_is_followed(new_snapshot: bool, expected: list[str]) -> None:
    assert list(OTHER.differing(DEFAULT, new_snapshot=new_snapshot)) == expected
    assert list(OTHER.differing(OTHER, new_snapshot=new_snapshot)) == []


@pytest.mark.parametrize("option", [field.name for field in fields(TargetOptions)])
def test_a_table_has_each_option_and_without_its_own_it_has_the_pipelines(option: str) -> None:
    def chosen(of_table: object = None, of_pipeline: object = None) -> object:
        own, every = ({} if value is None else {option: value} for value in (of_table, of_pipeline))
        pipeline = Pipeline.model_validate({**PLACES, **every, "tables": [{"table": "S.T", **own}]})
        return getattr(pipeline.target_options(TableId("S", "T")), option)

    default, other = getattr(DEFAULT, option), getattr(OTHER, option)
    given = dict(other) if option == "properties" else other
    assert chosen() == default
    assert chosen(given) == other
    if option in PipelineSettings.model_fields:
        assert chosen(None, given) == other
        assert chosen(dict(default) if option == "properties" else default, given) == (
            other if option == "properties" else default
        )
