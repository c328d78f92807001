"""An option says itself whether existing rows fit after a change of it."""

from __future__ import annotations

from dataclasses import fields

import pytest

from redolake.config.pipeline_settings import PipelineSettings
from redolake.config.tables import TableSettings
from redolake.values.target_options import DEFAULT, TargetOptions

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
    of_table, of_pipeline = TableSettings.model_fields[option], PipelineSettings.model_fields.get(option)

    assert of_table.get_default(call_default_factory=True) in (None, (), {})
    assert of_pipeline is None or of_pipeline.get_default(call_default_factory=True) in (getattr(DEFAULT, option), {})
    assert of_pipeline is not None or of_table.get_default() == getattr(DEFAULT, option)
