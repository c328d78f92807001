"""Read a Delta table with Arrow alone: the transaction log replayed, then its Parquet files.

Starts no Spark, so a comparison costs milliseconds. Tables of some rows have no deletion vectors and no checkpoint that
replaces their first commits; such a table is refused.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from redolake.apply.delta.log import read_log

TYPES = {
    "timestamp": pa.timestamp("us", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "timestamp_ntz": pa.timestamp("us"),
}


def position_of(path: str, app_id: str) -> int | None:
    """Return the position of the table's contents; None when there is no table, or no commit of that application id."""
    log = read_log(path)
    return None if log is None else log.position(app_id)


def read_delta(path: str | Path, version: int | None = None) -> pa.Table:
    """Return the table as of a version, by default the newest, under its column names."""
    metadata, files = replay(Path(path), version)
    fields = json.loads(metadata["schemaString"])["fields"]
    empty = pa.schema([(field["name"], arrow_type(field["type"])) for field in fields]).empty_table()
    parts = [columns_of(pq.ParquetFile(Path(path) / file).read(), fields) for file in files]
    return pa.concat_tables([empty, *parts])


def delta_rows(path: str | Path) -> list[dict[str, Any]]:
    """Return the table's rows without `_commit_scn`, the column that is ours."""
    return [{name: value for name, value in row.items() if name != "_commit_scn"} for row in read_delta(path).to_pylist()]


def rows_left(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a shadow that were there at its range's end, without the columns that are ours."""
    return [{n: v for n, v in row.items() if n != "_deleted"} for row in delta_rows(path) if not row["_deleted"]]


def replay(path: Path, version: int | None = None) -> tuple[dict[str, Any], list[str]]:
    """Return the metadata and the paths of the data files of a version, by default of the newest."""
    metadata: dict[str, Any] = {}
    files: dict[str, None] = {}
    commits = sorted(file for file in (path / "_delta_log").glob("*.json") if re.fullmatch(r"\d{20}", file.stem))
    assert [int(file.stem) for file in commits] == list(range(len(commits))), f"{path}: read it with Spark, commits are missing"
    for commit in commits if version is None else commits[: version + 1]:
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            metadata = action.get("metaData", metadata)
            if "remove" in action:
                files.pop(unquote(action["remove"]["path"]), None)
            if "add" in action:
                assert not action["add"].get("deletionVector"), f"{path}: read it with Spark, it has deletion vectors"
                files[unquote(action["add"]["path"])] = None
    return metadata, list(files)


def columns_of(part: pa.Table, fields: list[dict[str, Any]]) -> pa.Table:
    """Return a file's columns under their names and types of today; a column added since is NULL in it."""
    columns = {}
    for field in fields:
        physical, kind = field["metadata"].get("delta.columnMapping.physicalName", field["name"]), arrow_type(field["type"])
        there = physical in part.column_names
        columns[field["name"]] = part[physical].cast(kind) if there else pa.nulls(part.num_rows, kind)
    return pa.table(columns)


def arrow_type(delta_type: str) -> pa.DataType:
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", delta_type)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else TYPES[delta_type]


def latest_version(path: str) -> int | None:
    """Return None when no Delta table is there."""
    log = read_log(path)
    return None if log is None else log.version
