"""Merge few changes into a small table in this process: its files are read, and written again as one, by one commit.

Spark plans a MERGE for longer than a second, however few its rows are. `takes_rows` says which tables are written here: those
that have no feature, rule or type but what this module knows. All others, and each case in which MERGE would refuse a row, are
left to MERGE.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyspark

from redolake.apply.delta.commit import text_of
from redolake.apply.delta.log import BYTES, DeltaLog
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import Writer, changed_meanwhile
from redolake.apply.schema import OURS
from redolake.apply.target import REMOVE, REPLACE, UPSERT, NetColumns, TargetColumn
from redolake.host.filesystem import (
    CREATES_ONCE,
    Modes,
    create_local,
    create_object,
    is_local_filesystem,
    keeps_apart,
    protocol_of,
    storage_errors,
)
from redolake.values import frames
from redolake.values.common_type import DECIMAL
from redolake.values.lake_rules import MEASURED, NAMED_MEASURED
from redolake.values.own_columns import DELETED
from redolake.values.target_options import TargetOptions
from redolake.values.terms import RowCounts

MOST_ROWS, MOST_IN_MEMORY = 100_000, 32 << 20  # of the table, as a file of few bytes may have many: equal texts are there once
BATCH = 1_000  # rows that are read before their bytes are counted
# Spark writes a checkpoint in a commit of its own whose version is a multiple of Delta's interval, 10.
SPARKS_TURN = 20
FEATURES = frozenset({"timestampNtz", "appendOnly", "invariants"})
# Properties of Delta that say nothing of how rows are written: files of ours have no minima and maxima.
PROPERTIES = frozenset({MEASURED, NAMED_MEASURED, "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"})
TYPES: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "float": pa.float32(),
    "double": pa.float64(),
}
# Spark 3 refuses old dates and timestamps of a file whose writer is not named: their calendar may be another one.
WRITTEN_BY, JULIAN = "org.apache.spark.version", "org.apache.spark.legacyDateTime"
CALENDAR = {WRITTEN_BY: pyspark.__version__}
# One file as Spark writes it, but for statistics: those of pyarrow leave NaN out, and a reader needs none of a small file.
FORM: Mapping[str, Any] = {
    "compression": "snappy",
    "store_schema": False,
    "store_decimal_as_integer": True,
    "write_statistics": False,
    "write_page_checksum": True,
}


def takes_rows(table: DeltaTable, changes: int) -> bool:
    """Return whether the table is small for so many changes, and has nothing of which a writer must know that this one does
    not."""
    log = table.log
    if log is None or not table.is_small(changes):
        return False
    protocol, properties = log.protocol(), log.properties()
    reader, writer = protocol.get("minReaderVersion"), protocol.get("minWriterVersion")
    is_known = (reader, writer) in ((1, 1), (1, 2)) or (reader in (1, 3) and writer == 7 and log.features() <= FEATURES)
    of_delta = {name for name in properties if name.startswith("delta.")}
    is_plain = of_delta <= PROPERTIES and not log.partition_columns() and creates_once(table)
    return is_known and is_plain and arrow_schema(log) is not None


def is_sparks_turn(log: DeltaLog) -> bool:
    """Return whether Spark shall make the next commit, which writes a checkpoint."""
    return (log.version + 1) % SPARKS_TURN == 0


def creates_once(table: DeltaTable) -> bool:
    """Return whether a commit is a file that exactly one writer creates. A log store that was chosen for an object store may
    have other rules: S3DynamoDBLogStore asks a table of its own, and writes over a commit that is not there."""
    protocol = protocol_of(table.path)
    if protocol in ("file", "local"):
        return True
    settings = (f"delta.logStore.{protocol}.impl", "delta.logStore.class")
    chosen = (f"{prefix}{name}" for name in settings for prefix in ("spark.", ""))  # Delta takes both
    return protocol in CREATES_ONCE and not any(table.spark.conf.get(name, None) for name in chosen)


def arrow_schema(log: DeltaLog) -> pa.Schema | None:
    """Return the schema of the table's files; None where a column has a type or a rule that is not known here."""
    found = [(field["name"], arrow_type(field["type"]), field) for field in log.fields()]
    for _, type_, field in found:
        if type_ is None or not field.get("nullable") or not all(name.startswith(OURS) for name in field["metadata"]):
            return None
    return pa.schema([(name, type_) for name, type_, _ in found])


def arrow_type(type_: Any) -> pa.DataType | None:
    if not isinstance(type_, str):
        return None
    decimal = DECIMAL.fullmatch(type_)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else TYPES.get(type_)


def merge_rows(writer: Writer, rows: pa.Table, has: NetColumns, options: TargetOptions) -> RowCounts | None:
    """Return what was merged; None, with nothing committed, where MERGE has to do it, or to skip it. Raise Transient where
    another writer has committed since the table was read."""
    table, log, tag = writer.table, writer.table.log, writer.tag
    if (
        log is None
        or not takes_rows(table, rows.num_rows)
        or is_sparks_turn(log)
        or (log.last_txn(tag.app_id) or -1) >= tag.version
    ):
        return None
    schema = arrow_schema(log)
    assert schema is not None
    body, paths, root = None, log.files(), log.folder.removesuffix("_delta_log")
    try:
        there = read_files(log, paths, schema)
        found = None if there is None else merge_tables(there, rows, table.columns, has, options)
        if found is None or not found[1].changed or not keeps_apart(log.filesystem, table.path, f"{root}_created-once"):
            return None
        content, counts = found
        name = f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
        if content.num_rows:
            body = as_parquet(content)
            create(log, f"{root}{name}", body)
        actions = actions_of(writer, counts, paths, None if body is None else (name, len(body), content.num_rows))
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        create(log, f"{log.folder}/{log.version + 1:020d}.json", lines.encode())
    except FileExistsError:
        raise changed_meanwhile(writer.terms) from None
    except (*storage_errors(), pa.ArrowException):
        return None  # MERGE says what is wrong; if the commit is there after all, it skips its own
    return counts


def read_files(log: DeltaLog, paths: Sequence[str], schema: pa.Schema) -> pa.Table | None:
    """Return all rows; None for files that are elsewhere, have other columns or types than the table has by now, another
    calendar, or more than this process may hold."""
    root, parts, left = log.folder.removesuffix("_delta_log"), [schema.empty_table()], MOST_ROWS
    memory = MOST_IN_MEMORY
    for path in paths:
        if "%" in path or "/" in path:
            return None
        with log.filesystem.open(f"{root}{path}", "rb") as file:
            parquet = pq.ParquetFile(file, page_checksum_verification=True)
            left -= parquet.metadata.num_rows
            have, wanted = ({field.name: field.type for field in one} for one in (parquet.schema_arrow, schema))
            if left < 0 or have != wanted or is_julian(parquet):
                return None
            for batch in parquet.iter_batches(BATCH, use_threads=False):
                memory -= batch.nbytes
                if memory < 0:
                    return None
                parts.append(pa.Table.from_batches([batch]).select(schema.names).replace_schema_metadata())
    return pa.concat_tables(parts)


def is_julian(parquet: pq.ParquetFile) -> bool:
    """Return whether Spark moves old dates of the file when it reads them: Spark 2 wrote it, or a later one as Spark 2 does."""
    found = parquet.metadata.metadata or {}
    return JULIAN.encode() in found or found.get(WRITTEN_BY.encode(), b"3.0.0") < b"3.0.0"


def merge_tables(
    there: pa.Table, net: pa.Table, columns: Mapping[int, TargetColumn], has: NetColumns, options: TargetOptions
) -> tuple[pa.Table, RowCounts] | None:
    """Return the rows after the net changes, by the rules of merge_sql; None where MERGE would refuse a change, or where a key
    does not name one row."""
    marks, ids = options.deletes == "mark", {column.name: column.id for column in columns.values()}
    if not set(there.schema.names) <= {*ids, *options.own_columns}:
        return None
    of_change = {name: name if name in options.own_columns else frames.after(ids[name]) for name in there.schema.names}
    if any(net.schema.field(new).type != there.schema.field(name).type for name, new in of_change.items()):
        return None
    pairs = same_keys(there.select([columns[i].name for i in has.key]), net.select([frames.key(i) for i in has.key]))
    if pairs is None:
        return None
    old, new = pairs
    op = np.asarray(net["op"].to_pylist(), dtype=object)
    is_marked = as_flags(there[DELETED]) if marks else np.zeros(there.num_rows, bool)
    found = ~((op[new] == REPLACE) & is_marked[old])
    old, new = old[found], new[found]
    removes = op[new] == REMOVE
    inserts = np.setdiff1d(np.flatnonzero(op == UPSERT), new)
    keeps = {columns[i].name: as_flags(net[frames.unknown(i)]) for i in has.missing}
    if any(flags[inserts].any() or (flags[new] & is_marked[old] & ~removes).any() for flags in keeps.values()):
        return None  # a change keeps values of a row that is not there
    stays = np.ones(there.num_rows, bool)
    stays[old] = False
    set_old, set_new, gone_old, gone_new = old[~removes], new[~removes], old[removes], new[removes]

    def column(name: str) -> pa.ChunkedArray:
        before, after = there[name], net[of_change[name]]
        value = after.take(set_new)
        if name in keeps:
            value = pc.if_else(pa.array(keeps[name][set_new]), before.take(set_old), value)
        left = [after.take(gone_new) if name in options.own_columns else before.take(gone_old)] if marks else []
        parts = (before.filter(pa.array(stays)), value, *left, after.take(inserts))
        return pa.chunked_array([chunk for part in parts for chunk in chunks_of(part)], type=before.type)

    rows = pa.table([column(name) for name in there.schema.names], schema=there.schema)
    changed, gone = (len(set_old) + len(gone_old), 0) if marks else (len(set_old), len(gone_old))
    counted = RowCounts(inserted=len(inserts), updated=changed, deleted=gone)
    return rows, counted


def chunks_of(values: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]


def as_flags(values: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Return booleans, NULL as false."""
    return np.asarray(values.fill_null(False).to_numpy(), dtype=bool)


def same_keys(there: pa.Table, net: pa.Table) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Return the places of rows and changes that have the same key; None where a change has no key, or a key is there twice."""
    names = [f"key {place}" for place in range(net.num_columns)]
    if any(map(pa.types.is_floating, net.schema.types)) or any(values.null_count for values in net.columns):
        return None
    if net.schema.types != there.schema.types:
        return None
    places = [pa.array(np.arange(one.num_rows)) for one in (there, net)]
    old = there.rename_columns(names).append_column("old", places[0])
    both = old.join(net.rename_columns(names).append_column("new", places[1]), names, join_type="inner", use_threads=False)
    pairs = both["old"].to_numpy(), both["new"].to_numpy()
    return None if any(len(np.unique(one)) < len(one) for one in pairs) else pairs


def as_parquet(rows: pa.Table) -> bytes:
    with pa.BufferOutputStream() as out:
        with pq.ParquetWriter(out, rows.schema, **FORM) as writer:
            writer.write_table(rows)
            writer.add_key_value_metadata(CALENDAR)
        return bytes(out.getvalue())


def create(log: DeltaLog, path: str, body: bytes) -> None:
    """Write a file, unless there is one: the file of a commit is the commit. Locally it gets the mode of the commit before."""
    if is_local_filesystem(log.filesystem):
        create_local(path, body, Modes(os.stat(log.newest).st_mode & 0o777, 0))
    else:
        create_object(log.filesystem, path, body)


def actions_of(
    writer: Writer, counts: RowCounts, paths: Sequence[str], added: tuple[str, int, int] | None
) -> list[dict[str, Any]]:
    """Return the actions of the commit, as Delta has them of a MERGE; `added` is name, size and number of rows of the file."""
    table, tag, now = writer.table, writer.tag, time.time_ns() // 1_000_000
    metrics = {f"numTargetRows{name.title()}": str(number) for name, number in counts.counts.items()}
    metrics |= {"numTargetFilesAdded": str(int(added is not None)), "numTargetFilesRemoved": str(len(paths))}
    info = {
        "timestamp": now,
        "operation": "MERGE",
        "operationParameters": {},
        "readVersion": table.version,
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": metrics,
        "userMetadata": text_of({**tag.metadata, BYTES: 0 if added is None else added[1]}),
        "engineInfo": "Redolake",
        "txnId": str(uuid.uuid4()),
    }
    removes = [{"remove": {"path": path, "deletionTimestamp": now, "dataChange": True}} for path in paths]
    adds = []
    if added is not None:
        name, size, number = added
        stats = json.dumps({"numRecords": number})
        file = {"path": name, "partitionValues": {}, "size": size, "modificationTime": now, "dataChange": True}
        adds = [{"add": {**file, "stats": stats}}]
    txn = {"appId": tag.app_id, "version": tag.version, "lastUpdated": now}
    return [{"commitInfo": info}, {"txn": txn}, *removes, *adds]
