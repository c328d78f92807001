"""After each write there is a named point; a process that is repeated is killed at each of them once."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from redolake.host import crash
from redolake.host.crash import VARIABLE, kind_of

PIPELINES = Path(crash.__file__).parents[1]

WORK = """
import sys
from redolake.host import crash
from redolake.land.files import Files
files = Files(sys.argv[1])
@crash.writer
def publish():
    files.create("chain/0000000001.json", b"{}")
@crash.writer
def stream():
    with files.open_new("windows/1-2/redo-a1-0.parquet") as out:
        out.write(b"x")
@crash.writer
def clear():
    files.remove("windows/1-2")
publish()
stream()
clear()
"""


def work(folder, killed_at):
    env = os.environ | {VARIABLE: str(killed_at)}
    return subprocess.run([sys.executable, "-c", WORK, str(folder)], env=env, check=False).returncode


def test_a_process_is_killed_after_each_write_once_and_then_finishes(tmp_path):
    killed_at = tmp_path / "killed-at"
    codes = [work(tmp_path / "shop1", killed_at) for _ in range(6)]

    assert codes == [-signal.SIGKILL] * 5 + [0]
    assert killed_at.read_text().splitlines() == [
        "part of a file",
        "publish chain/*.json",
        "part of a stream",
        "stream windows/*/*.parquet",
        "clear windows/*",
    ]


def test_a_point_may_be_named_with_the_pass_that_kills(tmp_path):
    assert work(tmp_path / "shop1", "publish chain/*.json#2") == 0
    assert work(tmp_path / "shop2", "publish chain/*.json") == -signal.SIGKILL


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/lake/landing/shop/chain/0000000001-00000000000000002000.json", "shop/chain/*.json"),
        ("s3://lake/shop/windows/1-2-3/manifest.json", "windows/*/manifest.json"),
        ("/landing/shop/snapshots/SHOP.PARTS/00000000000000002000/dictionary.json", "dictionary.json"),
        ("/landing/shop/snapshots/SHOP.PARTS/00000000000000002000/begun-1-0.json", "*.json"),
    ],
)
def test_a_kind_of_file_is_the_same_on_every_run(path, kind):
    assert kind_of(path) == kind


# --- No write is left out --------------------------------------------------------------------------------------------

# tests/integration/test_kills_without_spark.py shows that it kills after each of them.
KILLED_AT = {
    "begin",
    "compare_table",
    "declare",
    "discard_slice",
    "drop_transaction",
    "finish",
    "note_prepared",
    "prepare_backfill",
    "write_batch",
    "write_load",
    "publish",
    "record_approval",
    "publish_batch",
    "publish_manifest",
    "without_start",
    "start_pipeline",
    "remove_pruned",
    "write_dictionary",
    "write_for_comparison",
    "write_pruned",
    "write_proof",
    "write_rows",
    "write_slice",
    "write_snapshot_result",
}
# Functions that write for others: the point after their write is named by the caller.
METHODS = [
    "create",
    "create_record",
    "open_new",
    "remove",
    "write_record_once",
    "write_new_record",
    "replace_record",
    "continue_with",
    "replace_manifest",
    "remove_last",
]
ADAPTERS = {*METHODS, "write_parquet"}
NOT_KILLED_AT = {
    "keep_without_start": "an empty file before the snapshot's own records, which the next attempt finds",
    "replace_redo": "a person repeats it: test_damaged_files.py kills it after each write",
    "discard_from": "as replace_redo",
    "record_closed": "test_recover_in_delta.py kills closing a gap after each write",
    "record_later": "test_chunks.py kills after it",
    "give_up": "as record_later",
    "pause": "one small file that is replaced at once, by a person",
    "begin_hashing": "test_chunks.py kills the comparison after a chunk; without its beginning it begins again",
    "write_hashed": "as begin_hashing",
    "end_hashing": "as begin_hashing: what it leaves belongs to no comparison, and the next one removes it",
    "load_columns": "test_filled_columns.py kills it after each write",
    "write_failure": "the job's last write, and the one who waits for the job does not depend on it",
    "record_key": "a key that was recorded is found by the next writer of rows; without the record, it is recorded again",
    "write_part": "runs in a worker of Spark; its files count once the batch's manifest names them",
    "write_captured": "a lost list is made again by the next plan, before anything depends on it",
    "write_reread": "its files count once the window's manifest names them; test_large_objects.py kills before that",
    "write_reread_later": "as write_reread",
    "write_whole": "as write_reread; test_whole_tables.py kills before that",
    "start": "it brings back a file that is gone from its copy, and the next reader does so again",
    "copy_start": "as start: the next reader writes the copy",
    "restore_drops": "as start, from the ledger",
    "_write_again": "as start: the next reader finds the evidence again",
    "record_evidence": "comes before the manifest of its window, and the window that is landed again finds it",
    "remove_rows": "what it leaves is removed by the next step",
    "write_maintenance": "a spec that no job runs is removed by a later prune; its leases expire",
    "write_maintenance_result": "the next job finds what is done: tests/integration/spark/test_maintenance.py",
    "writable": "`doctor` and `validate` try whether a place can be written",
    "mark_lake": "the next job finds a lake with or without its mark; tests/unit/job/test_lake.py stops between the two files",
    "record_mark": "as mark_lake",
    "check_usable": "tries whether the lake can be written, before a table is held",
    "remove_read": "what it leaves is removed by a later read, and nothing depends on it",
    "fold": "as remove_read",
    "same_place": "`validate --spark` tries whether Spark uses the same place",
}
# What writes to Delta does so in a block of `commit` (apply/delta/writer.py), which has the point.
POINT_IN = dict.fromkeys(("run", "_save", "merge", "run_merge"), ("commit",))
RUN = ("run_sql", "run_query")  # they run statements of others, whose calls count
NO_POINT = {
    "_create_object",  # `create`, which calls it, has the point
    "keeps_apart",  # tries the store with a file that nobody reads, and removes it
    *RUN,
    "cores",  # explains a query, and runs none
    "answer_query",  # runs the query of a person over views; a statement that writes is refused
    "make_private",  # an empty ledger is none
    "write_archive",  # for Spark's hosts: no file of a pipeline, and renamed when it is whole
}
LEFT_OUT = {"crash.py", "runtime.py"}  # the points themselves, Java for Spark


@cache
def functions(*rooms: str) -> tuple[tuple[Path, ast.FunctionDef], ...]:
    """Return the functions in these rooms of the product; of all of it where none is named."""
    files = [f for room in rooms or ("",) for f in (PIPELINES / room).rglob("*.py") if f.name not in LEFT_OUT]
    nodes = ((file, node) for file in files for node in ast.walk(ast.parse(file.read_text())))
    return tuple((file, node) for file, node in nodes if isinstance(node, ast.FunctionDef))


@cache
def calls(function: ast.FunctionDef) -> tuple[tuple[str, ast.Call], ...]:
    return tuple((text_of(node.func), node) for node in ast.walk(function) if isinstance(node, ast.Call))


def text_of(called: ast.expr) -> str:
    """Return what `ast.unparse` does, which is slow."""
    if isinstance(called, ast.Name):
        return called.id
    if isinstance(called, ast.Attribute):
        return f"{text_of(called.value)}.{called.attr}"
    return ast.unparse(called)


def named_points() -> set[str]:
    """Return the names in the code; a name that is not a literal becomes an empty one, but where a caller gives it."""
    return {point for _, function in functions() for name, call in calls(function) for point in points_of(name, call)}


def spark_points() -> set[str]:
    """Return the points after writes of Spark, which are killed in tests/integration/spark/ too."""
    rooms = functions("apply", "job")
    return {
        point for _, function in rooms for name, call in calls(function) if name != "point" for point in points_of(name, call)
    }


def points_of(name: str, call: ast.Call) -> list[str]:
    """Return the literal names of a point: a target's `commit` has it as its third argument, what writes events of the
    quarantine as its fourth."""
    places = {"point": 0, "crash.point": 0, "commit": 3, "write": 3}
    place = 2 if name.endswith(".commit") else places.get(name)
    if place is None or len(call.args) <= place:
        return []
    argument = call.args[place]
    if isinstance(argument, ast.Name) and argument.id == "point":
        return []
    choices = (argument.body, argument.orelse) if isinstance(argument, ast.IfExp) else (argument,)
    return [str(choice.value) for choice in choices if isinstance(choice, ast.Constant)] or [""]


def ledger_points() -> set[str]:
    """Return the points of all ledger methods that write and are used, and of the functions that join several to one."""
    used = {name.rpartition(".")[2] for _, function in functions() for name, _ in calls(function) if "." in name}
    return {
        f"ledger.{function.name}"
        for file, function in functions()
        if joins_ledger_writes(function) or (writes_ledger(file, function) and function.name in used)
    }


def writes_ledger(file: Path, function: ast.FunctionDef) -> bool:
    return file.parent.name == "ledger" and any(name == "self._write" for name, _ in calls(function))


def joins_ledger_writes(function: ast.FunctionDef) -> bool:
    return any(name.endswith(".at_once") for name, _ in calls(function))


FILES = re.compile(rf"(.*\.)?(_chain|_files|Files\(.*\)|files|landing|self)\.({'|'.join(METHODS)})")
ELSE = re.compile(
    r".*\b(rm|rm_file|pipe_file|put_file|mv|save|saveAsTable|insertInto|unlink|rename|link|rmtree|write_bytes|sql)"
)


def writes_file(function: ast.FunctionDef) -> bool:
    """Return whether the function writes or removes a file through the landing's adapter."""
    if function.name in ADAPTERS:
        return False
    return any(FILES.fullmatch(name) or name == "write_parquet" for name, _ in calls(function))


def writers_of_files() -> set[str]:
    return {function.name for _, function in functions() if writes_file(function)}


def is_named(function: ast.FunctionDef) -> bool:
    return "crash.writer" in {ast.unparse(decorator) for decorator in function.decorator_list}


def is_generator(function: ast.FunctionDef) -> bool:
    """Return whether the body runs after the call has returned, when the writer's name is no longer set."""
    body = [statement for statement in function.body if not isinstance(statement, ast.FunctionDef)]
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for statement in body for node in ast.walk(statement))


def writers_by_other_ways() -> set[str]:
    of_rooms = ((file, function) for file, function in functions() if "schema" not in file.parts)  # pure: it renames columns
    return {function.name for _, function in of_rooms for name, call in calls(function) if is_write(name, call)}


def is_write(name: str, call: ast.Call) -> bool:
    """Return whether the call writes. Spark SQL writes unless it is a query; a text that is not a literal may write."""
    text = ast.unparse(call.args[-1] if name in RUN else call.args[0]) if call.args else ""
    if name.endswith(".sql") or name in RUN:
        return not re.match(r"f?['\"](SELECT|DESCRIBE)", text)
    opened = name == "open" and len(call.args) > 1 and "r" not in ast.unparse(call.args[1])
    return opened or ELSE.fullmatch(name) is not None or (".write." in name and name.endswith(".parquet"))


def has_point(name: str) -> bool:
    bodies = [{called for called, _ in calls(function)} for _, function in functions() if function.name == name]
    bodies = [body for body in bodies if body]  # a protocol has none
    return bool(bodies) and all(body & {"point", "crash.point", "file_point", "commit"} for body in bodies)


def test_each_writer_of_a_file_is_known_to_the_kills() -> None:
    assert writers_of_files() == KILLED_AT | set(NOT_KILLED_AT)


def test_each_writer_names_its_points_and_is_no_generator() -> None:
    writing = [f for file, f in functions() if writes_file(f) or writes_ledger(file, f) or joins_ledger_writes(f)]

    assert {f.name for f in writing if not is_named(f)} == set()
    assert {f.name for _, f in functions() if is_named(f) and is_generator(f)} == set()


def test_each_write_goes_through_an_adapter_or_has_a_point() -> None:
    writers = {name for writer in writers_by_other_ways() - NO_POINT for name in POINT_IN.get(writer, (writer,))}
    assert {name for name in writers if not has_point(name)} == set()
