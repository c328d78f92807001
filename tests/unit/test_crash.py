"""Behind each write there is a point with a name, and a process that is started again and again dies at each of them once."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pipelines import crash
from pipelines.crash import VARIABLE, kind_of

PIPELINES = Path(crash.__file__).parent

WORK = """
import sys
from pipelines.land.files import Files
files = Files(sys.argv[1])
def publish():
    files.create("chain/0000000001.json", b"{}")
def stream():
    with files.writing("windows/1-2/redo-a1-0.parquet") as out:
        out.write(b"x")
publish()
stream()
files.remove("windows/1-2")
"""


def work(folder, killed_at):
    env = os.environ | {VARIABLE: str(killed_at)}
    return subprocess.run([sys.executable, "-c", WORK, str(folder)], env=env, check=False).returncode


def test_a_process_is_killed_behind_each_write_once_and_then_ends(tmp_path):
    killed_at = tmp_path / "killed-at"
    codes = [work(tmp_path / "shop1", killed_at) for _ in range(6)]

    assert codes == [-signal.SIGKILL] * 5 + [0]
    assert killed_at.read_text().splitlines() == [
        "part of a file",
        "publish chain/*.json",
        "part of a stream",
        "stream windows/*/*.parquet",
        "<module> windows/*",
    ]


def test_a_point_is_named_with_the_pass_that_counts(tmp_path):
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

# tests/e2e/test_kills_everywhere.py shows that it kills behind each of them.
KILLED_AT = {
    "_mend",
    "prepare_backfill",
    "drop_transaction",
    "prepare_batch",
    "publish",
    "publish_batch",
    "publish_break",
    "publish_snapshot",
    "read_side",
    "remine_window",
    "begin_snapshot",
    "prepare_snapshot_load",
    "start_pipeline",
    "torn",
    "verify_tables",
    "write_reading",
    "write_slice",
    "write_snapshot_result",
    "write_snapshot_chunk",
}
NOT_KILLED_AT = {
    "write_failure": "the job's last words: nothing is written behind them, and who waits for the job can do without",
    "writable": "`doctor` and `validate` try whether a place can be written",
}
POINT_IN = {  # writers whose callers pass the point
    "overwrite": ("load_snapshot", "create_shadow"),
    "add_column": ("evolve",),
    "drop_column": ("evolve",),
    "merge": ("merge_range",),
    "append": ("merge_range",),
}
ASIDE = {"crash.py", "runtime.py", "__main__.py"}  # the points themselves, Java for Spark, the demo


@cache
def functions() -> tuple[tuple[Path, ast.FunctionDef], ...]:
    files = [f for f in PIPELINES.rglob("*.py") if f.name not in ASIDE]
    nodes = ((file, node) for file in files for node in ast.walk(ast.parse(file.read_text())))
    return tuple((file, node) for file, node in nodes if isinstance(node, ast.FunctionDef))


def calls(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def named_points() -> set[str]:
    """As the code names them; a name that is no literal shows as an empty one."""
    return {
        str(call.args[0].value) if isinstance(call.args[0], ast.Constant) else ""
        for _, function in functions()
        for name, call in calls(function)
        if name in ("point", "crash.point")
    }


def ledger_points() -> set[str]:
    """Every method that writes the ledger and is used by the pipeline, and who makes several of them one transaction."""
    used = {name.rpartition(".")[2] for _, function in functions() for name, _ in calls(function) if "." in name}
    writing = {
        function.name
        for file, function in functions()
        if file.parent.name == "ledger" and any(name == "self._write" for name, _ in calls(function))
    }
    at_once = {function.name for _, function in functions() for name, _ in calls(function) if name.endswith(".at_once")}
    return {f"ledger.{name}" for name in writing & used | at_once}


FILES = re.compile(
    r"(.*\.)?(_files|Files\(.*\)|files|landing|self)\.(create|writing|remove|create_record|write_record_once|write_once|write_text|write_rows|discard)"
)
ELSE = re.compile(
    r".*\b(rm|rm_file|pipe_file|put_file|mv|save|saveAsTable|insertInto|unlink|rename|link|rmtree|write_bytes|sql)"
)


def writers_of_files() -> set[str]:
    """Every function that has a file written or removed by the door to the landing."""
    found = {f.name for _, f in functions() for name, _ in calls(f) if FILES.fullmatch(name) or name == "write_parquet"}
    return found - crash.DOORS


def writers_by_other_ways() -> set[str]:
    return {function.name for _, function in functions() for name, call in calls(function) if is_write(name, call)}


def is_write(name: str, call: ast.Call) -> bool:
    """Of Spark's SQL, what is no query; a text that is no literal may be anything."""
    text = ast.unparse(call.args[0]) if call.args else ""
    if name.endswith(".sql"):
        return not re.match(r"f?['\"](SELECT|DESCRIBE)", text)
    opened = name == "open" and len(call.args) > 1 and "r" not in ast.unparse(call.args[1])
    return opened or ELSE.fullmatch(name) is not None or (".write." in name and name.endswith(".parquet"))


def has_point(name: str) -> bool:
    bodies = [{called for called, _ in calls(function)} for _, function in functions() if function.name == name]
    return bool(bodies) and all(body & {"point", "crash.point", "file_point"} for body in bodies)


def test_each_write_of_a_file_is_known_to_the_kills() -> None:
    assert writers_of_files() == KILLED_AT | set(NOT_KILLED_AT)


def test_each_write_is_behind_a_door_or_has_a_point() -> None:
    behind = {name for writer in writers_by_other_ways() for name in POINT_IN.get(writer, (writer,))}
    assert {name for name in behind if not has_point(name)} == set()
