"""The error of a change that is not understood, and its cure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.apply.landed.check_changes import check_finding, check_merged
from redolake.decode.changes import decode_changes
from redolake.errors import InvariantBroken, RedoNotUnderstood
from redolake.records.batches.spec import Course, Destination, TableTask
from redolake.values.scn import Scn
from redolake.values.table import Column, IgnoredColumn, OracleType, TableId, TableVersion
from redolake.values.terms import RowCounts
from tests.unit.decode.redo_text import insert, redo_batch

VERSION = TableVersion(TableId("S", "T"), Scn(1), 7, 7, (Column(1, "U", OracleType("UROWID"), 1),), (1,), 2)


@pytest.mark.parametrize("organization", ["heap", "index"])
def test_a_value_that_logminer_does_not_show_is_read_again_or_left_out(organization: str) -> None:
    version = replace(VERSION, organization=organization)
    (row,) = decode_changes(redo_batch((1, insert(["U"], ["Unsupported Type"]))), version, {}).to_pylist()
    found = {"code": "RedoNotUnderstood", "what": row["error"], "scn": 5, "commit_scn": 6}

    with pytest.raises(RedoNotUnderstood) as caught:
        check_finding(TableTask(version.table, Destination("/lake/t", "p/S.T/1"), Course((version,))), found)

    assert ("`unsupported_columns: reread`" in (caught.value.cure or "")) == (organization == "heap")
    assert "`exclude_columns` of S.T" in (caught.value.cure or "")
    assert "redolake snapshot S.T --replace" in (caught.value.cure or "")


def test_another_error_of_a_row_is_cured_by_a_new_snapshot() -> None:
    found = {"code": "RedoNotUnderstood", "what": "the redo cannot be decoded: not understood", "scn": 5, "commit_scn": 6}

    with pytest.raises(RedoNotUnderstood) as caught:
        check_finding(TableTask(VERSION.table, Destination("/lake/t", "p/S.T/1"), Course((VERSION,))), found)

    assert "unsupported_columns" not in (caught.value.cure or "")


LONG = "A_NAME_OF_MORE_THAN_THIRTY_BYTES"
UNSUPPORTED = "LogMiner cannot show a change of the table (UNSUPPORTED), transaction 1.2.3 SCN 5"
NAMED_AT_LENGTH = {
    "a column": (replace(VERSION, columns=(*VERSION.columns, Column(2, LONG, OracleType("DATE"), 2))), LONG, "RENAME COLUMN"),
    "a column of some characters and more bytes": (
        replace(VERSION, columns=(*VERSION.columns, Column(2, "Ü" * 16, OracleType("DATE"), 2))), "Ü" * 16, "RENAME COLUMN",
    ),
    "a column that is left out": (replace(VERSION, ignored=(IgnoredColumn(2, "excluded", LONG),)), LONG, "RENAME COLUMN"),
    "the table": (replace(VERSION, renamed_to=TableId("S", LONG)), LONG, "RENAME TO"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED_AT_LENGTH)
def test_rows_that_logminer_does_not_show_for_a_long_name_say_so(name: str) -> None:
    version, long, cure = NAMED_AT_LENGTH[name]
    found = {"code": "RedoNotUnderstood", "what": UNSUPPORTED, "scn": 5, "commit_scn": 6}

    with pytest.raises(RedoNotUnderstood) as caught:
        check_finding(TableTask(version.table, Destination("/lake/t", "p/S.T/1"), Course((VERSION, version))), found)
    with pytest.raises(RedoNotUnderstood) as without:
        check_finding(TableTask(version.table, Destination("/lake/t", "p/S.T/1"), Course((VERSION,))), found)

    assert f"names over 30 bytes: {long}" in caught.value.what
    assert cure in (caught.value.cure or "")
    assert "redolake snapshot S.T --replace" in (caught.value.cure or "")
    assert "30 bytes" not in str(without.value)


TASK = TableTask(VERSION.table, Destination("/lake/t", "p/S.T/1"), Course((VERSION,)))


@pytest.mark.parametrize("merged", [RowCounts(), RowCounts(inserted=1, updated=1, deleted=1), RowCounts(deleted=3)])
def test_a_merge_that_wrote_fewer_rows_than_it_had_to_write_is_an_error(merged: RowCounts) -> None:
    with pytest.raises(InvariantBroken, match="3 rows were to be written") as caught:
        check_merged(TASK, merged, 3)
    assert "redolake snapshot S.T --replace" in (caught.value.cure or "")


@pytest.mark.parametrize("merged", [RowCounts(inserted=1, updated=2), RowCounts(inserted=3, deleted=5), RowCounts(updated=4)])
def test_rows_that_are_written_or_marked_beside_them_are_none(merged: RowCounts) -> None:
    check_merged(TASK, merged, 3)


def test_a_merge_whose_rows_were_not_counted_is_not_checked() -> None:
    check_merged(TASK, RowCounts(), None)
