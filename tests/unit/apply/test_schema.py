"""The columns of a Delta table, and the reserved names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.apply.landed.findings import segment_text
from redolake.apply.schema import check_columns, target_schema
from redolake.apply.target import TargetColumn
from redolake.errors import SchemaConflict
from redolake.job.translation import TRANSLATION
from redolake.values.scn import Scn
from redolake.values.table import ROWID_COLUMN, Column, KeyKind, OracleType, TableId, TableVersion

TEXT = OracleType("VARCHAR2", length=9)


def version(kind: KeyKind, *names: str, key: tuple[int, ...] = ()) -> TableVersion:
    columns = tuple(Column(n, name, TEXT, n) for n, name in enumerate(names, 1))
    return TableVersion(TableId("S", "T"), Scn(1), 7, 7, columns, key, 9, kind)


def test_a_table_keyed_by_rowid_has_rowid_as_a_column_and_as_its_key() -> None:
    fields = target_schema(version("rowid", "A", key=(ROWID_COLUMN,)), {}, TRANSLATION).fields

    assert [f.name for f in fields] == ["A", "_rowid", "_commit_scn"]
    assert [f.metadata for f in fields][1] == {"redolake.column_id": 0, "redolake.key": 1}


def test_a_rowid_begins_with_its_segment_in_base_64() -> None:
    # facts/LOGMINER.md 5.4: AAAR3s of the examples is 73196
    assert [segment_text(n) for n in (0, 100, 73196, 2**32 - 1)] == ["AAAAAA", "AAAABk", "AAAR3s", "D/////"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (version("rowid", "A", "_ROWID", key=(ROWID_COLUMN,)), "are reserved for Redolake: _rowid"),
        (version("append", "_Commit_SCN"), "are reserved for Redolake: _commit_scn"),
        (version("primary", "A"), "no primary key"),
    ],
    ids=["a reserved ROWID", "a reserved commit SCN", "no key"],
)
def test_a_table_that_delta_could_not_store_is_refused(wrong: TableVersion, message: str) -> None:
    with pytest.raises(SchemaConflict, match=message):
        target_schema(wrong, {}, TRANSLATION)


def test_a_column_named_rowid_is_allowed_where_rowid_is_not_the_key() -> None:
    assert [f.name for f in target_schema(version("append", "_rowid"), {}, TRANSLATION).fields] == ["_rowid", "_commit_scn"]


def test_a_table_with_decimals_where_integers_are_due_is_told_how_to_keep_them() -> None:
    column = Column(1, "ID", OracleType("NUMBER", precision=9, scale=0), 1)
    nine = replace(version("append", "ID"), columns=(column,))
    have = {1: TargetColumn(1, "ID", "decimal(9,0)")}

    with pytest.raises(SchemaConflict) as caught:
        check_columns(nine, {}, have, TRANSLATION)

    assert 'columns: {ID: "decimal(9,0)"}' in caught.value.cure
    check_columns(nine, {1: "decimal(9,0)"}, have, TRANSLATION)
