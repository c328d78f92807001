"""A Delta table's position, read from its log without Spark: the last txn version of an application id.

Reads the newest whole checkpoint and the JSON commits behind it; never cached, never through a client's snapshot.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import fsspec
import pyarrow.parquet as pq

from pipelines.errors import RedoNotUnderstood

COMMIT = re.compile(r"(\d{20})\.json")
# Whole, in parts (n of m), or V2 with a unique name.
CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.([0-9a-f-]{36}))?\.(parquet|json)")


@dataclass(frozen=True, slots=True)
class DeltaLog:
    """The log's files that matter: the newest whole checkpoint, the commits behind it in order, and older ones still there."""

    filesystem: Any
    folder: str
    checkpoint: tuple[str, ...]
    older: tuple[tuple[int, str], ...]
    commits: tuple[tuple[int, str], ...]
    version: int


def open_log(path: str) -> DeltaLog | None:
    """None when no Delta table is there."""
    filesystem, root = fsspec.core.url_to_fs(path)
    folder = f"{root.rstrip('/')}/_delta_log"
    try:
        names = [str(name).rpartition("/")[2] for name in filesystem.ls(folder, detail=False, refresh=True)]
    except FileNotFoundError:
        return None
    commits = sorted((int(match[1]), match[0]) for match in map(COMMIT.fullmatch, names) if match)
    at, parts = _newest_checkpoint(names)
    older = tuple((version, f"{folder}/{name}") for version, name in commits if version <= at)
    behind = tuple((version, f"{folder}/{name}") for version, name in commits if version > at)
    if not behind and at < 0:
        return None
    expected = range(at + 1, at + 1 + len(behind))
    if [version for version, _ in behind] != list(expected):
        raise RedoNotUnderstood(
            "the table's Delta log has a hole", cure="restore the missing file of _delta_log", path=path, after_version=at
        )
    found = tuple(f"{folder}/{part}" for part in parts)
    return DeltaLog(filesystem, folder, found, older, behind, at + len(behind))


def latest_version(path: str) -> int | None:
    log = open_log(path)
    return None if log is None else log.version


def table_bytes(path: str) -> int | None:
    """What the table's files hold, as Delta's checksum of its latest version tells it; None where no such file can be read."""
    log = open_log(path)
    if log is None:
        return None
    try:
        checksum = json.loads(log.filesystem.cat_file(f"{log.folder}/{log.version:020d}.crc"))
    except (FileNotFoundError, ValueError):
        return None
    size = checksum.get("tableSizeBytes")
    return None if size is None else int(size)


def last_txn(path: str, app_id: str) -> int | None:
    """None when the table is not there, or has no commit of that application."""
    log = open_log(path)
    if log is None:
        return None
    for _, commit in reversed(log.commits):
        for action in _json_actions(log, commit):
            if action.get("txn", {}).get("appId") == app_id:
                return int(action["txn"]["version"])
    versions = [txn["version"] for part in log.checkpoint for txn in _checkpoint_txns(log, part) if txn["appId"] == app_id]
    return max(versions, default=None)


def written_by_another(path: str, own: str) -> tuple[int, str] | None:
    """Version and operation of the first commit that changed rows behind the last one of an application id that begins with
    `own`. What moves rows to other files and leaves them as they are (OPTIMIZE) is none."""
    log, found = open_log(path), None
    if log is None:
        return None
    for version, commit in reversed((*log.older, *log.commits)):
        actions = _json_actions(log, commit)
        if any(action.get("txn", {}).get("appId", "").startswith(own) for action in actions):
            return found
        if any((action.get("add") or action.get("remove") or {}).get("dataChange") for action in actions):
            operations = [action["commitInfo"].get("operation") for action in actions if "commitInfo" in action]
            found = version, str(*operations[:1])
    return None


def _newest_checkpoint(names: list[str]) -> tuple[int, list[str]]:
    """Version and files of the newest checkpoint of which every part is there; -1 when there is none."""
    whole: dict[int, list[str]] = {}
    parts: dict[tuple[int, int], list[str]] = defaultdict(list)
    for match in filter(None, map(CHECKPOINT.fullmatch, names)):
        version = int(match[1])
        if match[3] is None:
            whole[version] = [match[0]]
        else:
            parts[version, int(match[3])].append(match[0])
    whole |= {version: sorted(found) for (version, count), found in parts.items() if len(found) == count}
    return max(whole.items(), default=(-1, []))


def _checkpoint_txns(log: DeltaLog, part: str) -> Iterator[dict[str, Any]]:
    if part.endswith(".json"):
        yield from (action["txn"] for action in _json_actions(log, part) if "txn" in action)
        return
    with log.filesystem.open(part, "rb") as file:
        rows = pq.ParquetFile(file).read(columns=["txn"]).column("txn").to_pylist()
    yield from (row for row in rows if row is not None and row["appId"] is not None)


def _json_actions(log: DeltaLog, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.filesystem.cat_file(file).splitlines() if line.strip()]
