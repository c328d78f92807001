"""A Delta table's log, read without Spark: its version, its position and what others committed.

Each reading lists `_delta_log` itself, because the snapshot of a Spark session may be older.
"""

from __future__ import annotations

import errno
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic_core import from_json

from redolake.apply.spark.lake_damage import damage_of_file
from redolake.apply.table_log import HISTORY_BEGINS, REPAIRS, Damage, base_of, load_in, load_number
from redolake.errors import without_breaks
from redolake.host.filesystem import open_filesystem

OURS = '{"redolake": '  # how the user metadata of all our commits begins (commit.py)
COMMIT = re.compile(r"(\d{20})\.json")
# A checkpoint is one file, several parts (n of m), or a V2 file with a unique name.
CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.([0-9a-f-]{36}))?\.(parquet|json)")
CHECKED = "checked"  # in our metadata: the version of the table that was known to be right before the commit
BYTES = "bytes"  # in our metadata: the size of the files after a commit without a checksum
UPKEEP = "upkeep"  # in our metadata: rows moved to other files, or older versions went
# Spark finds the code of a task for an eighth to a quarter of a second, in which it reads as many actions of a log.
FEW_FILES = 10_000
KEEPS = {"repair", UPKEEP}  # commits after which a table still has the contents of its position
# Operations that bring rows to other files, or files to the log again.
MOVES = frozenset({"OPTIMIZE", "REORG", "COMPUTE STATS", "ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL"})
# What is read of an action: one that has something else there is damaged.
FORMS: dict[str, dict[str, tuple[type, ...]]] = {
    "txn": {"appId": (str,), "version": (int,)},
    "metaData": {
        "schemaString": (str, type(None)),
        "configuration": (dict, type(None)),
        "partitionColumns": (list, type(None)),
    },
    "protocol": {"readerFeatures": (list, type(None)), "writerFeatures": (list, type(None))},
    "add": {"path": (str, type(None)), "modificationTime": (int, type(None))},
    # Our user metadata. Whoever writes something else in its form has not written it for us.
    "redolake": {
        "ddl_scn": (int, type(None)),
        "ddl_step": (int, type(None)),
        CHECKED: (int, type(None)),
        BYTES: (int, type(None)),
        "epoch_since": (int, type(None)),
    },
}
OF_CHECKSUM = ("metadata", "protocol", "tableSizeBytes", "numFiles")
NO_FILE = (errno.EISDIR, errno.ENOTDIR, errno.ELOOP)  # what has the name of a file of the log is none


@dataclass(frozen=True, slots=True)
class DeltaLog:
    """A TableLog (apply/table_log.py): one listing of the log, with the newest complete checkpoint, the commits after it in
    order, and older commits still there.

    Each reading raises `damage` for a file that cannot be read. With `skips`, such a file counts as absent."""

    filesystem: Any
    folder: str
    checkpoint: tuple[str, ...]
    older: tuple[tuple[int, str], ...]
    commits: tuple[tuple[int, str], ...]
    version: int
    damage: Damage
    skips: bool = False
    known: dict[str, dict[str, Any]] = field(default_factory=dict, compare=False, repr=False)  # what was read already

    def last_txn(self, app_id: str) -> int | None:
        """Return the last transaction version of an application id, or None when it has no commit."""
        for _, commit in reversed(self.commits):
            if app_id in self._txns(commit):
                return self._txns(commit)[app_id]
        return self._checkpoint_txns().get(app_id)

    def current_id(self, app_id: str) -> str:
        """Return the application id with the load whose contents the table has: that of our newest commit, in any incarnation.
        A checkpoint does not say which commit is the newest; there the load with the highest number counts."""
        own = base_of(app_id)
        for _, commit in reversed(self.commits):
            if found := [load_in(app) for app in self._txns(commit) if app.startswith(own)]:
                return app_id + max(found, key=load_number)
        loads = (load_in(app) for app in self._checkpoint_txns() if app.startswith(own))
        return app_id + max(loads, key=load_number, default="")

    def commit_info(self, app_id: str, version: int) -> dict[str, Any] | None:
        """Return what the commit with a transaction version says of itself; None where the log does not have it any more."""
        for _, commit in reversed((*self.older, *self.commits)):
            if self._txns(commit).get(app_id) == version:
                return next((dict(action["commitInfo"]) for action in self._actions(commit) if "commitInfo" in action), None)
        return None

    def position(self, app_id: str, version: int | None = None) -> int | None:
        if version is None:
            return self.last_txn(self.current_id(app_id))
        found = self._contents_at(version, app_id)
        return None if found is None else found[1]

    def load(self, app_id: str, version: int | None = None) -> str:
        found = (self.current_id(app_id), 0) if version is None else self._contents_at(version, app_id)
        return "" if found is None else load_in(found[0])

    def _contents_at(self, version: int, app_id: str) -> tuple[str, int] | None:
        """Return the application id and the position of the newest contents up to a version."""
        if version > self.version:
            return None
        own, numbers = base_of(app_id), dict((*self.older, *self.commits))
        for number in range(version, -1, -1):
            if number not in numbers:
                break
            for app, position in self._txns(numbers[number]).items():
                if app.startswith(own) and not app.endswith(("/ddl", REPAIRS)):
                    return app, position
        newest = self.current_id(app_id)
        last = self.last_txn(newest) if version == self.version else None
        return None if last is None else (newest, last)

    def txns(self) -> dict[str, int]:
        """Return the last transaction version of each application id."""
        found = dict(self._checkpoint_txns())
        for _, commit in self.commits:
            found |= self._txns(commit)
        return found

    def _checkpoint_txns(self) -> dict[str, int]:
        """Return the transaction versions in the checkpoint, by application id."""
        if "checkpoint" not in self.known:
            found: dict[str, int] = {}
            for txn in (txn for part in self.checkpoint for txn in self._checkpoint_actions(part, "txn")):
                found[txn["appId"]] = max(int(txn["version"]), found.get(txn["appId"], -1))
            self.known["checkpoint"] = found
        return self.known["checkpoint"]

    def _txns(self, commit: str) -> dict[str, int]:
        """Return the transaction versions in a commit, by application id."""
        if commit not in self.known:
            txns = (action["txn"] for action in self._actions(commit) if "txn" in action)
            self.known[commit] = {txn["appId"]: int(txn["version"]) for txn in txns}
        return self.known[commit]

    def table_bytes(self) -> int | None:
        """Return the size of the table's files by Delta's checksum of this version, or by its commit; None when neither says
        it."""
        size = self._checksum().get("tableSizeBytes")
        return size if isinstance(size, int) else self.newest_metadata().get(BYTES)

    def has_few_files(self) -> bool:
        """Return whether Delta's checksum of this version counts few files."""
        number = self._checksum().get("numFiles")
        return isinstance(number, int) and number <= FEW_FILES

    def schema(self) -> Any:
        """Return the table's schema as Delta writes it, which a Spark session shows differently."""
        try:
            found = from_json(self._last("metadata", "metaData")["schemaString"])
            if all(isinstance(one["name"], str) and isinstance(one["metadata"], dict) for one in found["fields"]):
                return found
        except (KeyError, TypeError, ValueError):
            pass
        raise self.damage(self.folder, "the table's schema cannot be read")

    def fields(self) -> list[dict[str, Any]]:
        return list(self.schema().get("fields", ()))

    def properties(self) -> dict[str, str]:
        """Return the table's properties, of Delta and others."""
        found = self._last("metadata", "metaData").get("configuration") or {}
        return dict(found)  # a checkpoint has a list of pairs

    def description(self) -> str:
        return str(self._last("metadata", "metaData").get("description") or "")

    def partition_columns(self) -> list[str]:
        return list(self._last("metadata", "metaData").get("partitionColumns") or ())

    def features(self) -> frozenset[str]:
        """Return the reader and writer features that the protocol names; older protocols name none."""
        protocol = self.protocol()
        return frozenset(map(str, [*(protocol.get("readerFeatures") or ()), *(protocol.get("writerFeatures") or ())]))

    def protocol(self) -> dict[str, Any]:
        return self._last("protocol", "protocol")

    def last_ddl(self, app_id: str) -> tuple[int, int] | None:
        """Return SCN and step of the last DDL that was followed completely since the last position of an application id."""
        for _, commit in reversed((*self.older, *self.commits)):
            actions = self._actions(commit)
            for ours in map(our_metadata, actions):
                scn, step = ours.get("ddl_scn"), ours.get("ddl_step")
                if ours.get("app") == app_id and scn is not None and step is not None:
                    return scn, step
            if any(action.get("txn", {}).get("appId") == app_id for action in actions):
                return None
        return None

    @property
    def newest(self) -> str:
        """The file of the newest commit."""
        return f"{self.folder}/{self.version:020d}.json"

    def newest_metadata(self) -> dict[str, Any]:
        """Return what the user metadata of the newest commit says, if that is ours; empty for any other one."""
        newest = [commit for number, commit in (*self.older, *self.commits) if number == self.version]
        return next((ours for commit in newest for ours in map(our_metadata, self._actions(commit)) if ours), {})

    def note_with(self, *names: str) -> dict[str, Any]:
        """Return the user metadata of our newest commit that has all these names; empty where no commit that is kept has."""
        commits = (commit for _, commit in reversed((*self.older, *self.commits)))
        every = (our_metadata(action) for commit in commits for action in self._actions(commit))
        return next((ours for ours in every if all(name in ours for name in names)), {})

    def _checksum(self) -> dict[str, Any]:
        """Return what is read of Delta's checksum of this version, which may name each file with its statistics too."""
        if "checksum" not in self.known:
            try:
                found = from_json(self.filesystem.cat_file(f"{self.folder}/{self.version:020d}.crc"))
            except (FileNotFoundError, ValueError):
                found = None
            parts = {"metaData": found.get("metadata"), "protocol": found.get("protocol")} if isinstance(found, dict) else {}
            is_sound = all(map(_has_form, parts, parts.values())) and parts
            self.known["checksum"] = {name: found.get(name) for name in OF_CHECKSUM} if is_sound else {}
        return self.known["checksum"]

    def _last(self, in_checksum: str, kind: str) -> dict[str, Any]:
        """Return the action of a kind that counts, from the checksum; without one, from the commits and the checkpoint."""
        if kind not in self.known:
            self.known[kind] = self._checksum().get(in_checksum) or self._last_action(kind)
        return self.known[kind]

    def _last_action(self, kind: str) -> dict[str, Any]:
        for _, commit in reversed(self.commits):
            for action in self._actions(commit):
                if kind in action:
                    return dict(action[kind])
        found = next((found for part in self.checkpoint for found in self._checkpoint_actions(part, kind)), None)
        if found is None:
            raise self.damage(self.folder, f"no commit and no checkpoint contains the table's {kind}")
        return found

    def files(self) -> list[str]:
        """Return the paths of the table's data files as the log has them, the oldest first; not those in sidecars."""
        found = dict[str, int]()
        for add in (
            add for part in self.checkpoint for add in self._checkpoint_actions(part, "add", "path", "modificationTime")
        ):
            found[str(add["path"])] = int(add["modificationTime"] or 0)
        for action in (action for _, commit in self.commits for action in self._actions(commit)):
            if "add" in action:
                found[str(action["add"].get("path"))] = int(action["add"].get("modificationTime") or 0)
            found.pop(str(action.get("remove", {}).get("path")), None)
        return sorted(found, key=lambda path: found[path])

    def foreign_writes(self, own: str) -> list[tuple[int, str]]:
        """Return version and operation of the commits of others that changed rows and that we have not seen, the oldest first:
        those after our last one, and those between it and the version that it says was checked before it. Our application ids
        begin with `own`. A commit of MOVES that says it changes no row does not count. In others that is the word of whoever
        wrote it, as an option of a writer: such a commit may have any rows.

        Where log retention has removed our last commit, all commits that are left are newer than it, and the removed ones after
        it may have been anybody's."""
        found, checked, has_ours = [], -1, False
        for version, commit in reversed((*self.older, *self.commits)):
            if has_ours and version <= checked:
                break
            actions = self._actions(commit)
            apps = [app for action in actions if (app := _app_of(action))]
            seen = next((note[CHECKED] for note in map(our_metadata, actions) if note.get(CHECKED) is not None), None)
            if any(app.startswith(own) for app in apps) or (seen is not None and not apps):
                if not has_ours:
                    checked = version if seen is None else seen
                has_ours = True
            elif files := [file for action in actions if (file := action.get("add") or action.get("remove"))]:
                if any(HISTORY_BEGINS in our_metadata(action) for action in actions):
                    continue  # a history's cut by older code, which gave it no transaction
                operations = [str(action["commitInfo"].get("operation")) for action in actions if "commitInfo" in action]
                if not (operations and operations[0] in MOVES) or any(file.get("dataChange") is not False for file in files):
                    found.append((version, str(*operations[:1])))
        if not found and (oldest := min(self.older + self.commits)[0]) > checked + 1:
            found.append((oldest, "or before: log retention has removed the commits that followed ours"))
        return found[::-1]

    def ours_after(self, own: str, version: int | None) -> set[tuple[str, int]]:
        """Return the transactions whose application id begins with `own` in the commits after a version of the table."""
        commits = (commit for number, commit in (*self.older, *self.commits) if version is None or number > version)
        return {(app, number) for commit in commits for app, number in self._txns(commit).items() if app.startswith(own)}

    def last_version_with(self, contents_of: int, own: str = "") -> int:
        """Return the newest version that still has the contents which we left in that one: the version before our next commit
        of changes. Repairs and commits of others in between count, so that a comparison sees what readers see; those of another
        captured table too, where `own` begins our application ids."""
        found = contents_of
        for version, commit in (*self.older, *self.commits):
            if version <= found:
                continue
            if version > found + 1 or self._is_ours(commit, own):  # log retention removed the commits in between
                break
            found = version
        return found

    def _is_ours(self, commit: str, own: str) -> bool:
        """Return whether we have committed it. The txn of a commit says for which table it was made; commits without one change
        no rows, or belong to the table in whose log they are."""
        actions = self._actions(commit)
        apps = [app for action in actions if (app := _app_of(action))]
        if any(KEEPS & our_metadata(action).keys() for action in actions):  # also one that enables a feature for a repair
            return False
        if apps and not any(app.startswith(own) for app in apps):
            return False
        return any(str(a.get("commitInfo", {}).get("userMetadata")).startswith(OURS) for a in actions)

    def _checkpoint_actions(self, part: str, kind: str, *fields: str) -> Iterator[dict[str, Any]]:
        """Yield the actions of a kind, with all fields or some."""
        if part.endswith(".json"):
            yield from (action[kind] for action in self._actions(part) if kind in action)
            return
        try:
            with self.filesystem.open(part, "rb") as file:
                rows = pq.ParquetFile(file, page_checksum_verification=True).read(
                    columns=[*(f"{kind}.{name}" for name in fields)] or [kind]
                )
                rows = rows.column(kind).to_pylist()
        except (pa.ArrowException, OSError) as error:
            if getattr(error, "errno", None) not in (None, *NO_FILE):
                raise  # of the file system, not of the file
            if self.skips:
                return
            raise self.damage(part, f"a checkpoint cannot be read: {without_breaks(error)}") from error
        yield from (row for row in rows if row is not None and any(value is not None for value in row.values()))

    def _actions(self, file: str) -> list[dict[str, Any]]:
        try:
            actions = [from_json(line) for line in self.filesystem.cat_file(file).splitlines() if line.strip()]
        except ValueError as error:
            what = f"a commit cannot be read: {error}"
        except OSError as error:
            if error.errno not in NO_FILE:
                raise
            what = f"a commit cannot be read: {error.strerror}"
        else:
            if actions and all(isinstance(action, dict) and all(map(_has_form, action, action.values())) for action in actions):
                return [{kind: value for kind, value in action.items() if value is not None} for action in actions]
            what = "a commit is empty, or has other contents"
        if self.skips:
            return []
        raise self.damage(file, what)


def _has_form(kind: str, value: object) -> bool:
    """Return whether an action has what is read of it."""
    if value is None or not isinstance(value, dict):
        return value is None
    return all(type(value.get(name)) in wanted for name, wanted in FORMS.get(kind, {}).items())


def our_metadata(action: dict[str, Any]) -> dict[str, Any]:
    """Return the user metadata in a commit of ours, empty for any other action."""
    text = str(action.get("commitInfo", {}).get("userMetadata"))
    try:
        found = from_json(text)["redolake"] if text.startswith(OURS) else None
    except ValueError:
        found = None
    return found if found is not None and _has_form("redolake", found) else {}


def _app_of(action: dict[str, Any]) -> str:
    """Return the application id of a commit: in its txn, or in the metadata of a commit that follows DDL."""
    return str(action.get("txn", {}).get("appId") or our_metadata(action).get("app") or "")


def read_log(path: str, damage: Damage = damage_of_file) -> DeltaLog | None:
    """List the log of the table at `path`; return None when no Delta table is there. Raise `damage` where files are lacking."""
    found = _list_log(path, damage)
    if found is None:
        return None
    filesystem, folder, names, commits = found
    checkpoint, parts = _newest_checkpoint(names)
    older = tuple((version, f"{folder}/{name}") for version, name in commits if version <= checkpoint)
    newer = tuple((version, f"{folder}/{name}") for version, name in commits if version > checkpoint)
    if not newer and checkpoint < 0:
        return None
    last = checkpoint + len(newer)
    if [version for version, _ in newer] != list(range(checkpoint + 1, last + 1)):
        raise damage(folder, f"a commit is missing in the table's Delta log, after version {checkpoint}")
    if not commits:
        raise damage(folder, f"there is a checkpoint of version {checkpoint}, and no commit")
    return DeltaLog(filesystem, folder, tuple(f"{folder}/{part}" for part in parts), older, newer, last, damage)


def readable_log(path: str) -> DeltaLog | None:
    """Return what can be read of a damaged log: it may say whose the table is."""
    found = _list_log(path, damage_of_file)
    if found is None:
        return None
    filesystem, folder, names, commits = found
    checkpoints = tuple(f"{folder}/{name}" for name in sorted(filter(CHECKPOINT.fullmatch, names), reverse=True))
    version = max((int(name[:20]) for name in names if name[:20].isdigit()), default=-1)
    numbered = tuple((number, f"{folder}/{name}") for number, name in commits)
    return DeltaLog(filesystem, folder, checkpoints, (), numbered, version, damage_of_file, skips=True)


def _list_log(path: str, damage: Damage) -> tuple[Any, str, list[str], list[tuple[int, str]]] | None:
    """Return the file system, the folder of the log, the names in it, and the commits among them with their versions."""
    filesystem, root = open_filesystem(path)
    folder = f"{root}/_delta_log"
    try:
        names = [str(name).rpartition("/")[2] for name in filesystem.ls(folder, detail=False, refresh=True)]
    except FileNotFoundError:
        return None
    if names == ["_delta_log"]:
        raise damage(folder, "it is a file")
    return filesystem, folder, names, sorted((int(match[1]), match[0]) for match in map(COMMIT.fullmatch, names) if match)


def _newest_checkpoint(names: list[str]) -> tuple[int, list[str]]:
    """Return version and files of the newest checkpoint that has all its parts, or -1 when there is none."""
    complete: dict[int, list[str]] = {}
    parts: dict[tuple[int, int], list[str]] = defaultdict(list)
    for match in filter(None, map(CHECKPOINT.fullmatch, names)):
        version = int(match[1])
        if match[3] is None:
            complete[version] = [match[0]]
        else:
            parts[version, int(match[3])].append(match[0])
    complete |= {version: sorted(found) for (version, count), found in parts.items() if len(found) == count}
    return max(complete.items(), default=(-1, []))
