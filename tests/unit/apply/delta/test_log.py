"""The position and size of a table from its Delta log, without Spark."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.apply.delta.commit import text_of
from redolake.apply.delta.log import read_log
from redolake.apply.owner import recorded_owners
from redolake.errors import LakeDamaged
from redolake.job.swap import find_swap
from redolake.steps.checks.old_timestamps import old_files
from redolake.steps.shown.history_views import fields_with_ids
from redolake.values.table import TableId
from tests.references.delta_table import latest_version, position_of


def commit(table: Path, version: int, *txns: tuple[str, int], by: str | None = None) -> None:
    log = table / "_delta_log"
    log.mkdir(exist_ok=True)
    actions: list[dict[str, Any]] = [{"commitInfo": {"operation": "MERGE", "userMetadata": by}}]
    actions += [{"txn": {"appId": app, "version": scn, "lastUpdated": 1}} for app, scn in txns]
    (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)) + "\n")


def checkpoint(table: Path, name: str, *txns: tuple[str, int]) -> None:
    txn = pa.struct([("appId", pa.string()), ("version", pa.int64())])
    rows = [None, *({"appId": app, "version": scn} for app, scn in txns)]
    pq.write_table(pa.table({"txn": pa.array(rows, txn)}), table / "_delta_log" / name)


def test_the_position_is_that_of_the_applications_newest_commit(tmp_path: Path) -> None:
    commit(tmp_path, 0, ("p/S.T/1", 10))
    commit(tmp_path, 1, ("p/S.T/1", 20), ("p/S.T/1/ddl", 15))
    commit(tmp_path, 2, ("p/S.T/2", 99))
    commit(tmp_path, 3)

    assert (position_of(str(tmp_path), "p/S.T/1"), position_of(f"file://{tmp_path}", "p/S.T/2")) == (20, 99)
    assert latest_version(str(tmp_path)) == 3


def test_the_position_is_that_of_the_newest_load_whatever_older_contents_had_reached(tmp_path: Path) -> None:
    """A load may be behind what apply had reached. Tables of 0.1.0 have no load in their application ids."""
    old, other = ("p/S.T/1", 90), ("p/S.TT/1/load/9-f", 95)
    found = []
    for version, txn in enumerate(
        [old, ("p/S.T/1/load/3-aa", 50), ("p/S.T/1/load/3-aa/ddl", 60), other, ("p/S.T/2/load/10-bb", 7)]
    ):
        commit(tmp_path, version, txn)
        found.append((position_of(str(tmp_path), "p/S.T/1"), position_of(str(tmp_path), "p/S.T/2")))
    assert found == [(90, None), (50, None), (50, None), (50, None), (None, 7)]

    kept = [("p/S.T/1", 90), ("p/S.T/1/load/9-aa", 50), ("p/S.T/1/load/10-bb", 70), ("p/S.T/1/load/10-bb/ddl", 80)]
    checkpoint(tmp_path, f"{4:020d}.checkpoint.parquet", *kept)
    assert position_of(str(tmp_path), "p/S.T/1") == 70


def test_a_version_after_a_repair_is_complete_to_the_position_that_the_repair_has_left(tmp_path: Path) -> None:
    """The number of a repair is no SCN. The batch after it may have left that version as it was."""
    app = "p/S.T/1/load/0-aa"
    for version, txn in enumerate([(app, 50), (f"{app}/repair", 7), (f"{app}/ddl", 60), (app, 70)]):
        commit(tmp_path, version, txn)

    log = read_log(str(tmp_path))
    assert log is not None
    assert [log.position("p/S.T/1", version) for version in range(5)] == [50, 50, 50, 70, None]


def test_a_checkpoint_counts_only_when_all_its_parts_are_there(tmp_path: Path) -> None:
    for version in range(4):
        commit(tmp_path, version, ("p", 10 + version))
    checkpoint(tmp_path, f"{3:020d}.checkpoint.0000000001.0000000002.parquet", ("p", 77))
    assert position_of(str(tmp_path), "p") == 13

    checkpoint(tmp_path, f"{3:020d}.checkpoint.0000000002.0000000002.parquet", ("p", 78))
    assert position_of(str(tmp_path), "p") == 78


def test_a_checkpoint_with_a_unique_name_is_read(tmp_path: Path) -> None:
    commit(tmp_path, 1, ("p", 10))
    commit(tmp_path, 2)
    checkpoint(tmp_path, f"{1:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet", ("p", 10))

    assert (position_of(str(tmp_path), "p"), latest_version(str(tmp_path))) == (10, 2)


def test_a_log_that_lacks_a_commit_is_not_trusted(tmp_path: Path) -> None:
    commit(tmp_path, 0, ("p", 10))
    commit(tmp_path, 2, ("p", 20))

    with pytest.raises(LakeDamaged, match="missing"):
        position_of(str(tmp_path), "p")


def test_no_table_has_no_position(tmp_path: Path) -> None:
    assert position_of(str(tmp_path / "no"), "p") is None
    assert latest_version(str(tmp_path)) is None


def size(table: Path) -> int | None:
    log = read_log(str(table))
    assert log is not None
    return log.table_bytes()


def test_the_size_is_that_of_the_latest_version_or_unknown(tmp_path: Path) -> None:
    for version in range(2):
        commit(tmp_path, version)
    checksum = tmp_path / "_delta_log" / f"{0:020d}.crc"
    checksum.write_text(json.dumps({"tableSizeBytes": 5}))
    assert size(tmp_path) is None

    checksum.with_name(f"{1:020d}.crc").write_text(json.dumps({"tableSizeBytes": 7}))
    assert size(tmp_path) == 7

    checksum.with_name(f"{1:020d}.crc").write_text("{ cut short")
    assert size(tmp_path) is None


def last_version_with(table: Path, contents_of: int) -> int:
    log = read_log(str(table))
    assert log is not None
    return log.last_version_with(contents_of)


def test_the_contents_of_a_batch_stay_until_our_next_commit_whatever_others_commit(tmp_path: Path) -> None:
    ours = text_of({"batch": "[10, 20)"})
    for version, by in enumerate((ours, None, "somebody's", ours, None, ours)):
        commit(tmp_path, version, by=by)

    assert [last_version_with(tmp_path, version) for version in (0, 3, 5)] == [2, 4, 5]


def test_contents_are_not_followed_over_commits_that_log_retention_removed(tmp_path: Path) -> None:
    for version in range(6):
        commit(tmp_path, version)
    checkpoint(tmp_path, f"{4:020d}.checkpoint.parquet")
    for version in range(3):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()

    assert [last_version_with(tmp_path, version) for version in (1, 2)] == [1, 5]


def test_the_schema_is_read_as_delta_wrote_it_with_or_without_a_checksum(tmp_path: Path) -> None:
    schemas = [{"schemaString": json.dumps({"version": n, "fields": []})} for n in range(4)]
    for version in range(3):
        commit(tmp_path, version)
    log = tmp_path / "_delta_log"
    parts = pa.array([None, schemas[0]], pa.struct([("schemaString", pa.string())]))
    pq.write_table(pa.table({"metaData": parts}), log / f"{0:020d}.checkpoint.parquet")
    found = [schema(tmp_path)]
    with (log / f"{1:020d}.json").open("a") as file:
        file.write(json.dumps({"metaData": schemas[1]}))
    found.append(schema(tmp_path))
    (log / f"{2:020d}.crc").write_text(json.dumps({"metadata": schemas[2]}))
    found.append(schema(tmp_path))

    assert found == [{"version": n, "fields": []} for n in range(3)]


def schema(table: Path) -> Any:
    log = read_log(str(table))
    assert log is not None
    return log.schema()


UNREADABLE = {"empty": "", "a bracket": "{", "a list": "[]", "cut": '{"txn": {"appId": "p", "vers', "deep": '{"a":' * 100_000}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_a_commit_that_cannot_be_read_is_damage_and_not_an_older_position(tmp_path: Path, text: str) -> None:
    commit(tmp_path, 0, ("p", 10))
    (tmp_path / "_delta_log" / f"{1:020d}.json").write_text(text)

    with pytest.raises(LakeDamaged, match="a commit") as caught:
        position_of(str(tmp_path), "p")
    assert str(caught.value.where["path"]).endswith("1.json")


def test_a_checkpoint_that_cannot_be_read_is_damage(tmp_path: Path) -> None:
    commit(tmp_path, 1, ("p", 10))
    checkpoint(tmp_path, f"{1:020d}.checkpoint.parquet", ("q", 10))
    file = tmp_path / "_delta_log" / f"{1:020d}.checkpoint.parquet"
    file.write_bytes(file.read_bytes()[:-9])

    with pytest.raises(LakeDamaged, match="a checkpoint cannot be read"):
        position_of(str(tmp_path), "p")


@pytest.mark.parametrize("name", [f"{1:020d}.json", f"{1:020d}.checkpoint.parquet"])
@pytest.mark.parametrize("how", ["a folder", "a link to itself", "below a file"])
def test_what_has_the_name_of_a_file_of_the_log_and_is_none_is_damage(tmp_path: Path, name: str, how: str) -> None:
    commit(tmp_path, 0, ("mine", 100))
    commit(tmp_path, 1, ("mine", 200))
    file = tmp_path / "_delta_log" / name
    file.unlink(missing_ok=True)
    if how == "a folder":
        file.mkdir()
    else:
        file.symlink_to(file if how == "a link to itself" else tmp_path / "_delta_log" / f"{0:020d}.json" / "x")

    with pytest.raises(LakeDamaged, match="cannot be read"):
        position_of(tmp_path, "mine")


def test_a_swap_is_found_as_the_newest_commit_alone(tmp_path: Path) -> None:
    says = text_of({"swap": "1-5-copy", "kept": "4-7-replaced", "scn": 4})
    commit(tmp_path, 0, ("shop/ORDERS/1", 4))
    commit(tmp_path, 1, ("shop/ORDERS/1/repair", 7), by=says)

    found = partial(find_swap, str(tmp_path), "shop/ORDERS/1")
    assert found("1-5-copy", 4) == ("4-7-replaced", 1)
    assert (found("1-5-copy", 5), found("2-5-copy", 4)) == (None, None)
    commit(tmp_path, 2, ("shop/ORDERS/1", 9))
    assert found("1-5-copy", 4) is None


ROOT = Path(__file__).parents[4]
TABLE = TableId("S", "T")
NOTE = {"app": "p/S.T/1", "ddl_scn": 7, "ddl_step": 1, "checked": 0, "epoch_since": 3, "epoch_because": "x", "repair": {}}
FIELD = {"name": "A", "type": "timestamp", "nullable": True, "metadata": {}}
METADATA: dict[str, Any] = {
    "schemaString": json.dumps({"type": "struct", "fields": [FIELD]}),
    "configuration": {"redolake.pipeline": "p", "redolake.table": "S.T"},
    "partitionColumns": ["A"],
    "description": "d",
}
COMMITS: list[list[dict[str, Any]]] = [
    [
        {"commitInfo": {"operation": "WRITE", "userMetadata": text_of({"batch": "1"})}},
        {"metaData": METADATA},
        {"protocol": {"minReaderVersion": 3, "readerFeatures": ["a"], "writerFeatures": ["b"]}},
        {"txn": {"appId": "p/S.T/1", "version": 10}},
        {"add": {"path": "x.parquet", "modificationTime": 5, "dataChange": True}},
    ],
    [
        {"commitInfo": {"operation": "MERGE", "userMetadata": text_of(NOTE)}},
        {"remove": {"path": "x.parquet", "dataChange": True}},
    ],
]
ODD = (None, True, 2**70, float("nan"), "x", [], [{}], {}, {"x": {}}, '{"redolake": {"a":' * 2_000)


def places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    yield path
    for name in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[name], *path, name)


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    if not path:
        return to
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], to)
    return copy


def inside(kind: str) -> Iterator[tuple[str, list[list[dict[str, Any]]]]]:
    """Yield the commits with one value changed: in the actions, in the text of our metadata, or in that of the schema."""
    if kind == "actions":
        for path in places(COMMITS):
            if len(path) > 1:
                yield from ((f"{path} {odd!r:.20}", changed(COMMITS, path, odd)) for odd in ODD)
    elif kind == "note":
        notes = [(path, odd) for path in places({"redolake": NOTE}) for odd in ODD]
        for path, odd in notes:
            text = json.dumps(changed({"redolake": NOTE}, path, odd))
            yield f"{path} {odd!r:.20}", changed(COMMITS, (1, 0, "commitInfo", "userMetadata"), text)
    else:
        schema = {"type": "struct", "fields": [FIELD]}
        for path in places(schema):
            for odd in ODD:
                text = json.dumps(changed(schema, path, odd))
                yield f"{path} {odd!r:.20}", changed(COMMITS, (0, 1, "metaData", "schemaString"), text)


def ask_everything(path: str) -> None:
    log = read_log(path)
    assert log is not None
    own = "p/S.T/"
    asked = (
        log.txns, log.schema, log.properties, log.description, log.partition_columns, log.features, log.files, log.table_bytes,
        log.newest_metadata, partial(log.last_txn, "p/S.T/1"), partial(log.current_id, "p/S.T/1"),
        partial(log.commit_info, "p/S.T/1", 10), partial(log.load, "p/S.T/1", 1), partial(log.last_ddl, "p/S.T/1"),
        partial(log.note_with, "epoch_since"), partial(log.foreign_writes, own), partial(log.ours_after, own, 0),
        partial(log.last_version_with, 0, own), partial(recorded_owners, log), partial(fields_with_ids, log),
        partial(position_of, path, "p/S.T/1"), partial(find_swap, path, "p/S.T/1", "x", 1), partial(old_files, path),
    )  # fmt: skip
    for question in asked:
        with suppress(LakeDamaged):
            question()


@pytest.mark.parametrize("kind", ["actions", "note", "schema"])
def test_whatever_stands_in_a_commit_is_understood_or_is_damage(tmp_path: Path, kind: str) -> None:
    """Anybody may commit to the table, also with user metadata that begins as ours does."""
    folder, wrong = tmp_path / "_delta_log", []
    folder.mkdir()
    for what, commits in inside(kind):
        for number, actions in enumerate(commits):
            text = "\n".join(map(json.dumps, actions)) if isinstance(actions, list) else json.dumps(actions)
            (folder / f"{number:020d}.json").write_text(text)
        try:
            ask_everything(str(tmp_path))
        except Exception as error:
            wrong.append(f"{what}: {error!r:.60}")
    assert wrong == []


def test_whatever_stands_in_a_checksum_is_understood_or_left_out(tmp_path: Path) -> None:
    folder, wrong = tmp_path / "_delta_log", []
    folder.mkdir()
    for number, actions in enumerate(COMMITS):
        (folder / f"{number:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    whole = {"tableSizeBytes": 1, "metadata": METADATA, "protocol": {"readerFeatures": ["a"]}}
    for path in places(whole):
        for odd in ODD:
            (folder / f"{1:020d}.crc").write_text(json.dumps(changed(whole, path, odd)))
            try:
                ask_everything(str(tmp_path))
            except Exception as error:
                wrong.append(f"{path} {odd!r:.20}: {error!r:.60}")
    assert wrong == []


def test_who_reads_a_log_says_whose_it_is_or_catches_its_damage() -> None:
    """So that the error of a damaged log names the table, and a cure."""
    unnamed = []
    for file in (ROOT / "pipelines" / "redolake").rglob("*.py"):
        tree = ast.parse(file.read_text())
        caught = [
            node
            for node in ast.walk(tree)
            if (isinstance(node, ast.Try) and any("LakeDamaged" in ast.unparse(one.type or node) for one in node.handlers))
            or (isinstance(node, ast.With) and "suppress(LakeDamaged" in ast.unparse(node.items[0]))
        ]
        inside = {id(one) for node in caught for one in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "read_log" and id(node) not in inside:
                unnamed += [f"{file.relative_to(ROOT)}:{node.lineno}"] if len(node.args) < 2 else []
    assert unnamed == []
