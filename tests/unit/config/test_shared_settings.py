"""What a table does not say is as the pipeline says it, whichever setting it is."""

from __future__ import annotations

from typing import Any

import pytest

from redolake.config import Pipeline
from redolake.config.shared_settings import SharedSettings
from redolake.values.table import TableId

PLACES = {"source": {"connection": "c"}, "landing": "/landing", "lake": "/lake"}
# Each with a value that is not the default, and the default.
SETTINGS: dict[str, tuple[Any, Any]] = {
    "rename": ({"A": "b"}, {}),
    "add": ({"shop": "'1'"}, {}),
    "mask": ({"EMAIL": "redact"}, {}),
    "readers": ("any", "spark"),
    "column_names": ("lower", "as_is"),
    "metadata_columns": ([], ["_commit_scn"]),
    "deletes": ("mark", "remove"),
    "properties": ({"owner": "us"}, {}),
    "unsupported_columns": ("exclude", "refuse"),
    "large_objects": ("exclude", "refuse"),
    "invalid_text": ("replace", "hold"),
    "history": ("changes", "none"),
    "change_data_feed": (True, False),
    "mask_key": ({"variable": "of_the_pipeline"}, {"connection": "of_the_table"}),
    "on_ddl": ({"narrow": "follow"}, {"narrow": "hold"}),
    "on_error": ({"transform": "quarantine"}, {"transform": "hold"}),
    "resnapshot": ({"max_rows": 5}, {"max_rows": 1_000_000}),
    "snapshot": ({"sessions": 7}, {"sessions": 4}),
}
MERGED = {"properties", "rename", "add", "mask"}


def pipeline(of_pipeline: dict[str, Any], of_table: dict[str, Any], entry: str = "table") -> Pipeline:
    return Pipeline.model_validate(
        {**PLACES, **of_pipeline, "tables": [{entry: "S.T" if entry == "table" else "S.*", **of_table}]}
    )


def setting(found: Pipeline, name: str) -> Any:
    return getattr(found.settings(TableId("S", "T")), name)


def test_each_setting_is_tried() -> None:
    assert set(SETTINGS) == set(SharedSettings.model_fields)


@pytest.mark.parametrize("entry", ["table", "match"])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_table_has_the_pipelines_setting_unless_it_says_its_own(name: str, entry: str) -> None:
    """Also where its own is the default."""
    other, default = ({name: value} for value in SETTINGS[name])
    of_pipeline, of_table = pipeline(other, {}, entry), pipeline(other, default, entry)

    assert setting(of_pipeline, name) == getattr(of_pipeline, name) != setting(pipeline({}, {}, entry), name)
    if name not in MERGED:
        assert setting(of_table, name) == setting(pipeline({}, default), name)
        assert of_table.settings_hash != of_pipeline.settings_hash


def test_a_group_and_a_list_of_names_are_completed() -> None:
    found = pipeline(
        {"on_error": {"value": "null", "at_most": {"rows": 5}}, "mask": {"*": "null", "A": "last4"}, "properties": {"a": "b"}},
        {"on_error": {"at_most": {"percent": 2}}, "mask": {"A*": "redact"}, "properties": {"c": "d"}},
    ).settings(TableId("S", "T"))

    assert (found.on_error.value, found.on_error.at_most.rows, found.on_error.at_most.percent) == ("null", 5, 2)
    assert list(found.mask.items()) == [("A*", "redact"), ("*", "null"), ("A", "last4")]
    assert found.properties == {"a": "b", "c": "d"}


def test_two_files_with_the_same_meaning_have_one_hash() -> None:
    """Whoever writes defaults out, or the pipeline's setting once more."""
    written_out = pipeline({"history": "changes"}, {"history": "changes", "key": "primary", "on_ddl": {"narrow": "hold"}})

    assert written_out.settings_hash == pipeline({"history": "changes"}, {}).settings_hash
