"""A small table merged in this process has the rows that MERGE would leave; what MERGE would refuse is left to it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.apply.delta.small_merge import (
    SPARKS_TURN,
    arrow_type,
    as_parquet,
    is_sparks_turn,
    merge_tables,
    read_files,
    takes_rows,
)
from redolake.apply.delta.table import BYTES_A_CHANGE, REWRITTEN_BYTES, DeltaTable
from redolake.apply.target import REMOVE, REPLACE, UPSERT, NetColumns, TargetColumn
from redolake.host import filesystem
from redolake.host.filesystem import open_filesystem
from redolake.values.own_columns import DELETED
from redolake.values.target_options import TargetOptions
from redolake.values.terms import RowCounts

KEYS = {
    "integer": [0, 1, -(2**31), 2**31 - 1],
    "long": [0, -1, -(2**63), 2**63 - 1],
    "string": ["", "a", "A", "a "],
    "binary": [b"", b"\0", b"a", b"a\0"],
    "date": [date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(9999, 12, 31)],
    "timestamp_ntz": [
        datetime(1, 1, 1),
        datetime(1582, 10, 10),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
        datetime(2026, 1, 1),
    ],
    "decimal(38,0)": [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(0), Decimal(2**63)],
    "decimal(18,2)": [Decimal("1234567890123456.78"), Decimal("1234567890123456.77"), Decimal("0.00"), Decimal("-0.01")],
}
MARKS = TargetOptions(metadata_columns=("_commit_scn",), deletes="mark")
REMOVES = TargetOptions(metadata_columns=("_commit_scn",))
OWN = {"_commit_scn": pa.int64(), DELETED: pa.bool_()}


def there_and_net(
    key: str, rows: Sequence[tuple[Any, ...]], changes: Sequence[tuple[Any, ...]], options: TargetOptions
) -> tuple[pa.Table, pa.Table]:
    """`rows` are (key, value, own columns), `changes` are (op, key, value, is unknown, own columns)."""
    type_, own = arrow_type(key), [pa.field(name, OWN[name]) for name in options.own_columns]
    there = pa.schema([("K", type_), ("V", pa.string()), *own])
    net = pa.schema([("op", pa.string()), ("k1", type_), ("a1", type_), ("a2", pa.string()), ("u2", pa.bool_()), *own])
    return from_rows(there, rows), from_rows(net, [(op, k, None if op == REMOVE else k, *rest) for op, k, *rest in changes])


def from_rows(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    return pa.table([pa.array([row[n] for row in rows], field.type) for n, field in enumerate(schema)], schema=schema)


def model(
    rows: Sequence[tuple[Any, ...]], changes: Sequence[tuple[Any, ...]], marks: bool
) -> tuple[dict[Any, tuple[Any, ...]], RowCounts] | None:
    """Return the rows by key as merge_sql says it, change by change."""
    found, counts = {row[0]: row for row in rows}, dict.fromkeys(("inserted", "updated", "deleted"), 0)
    for op, key, value, unknown, *own in changes:
        old = found.get(key)
        if old is not None and op == REPLACE and marks and old[-1]:
            old = None
        if old is None:
            if op != UPSERT:
                continue
            if unknown:
                return None
            found[key] = (key, value, *own)
            counts["inserted"] += 1
        elif op == REMOVE and not marks:
            del found[key]
            counts["deleted"] += 1
        elif op == REMOVE:
            found[key] = (*old[:2], *own)
            counts["updated"] += 1
        else:
            if unknown and marks and old[-1]:
                return None
            found[key] = (key, old[1] if unknown else value, *own)
            counts["updated"] += 1
    return found, RowCounts(**counts)


@pytest.mark.parametrize("deletes", ["remove", "mark"])
@pytest.mark.parametrize("key", KEYS)
def test_rows_and_counts_are_those_of_the_model(key: str, deletes: str) -> None:
    options, columns = (
        (MARKS if deletes == "mark" else REMOVES),
        {1: TargetColumn(1, "K", key), 2: TargetColumn(2, "V", "string")},
    )
    for seed in range(40):
        chance, marks = random.Random(seed), deletes == "mark"
        keys = KEYS[key]
        rows = [
            (k, chance.choice(["x", None]), 1, *([chance.choice([True, False])] if marks else []))
            for k in chance.sample(keys, chance.randint(0, 4))
        ]
        changes = [
            (op := chance.choice([UPSERT, UPSERT, REMOVE, REPLACE]), k, f"new {seed}", chance.random() < 0.2, 2)
            + ((op == REMOVE,) if marks else ())
            for k in chance.sample(keys, chance.randint(1, 4))
        ]
        there, net = there_and_net(key, rows, changes, options)

        found, wanted = merge_tables(there, net, columns, NetColumns((1,), missing=(2,)), options), model(rows, changes, marks)

        if wanted is None:
            assert found is None
            continue
        assert found is not None
        after = [tuple(row.values()) for row in found[0].to_pylist()]
        assert ({row[0]: row for row in after}, len(after), found[1]) == (wanted[0], len(wanted[0]), wanted[1])
        assert found[0].schema == there.schema


def test_a_key_of_several_columns_names_one_row() -> None:
    columns = {n: TargetColumn(n, name, type_) for n, (name, type_) in enumerate([("k0", "integer"), ("new", "string")], 1)}
    there = pa.table({"k0": pa.array([1, 1, 2], pa.int32()), "new": ["a", "b", "a"], "_commit_scn": pa.array([1] * 3)})
    net = pa.table(
        {
            "op": [REMOVE, UPSERT],
            "k1": pa.array([1, 2], pa.int32()),
            "k2": ["b", "b"],
            "a1": pa.array([None, 2], pa.int32()),
            "a2": [None, "b"],
            "_commit_scn": pa.array([2, 2]),
        }
    )

    rows, counts = merge_tables(there, net, columns, NetColumns((1, 2)), REMOVES) or (None, None)

    assert counts == RowCounts(inserted=1, deleted=1)
    assert rows.to_pydict() == {"k0": [1, 2, 2], "new": ["a", "a", "b"], "_commit_scn": [1, 1, 2]}


@pytest.mark.parametrize(
    ("there", "changed"),
    [
        pytest.param([1, 1], [1], id="a key is in the target twice"),
        pytest.param([1], [1, 1], id="two changes of one row"),
        pytest.param([1], [None], id="a change without a key"),
    ],
)
def test_what_names_no_single_row_is_left_to_merge(there: list[Any], changed: list[Any]) -> None:
    columns = {1: TargetColumn(1, "K", "integer"), 2: TargetColumn(2, "V", "string")}
    rows, net = there_and_net("integer", [(k, "x", 1) for k in there], [(UPSERT, k, "y", False, 2) for k in changed], REMOVES)

    assert merge_tables(rows, net, columns, NetColumns((1,)), REMOVES) is None


def test_a_column_that_somebody_has_added_to_the_table_is_left_to_merge() -> None:
    columns = {1: TargetColumn(1, "K", "integer"), 2: TargetColumn(2, "V", "string")}
    rows, net = there_and_net("integer", [(1, "x", 1)], [(UPSERT, 1, "y", False, 2)], REMOVES)

    assert merge_tables(rows.append_column("NOTE", pa.array(["theirs"])), net, columns, NetColumns((1,)), REMOVES) is None


def test_numbers_with_a_point_are_no_key() -> None:
    columns = {1: TargetColumn(1, "K", "double"), 2: TargetColumn(2, "V", "string")}
    rows, net = there_and_net("double", [(0.0, "x", 1)], [(UPSERT, -0.0, "y", False, 2)], REMOVES)

    assert merge_tables(rows, net, columns, NetColumns((1,)), REMOVES) is None


def test_a_file_has_the_types_that_spark_writes_and_no_minima() -> None:
    values = {"n": pa.array([Decimal("1.50")], pa.decimal128(9, 2)), "m": pa.array([Decimal(1)], pa.decimal128(18, 0))}
    values |= {"b": pa.array([Decimal(1)], pa.decimal128(38, 0)), "t": pa.array([datetime(1, 1, 1)], pa.timestamp("us"))}
    values |= {"d": pa.array([float("nan")]), "z": pa.array([datetime(1, 1, 1)], pa.timestamp("us", "UTC"))}

    parquet = pq.ParquetFile(pa.BufferReader(as_parquet(pa.table(values))))

    types = [parquet.schema.column(n).physical_type for n in range(6)]
    assert types == ["INT32", "INT64", "FIXED_LEN_BYTE_ARRAY", "INT64", "DOUBLE", "INT64"]
    assert all(parquet.metadata.row_group(0).column(n).statistics is None for n in range(6))
    assert [str(parquet.schema_arrow.field(name).type) for name in "tz"] == ["timestamp[us]", "timestamp[us, tz=UTC]"]


def test_a_file_names_its_calendar_as_spark_does() -> None:
    """Without the writer's name, Spark 3 refuses dates before 1582 and timestamps before 1900: they may be Julian."""
    parquet = pq.ParquetFile(pa.BufferReader(as_parquet(pa.table({"d": pa.array([date(1, 1, 1)])}))))

    assert (parquet.metadata.metadata or {}).get(b"org.apache.spark.version", b"") >= b"3.0.0"
    assert b"org.apache.spark.legacyDateTime" not in parquet.metadata.metadata


@pytest.mark.parametrize(
    ("written", "is_read"),
    [
        pytest.param({"org.apache.spark.version": "3.0.0"}, True, id="as Spark writes today"),
        pytest.param({}, True, id="by another writer"),
        pytest.param({"org.apache.spark.version": "4.1.0", "org.apache.spark.legacyDateTime": ""}, False, id="in Julian days"),
        pytest.param({"org.apache.spark.version": "2.4.8"}, False, id="by Spark 2"),
    ],
)
def test_a_file_of_the_julian_calendar_is_left_to_merge(tmp_path: Path, written: dict[str, str], is_read: bool) -> None:
    """Spark moves the old dates that it reads from such a file. As they stand, they would be other days."""
    rows = pa.table({"d": pa.array([date(1500, 1, 1)])})
    with pq.ParquetWriter(tmp_path / "f.parquet", rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(written)
    log = table_with(tmp_path).log
    assert log is not None

    assert read_files(log, ["f.parquet"], rows.schema) == (rows if is_read else None)


# --- Which tables ------------------------------------------------------------------------------------------------------------

PLAIN = {"name": "ID", "type": "long", "nullable": True, "metadata": {"redolake.column_id": 1, "comment": "the key"}}
NTZ = {"readerFeatures": ["timestampNtz"], "writerFeatures": ["timestampNtz", "appendOnly", "invariants"]}
NAMED = {"minReaderVersion": 3, "minWriterVersion": 7, **NTZ}
OTHERS: dict[str, dict[str, Any]] = {
    "a large table": {"size": REWRITTEN_BYTES + 1},
    "a table of unknown size": {"size": None},
    "a partitioned table": {"metaData": {"partitionColumns": ["ID"]}},
    "rows that other programs follow": {"metaData": {"configuration": {"delta.enableChangeDataFeed": "true"}}},
    "an append-only table": {"metaData": {"configuration": {"delta.appendOnly": "true"}}},
    "in-commit timestamps": {"metaData": {"configuration": {"delta.enableInCommitTimestamps": "true"}}},
    "a constraint": {"metaData": {"configuration": {"delta.constraints.c": "ID > 0"}}},
    "another interval of checkpoints": {"metaData": {"configuration": {"delta.checkpointInterval": "7"}}},
    "a property of a later Delta": {"metaData": {"configuration": {"delta.somethingNew": "true"}}},
    "constraints by the older protocol": {"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}},
    "column mapping by the older protocol": {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
    "a protocol of later": {"protocol": {"minReaderVersion": 4, "minWriterVersion": 8}},
    "a column that takes no NULL": {"field": {"nullable": False}},
    "a rule in a column": {"field": {"metadata": {"redolake.column_id": 1, "delta.invariants": "{}"}}},
    "a default in a column": {"field": {"metadata": {"redolake.column_id": 1, "CURRENT_DEFAULT": "7"}}},
    "a column of columns": {"field": {"type": {"type": "array", "elementType": "long", "containsNull": True}}},
    "a type of a later Delta": {"field": {"type": "variant"}},
    "a store that keeps no two writers apart": {"path": "sftp://host/lake/t"},
}
OTHERS |= {
    f"the feature {name}": {"protocol": {**NAMED, "writerFeatures": [*NTZ["writerFeatures"], name]}}
    for name in (
        "deletionVectors", "columnMapping", "typeWidening", "rowTracking", "domainMetadata", "clustering", "changeDataFeed",
        "checkConstraints", "generatedColumns", "identityColumns", "allowColumnDefaults", "inCommitTimestamp", "v2Checkpoint",
        "icebergCompatV2", "collations", "catalogManaged",
    )
}  # fmt: skip


def table_with(folder: Path, **other: Any) -> DeltaTable:
    """Return a table that differs from a plain one."""
    version, log = other.get("commits", 3) - 1, folder / "_delta_log"
    log.mkdir()
    field = {**PLAIN, **other.get("field", {})}
    metadata = {
        "schemaString": json.dumps({"type": "struct", "fields": [field]}),
        "configuration": {"redolake.table": "SHOP.T"},
    }
    size = other.get("size", 1000)
    info = {"userMetadata": json.dumps({"redolake": {} if size is None else {"bytes": size}})}
    protocol = other.get("protocol", {"minReaderVersion": 1, "minWriterVersion": 2})
    actions = [{"commitInfo": info}, {"metaData": {**metadata, **other.get("metaData", {})}}, {"protocol": protocol}]
    for number in range(version + 1):
        (log / f"{number:020d}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
    found = DeltaTable(None, str(folder), "p/SHOP.T/1")  # type: ignore[arg-type]
    assert found.version == version
    found.path = other.get("path", found.path)
    return found


@pytest.mark.parametrize("protocol", [{"minReaderVersion": 1, "minWriterVersion": 2}, NAMED])
def test_a_small_plain_table_takes_rows(tmp_path: Path, protocol: dict[str, Any]) -> None:
    assert takes_rows(table_with(tmp_path, protocol=protocol), 1)


@pytest.mark.parametrize("other", OTHERS)
def test_any_other_table_is_left_to_merge(tmp_path: Path, other: str) -> None:
    assert not takes_rows(table_with(tmp_path, **OTHERS[other]), 1)


@pytest.mark.parametrize(("commits", "is_sparks"), [(SPARKS_TURN - 1, False), (SPARKS_TURN, True), (SPARKS_TURN + 1, False)])
def test_spark_makes_the_commit_that_has_a_checkpoint(tmp_path: Path, commits: int, is_sparks: bool) -> None:
    log = table_with(tmp_path, commits=commits).log
    assert log is not None
    assert is_sparks_turn(log) == is_sparks


def test_a_table_is_rewritten_for_changes_that_are_not_much_smaller(tmp_path: Path) -> None:
    """5 MiB are written again for 20,000 changes, and not for five."""
    changes = 20_000
    table = table_with(tmp_path, size=BYTES_A_CHANGE * changes)
    assert [takes_rows(table, number) for number in (5, changes - 1, changes)] == [False, False, True]


class Settings(dict[str, str]):
    """What is asked of a session."""

    @property
    def conf(self) -> Settings:
        return self


@pytest.mark.parametrize("prefix", ["spark.", ""])
@pytest.mark.parametrize("setting", ["delta.logStore.s3a.impl", "delta.logStore.class"])
def test_a_chosen_log_store_is_left_to_merge(tmp_path: Path, setting: str, prefix: str) -> None:
    """S3DynamoDBLogStore decides who commits by a table of its own, and may write over a commit that is not there. Delta takes
    the setting without Spark's prefix too."""
    table = table_with(tmp_path)
    table.path = "s3a://lake/t"
    table.spark = Settings()  # type: ignore[assignment]
    assert takes_rows(table, 1)
    table.spark = Settings({f"{prefix}{setting}": "io.delta.storage.S3DynamoDBLogStore"})  # type: ignore[assignment]
    assert not takes_rows(table, 1)


@pytest.mark.parametrize("ignores", [True, False])
def test_a_store_that_creates_a_file_twice_is_left_to_merge(
    bucket: str, ignores: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older S3-compatible stores ignore the condition: the second commit of a version would replace the first one."""
    path = f"s3://{bucket}/lake/t"
    store, root = open_filesystem(path)
    monkeypatch.setattr(filesystem, "_proven", set())
    if ignores:
        real = store.pipe_file
        monkeypatch.setattr(store, "pipe_file", lambda path, body, mode: real(path, body))

    found = filesystem.keeps_apart(store, path, f"{root}/_created-once")

    assert (found, store.find(f"s3://{bucket}")) == (not ignores, [])


def test_no_table_takes_no_rows(tmp_path: Path) -> None:
    assert not takes_rows(DeltaTable(None, str(tmp_path), "p/SHOP.T/1"), 1)  # type: ignore[arg-type]
