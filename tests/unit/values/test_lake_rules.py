"""What the lake cannot hold of a table is known from the names and types of its columns alone."""

from __future__ import annotations

import pytest

from redolake.values.lake_rules import LakeColumn, conflicts
from redolake.values.target_options import TargetOptions

ID, TEXT = LakeColumn("ID", "int"), LakeColumn("TEXT", "string")
ALL_OWN = ("_commit_scn", "_commit_time", "_op", "_xid", "_redo_thread")


def whats(*columns: LakeColumn, options: TargetOptions | None = None, has_rowid: bool = False) -> list[str]:
    return [found.what for found in conflicts(columns, options or TargetOptions(), has_rowid=has_rowid)]


def named(*names: str) -> list[LakeColumn]:
    return [LakeColumn(name, "string") for name in names]


def test_a_table_of_plain_columns_has_no_conflict() -> None:
    assert whats(ID, TEXT, LakeColumn("_odd name", "binary"), options=TargetOptions(partition_by=("TEXT",))) == []


@pytest.mark.parametrize("pair", [("id", "ID"), ("Straße", "STRAßE"), ("ß", "\u1e9e"), ("\u212a", "k"), ("ǆ", "ǅ"), ("é", "É")])
def test_names_that_delta_does_not_distinguish_are_a_conflict(pair: tuple[str, str]) -> None:
    (what,) = whats(*named(*pair))
    assert all(name in what for name in pair)


def test_names_that_differ_by_more_than_case_are_none() -> None:
    assert whats(*named("ß", "ss", "ı", "i", "é", "e\u0301", "σ", "ς", "ſ", "s")) == []


@pytest.mark.parametrize("name", ["_commit_scn", "_COMMIT_SCN", "_Op", "_deleted"])
def test_a_name_of_redolakes_own_columns_is_reserved_where_the_table_has_them(name: str) -> None:
    own = TargetOptions(metadata_columns=ALL_OWN, deletes="mark")
    assert any(name in what and "reserved" in what for what in whats(ID, *named(name), options=own))
    assert whats(ID, *named(name), options=TargetOptions(metadata_columns=())) == []


def test_rowid_is_reserved_where_rows_have_one_and_columns_of_the_change_feed_where_there_is_one() -> None:
    assert "reserved" in whats(*named("_rowid"), has_rowid=True)[0]
    assert whats(*named("_rowid")) == []
    feed = TargetOptions(properties=(("delta.enableChangeDataFeed", "true"),))
    assert "_commit_version" in whats(*named("_commit_version"), options=feed)[0]
    assert "a`b" in whats(*named("a`b"), options=feed)[0]
    assert whats(*named("a`b", "_commit_version", "_change_type")) == []


@pytest.mark.parametrize("name", ["_metadata", "_row_dropped_", "_SOURCE_ROW_PRESENT_", "_target_row_present_"])
def test_a_name_that_delta_gives_a_column_while_it_merges_is_reserved(name: str) -> None:
    (found,) = conflicts(named(name), TargetOptions(), has_rowid=False)
    assert (name in found.what, "do without" in found.cure) == (True, False)


def test_the_cure_names_the_setting_without_which_the_name_is_free() -> None:
    (found,) = conflicts(named("_commit_scn"), TargetOptions(), has_rowid=False)
    assert "`metadata_columns`" in found.cure
    assert "`key: rowid`" not in found.cure


def test_readers_of_any_engine_know_no_column_mapping() -> None:
    assert "column mapping" in whats(*named("a b"), options=TargetOptions(readers="any"))[0]
    assert whats(*named("a b")) == []


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (LakeColumn("X", "binary"), "bytes"),
        (LakeColumn("X", "string", is_large=True), "longer than a path"),
        (LakeColumn("X", "decimal(5,2)"), "fraction"),
        (LakeColumn("X", "double"), "-0 and 0"),
        (LakeColumn("X", "float"), "-0 and 0"),
    ],
)
def test_types_that_no_path_can_hold_are_refused_as_partitions(column: LakeColumn, why: str) -> None:
    (what,) = whats(ID, column, options=TargetOptions(partition_by=("X",)))
    assert why in what


@pytest.mark.parametrize("type_", ["int", "bigint", "decimal(38,0)", "string", "timestamp_ntz", "timestamp", "boolean"])
def test_types_that_every_reader_reads_from_a_path_are_partitions(type_: str) -> None:
    assert whats(ID, LakeColumn("X", type_), options=TargetOptions(partition_by=("X",))) == []


def test_a_layout_names_columns_that_are_there_once_and_leaves_one_outside() -> None:
    assert "does not have: GONE" in whats(ID, options=TargetOptions(partition_by=("GONE",)))[0]
    assert "twice: ID" in whats(ID, TEXT, options=TargetOptions(partition_by=("ID", "ID")))[0]
    assert "all columns" in whats(ID, options=TargetOptions(metadata_columns=(), partition_by=("ID",)))[0]
    assert whats(LakeColumn("id", "int"), TEXT, options=TargetOptions(column_names="lower", partition_by=("ID",))) == []
    assert "does not have: GONE" in whats(ID, options=TargetOptions(cluster_by=("GONE",)))[0]


def test_clustering_takes_four_columns_of_which_delta_keeps_minima() -> None:
    many = [LakeColumn(f"C{n}", "int") for n in range(40)]
    assert "5 columns" in whats(*many, options=TargetOptions(cluster_by=("C1", "C2", "C3", "C4", "C5")))[0]
    assert "C32" in whats(*many, options=TargetOptions(cluster_by=("C31", "C32")))[0]
    more = (("delta.dataSkippingNumIndexedCols", "40"),)
    assert whats(*many, options=TargetOptions(cluster_by=("C32",), properties=more)) == []
    assert "binary" in whats(LakeColumn("B", "binary"), options=TargetOptions(cluster_by=("B",)))[0]
