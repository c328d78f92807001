"""Names and texts in Spark SQL; tests/integration/spark/test_hostile_text.py has Spark read them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redolake
from redolake.apply.spark.quoting import text_literal, typed_literal

# These run SQL without names and texts of the source.
CONSTANT = {"apply/spark/failures.py"}
USERS_OWN = {"job/as_of.py"}  # a query that its user has written


@pytest.mark.parametrize(
    ("default", "spark_type", "expected"),
    [
        (None, "STRING", "CAST(NULL AS STRING)"),
        ("-50", "DECIMAL(38,10)", "CAST('-50' AS DECIMAL(38,10))"),
        ("it's \\ a", "STRING", r"CAST('it\'s \\ a' AS STRING)"),
        ("${x}", "STRING", r"CAST('\u0024{x}' AS STRING)"),
        ("2020-02-29 00:00:00", "TIMESTAMP_NTZ", "CAST('2020-02-29 00:00:00' AS TIMESTAMP_NTZ)"),
        ("0AFF", "binary", "X'0aff'"),
    ],
)
def test_a_default_becomes_a_cast_of_its_text(default, spark_type, expected):
    assert typed_literal(default, spark_type) == expected


@given(st.text())
def test_no_text_can_end_its_literal_or_begin_a_variable(text):
    body = re.fullmatch(r"'((?:[^'\\$]|\\['\\]|\\u0024)*)'", text_literal(text))

    assert body is not None
    assert re.sub(r"\\(u0024|.)", lambda m: "$" if m[1] == "u0024" else m[1], body[1], flags=re.DOTALL) == text


def test_only_one_function_runs_statements_with_names_and_texts():
    root = Path(redolake.__file__).parent
    found = {str(file.relative_to(root)) for file in root.rglob("*.py") if runs_sql(ast.parse(file.read_text()))}

    assert found == {"apply/spark/session.py"} | CONSTANT | USERS_OWN


def runs_sql(tree):
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(isinstance(f, ast.Attribute) and f.attr == "sql" for f in calls)


def test_no_expression_is_parsed_from_a_text_that_is_put_together():
    """F.expr and their like take constants: a name would need quotes, and Spark replaces ${..} in them too."""
    root = Path(redolake.__file__).parent / "apply"
    texts = [
        f"{file.name}:{node.lineno}"
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("expr", "selectExpr")
        if any(isinstance(arg, ast.JoinedStr) for arg in node.args)
    ]

    assert texts == []
