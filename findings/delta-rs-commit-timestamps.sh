#!/usr/bin/env bash
# delta-rs travels in time by the times of the log's files, although the table states the times of its commits.
#
# Versions: deltalake (delta-rs) 1.6.6; Polars 2.1.0, which reads Delta through it.
# Expected: with delta.enableInCommitTimestamps the protocol makes inCommitTimestamp the time of a version; file times do not count, because a copy,
#   a restore or a move of the table changes them.
# Seen: history() reports the in-commit times, load_as_version(moment) goes by the files. In a table whose commits are of January and March and
#   whose files were copied later, "1 April" gives the version of January, silently. Spark 4.2 with Delta 4.4 gives that of March.
# Matters: "the table as of the end of the quarter", read after a migration or a restore of the lake, is another quarter.
# Workaround: choose the version from history() (below), and load it by number.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(deltalake==1.6.6 pyarrow==26.0.1 polars==2.1.0)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
import datetime as dt, json, os, pathlib
import polars as pl, pyarrow as pa, pyarrow.parquet as pq
from deltalake import DeltaTable

def moment(month):
    return int(dt.datetime(2024, month, 1, tzinfo=dt.timezone.utc).timestamp() * 1000)

def commit(version, month, *actions):
    pq.write_table(pa.table({"i": pa.array([version], pa.int64())}), f"t/{version}.parquet")
    size = os.path.getsize(f"t/{version}.parquet")
    info = {"inCommitTimestamp": moment(month), "timestamp": moment(month), "operation": "WRITE", "operationParameters": {}}
    add = {"path": f"{version}.parquet", "partitionValues": {}, "size": size, "modificationTime": moment(month), "dataChange": True}
    lines = [{"commitInfo": info}, *actions, {"add": add}]
    pathlib.Path("t/_delta_log", f"{version:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))

os.makedirs("t/_delta_log")
fields = [{"name": "i", "type": "long", "nullable": True, "metadata": {}}]
meta = {
    "id": "5f1d9f0e-6c1c-4f0e-9b57-0d6a4f1f3c11", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [],
    "schemaString": json.dumps({"type": "struct", "fields": fields}), "createdTime": moment(1),
    "configuration": {"delta.enableInCommitTimestamps": "true"},
}
protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["inCommitTimestamp"]}
commit(0, 1, {"protocol": protocol}, {"metaData": meta})
commit(1, 3)

asked = "2024-04-01T00:00:00Z"
table = DeltaTable("t")
times = {entry["version"]: entry["timestamp"] for entry in table.history()}
by_hand = max(version for version, time in times.items() if time <= moment(4))
table.load_as_version(asked)
rows = pl.scan_delta("t", version=asked).collect()["i"].to_list()
print(f"history: {times}; as of {asked}: delta-rs version {table.version()}, Polars rows {rows}, by history() version {by_hand}")
assert times == {0: moment(1), 1: moment(3)}
assert (table.version(), rows, by_hand) == (0, [0], 1)
print("SEEN: as of 1 April delta-rs and Polars give version 0 of 1 January; the commit of 1 March is version 1")
PYTHON
