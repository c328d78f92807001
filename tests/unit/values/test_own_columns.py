"""A column of Redolake's own is one row of a table."""

from __future__ import annotations

from typing import get_args

from redolake.apply.delta.evolve import removal
from redolake.apply.own_columns import own_fields
from redolake.values.own_columns import DELETED, OWN_COLUMNS, MetadataName
from redolake.values.target_options import TargetOptions


def test_each_column_that_can_be_chosen_has_a_row() -> None:
    assert [*OWN_COLUMNS] == [*get_args(MetadataName), DELETED]
    options = TargetOptions(metadata_columns=get_args(MetadataName), deletes="mark")
    assert [(one.name, one.dataType.simpleString()) for one in own_fields(options)] == [
        (name, column.type) for name, column in OWN_COLUMNS.items()
    ]


def test_a_truncate_marks_rows_with_the_values_of_the_rows() -> None:
    options = TargetOptions(metadata_columns=get_args(MetadataName), deletes="mark")

    assert removal("/lake/t", options, 7) == (
        "UPDATE delta.`/lake/t` SET _commit_scn = 7, _commit_time = NULL, _op = 'delete', _xid = NULL, _redo_thread = NULL, "
        "_deleted = true WHERE NOT _deleted"
    )
