"""A column of Redolake's own is one row of a table."""

from __future__ import annotations

from typing import get_args

from redolake.apply.delta.evolve import removal
from redolake.apply.own_columns import TYPES
from redolake.values.own_columns import OWN_COLUMNS
from redolake.values.target_options import DELETED, MetadataName, TargetOptions


def test_each_column_that_can_be_chosen_has_a_row() -> None:
    assert [*OWN_COLUMNS] == [*get_args(MetadataName), DELETED]
    assert {column.type for column in OWN_COLUMNS.values()} == set(TYPES)


def test_a_truncate_marks_rows_with_the_values_of_the_rows() -> None:
    options = TargetOptions(metadata_columns=get_args(MetadataName), deletes="mark")

    assert removal("/lake/t", options, 7) == (
        "UPDATE delta.`/lake/t` SET _commit_scn = 7, _commit_time = NULL, _op = 'delete', _xid = NULL, _redo_thread = NULL, "
        "_deleted = true WHERE NOT _deleted"
    )
