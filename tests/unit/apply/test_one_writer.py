"""Nothing commits to a Delta table but in a block of `commit`, which has all guards: apply/delta/writer.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.unit.host.test_crash import PIPELINES, calls, functions, text_of

WRITER = "apply/delta/writer.py"
STATEMENT = re.compile(
    r"(ALTER TABLE|CREATE (OR REPLACE )?TABLE|COMMENT ON|MERGE INTO|UPDATE|DELETE FROM|INSERT|RESTORE|OPTIMIZE|VACUUM|"
    r"TRUNCATE)\b"
)
VERBS = ("merge", "append", "replace", "create", "run")


def committing(path: str, function: ast.FunctionDef) -> Iterator[str]:
    """Yield what of a function commits without the writer."""
    for name, call in calls(function):
        method = name.rpartition(".")[2]
        if name in ("run_sql", "session.sql", "spark.sql") and call.args:
            text = ast.unparse(call.args[-1]).lstrip("rf'\"")
            if STATEMENT.match(text) or not isinstance(call.args[-1], ast.Constant | ast.JoinedStr):
                yield text
        if method in ("save", "saveAsTable", "insertInto", "writeTo", "executeMerge", "forPath", "write_deltalake"):
            yield name
        if method == "format" and ".write" in name and text_of(call.func).endswith("format"):
            yield name
    for node in ast.walk(function):
        if isinstance(node, ast.Constant) and node.value in ("txnAppId", "spark.databricks.delta.write.txnAppId"):
            yield str(node.value)


# `merge` gives `run_merge` to the writer; the others run queries of people, over views, of which only a query is allowed.
OTHERS = {"merge", "run_merge", "answer_query", "run_sql", "run_query", "options_of"}


@pytest.mark.parametrize("room", ["apply", "job", "steps", "lake.py", "reconcile", "cockpit", "airflow", "cli"])
def test_only_the_writer_commits_to_a_table(room: str) -> None:
    found = {
        f"{path}:{function.name}: {what}"
        for file, function in functions()
        if (path := str(file.relative_to(PIPELINES))).startswith(room) and path != WRITER
        if function.name not in OTHERS
        for what in committing(path, function)
    }

    assert found == set()


def test_the_writer_has_few_verbs() -> None:
    (writer,) = (
        node
        for node in ast.walk(ast.parse((PIPELINES / WRITER).read_text()))
        if isinstance(node, ast.ClassDef) and node.name == "Writer"
    )
    public = {node.name for node in writer.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}

    assert public - {"spark"} <= set(VERBS)
