"""The conditions by which the product distinguishes errors of Spark and Delta are in Spark's and Delta's jars."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pyspark
import pytest

from redolake.apply.spark.conditions import REFUSALS
from redolake.apply.spark.holds import OF_EXPRESSIONS
from redolake.apply.spark.troubles import TROUBLES
from redolake.host.runtime import delta_jars
from redolake.job.expressions import WHATEVER_TYPES
from tests.support.assumes import assumes


def conditions_in(jar: Path, file: str) -> set[str]:
    with zipfile.ZipFile(jar) as opened:
        return set(json.loads(opened.read(file)))


@pytest.fixture(scope="module")
def conditions() -> set[str]:
    (common,) = (Path(pyspark.__file__).parent / "jars").glob("spark-common-utils_*.jar")
    delta = next(jar for jar in delta_jars() if "delta-spark" in jar)
    return conditions_in(common, "error/error-conditions.json") | conditions_in(Path(delta), "error/delta-error-classes.json")


def unknown(names: list[str], conditions: set[str]) -> list[str]:
    """Return the names that are no condition, nor the beginning of one."""
    return [name for name in names if not any(known.startswith(name) for known in conditions)]


@assumes(
    "its conditions name what somebody has set on a table", of="delta-spark",
    used_in="pipelines/redolake/apply/spark/conditions.py", says="What somebody has set on a Delta table",
)  # fmt: skip
def test_refusals_are_conditions(conditions: set[str]) -> None:
    assert unknown([name for names, _, _ in REFUSALS for name in names], conditions) == []


@assumes(
    "its conditions say what a value does to an expression", of="pyspark",
    used_in="pipelines/redolake/apply/spark/holds.py", says="Conditions of Spark's that say what a value does to an expression",
)  # fmt: skip
def test_failures_of_expressions_are_conditions(conditions: set[str]) -> None:
    assert unknown(list(OF_EXPRESSIONS), conditions) == []


@assumes(
    "its conditions say that an expression is wrong whatever the types of its columns are", of="pyspark",
    used_in="pipelines/redolake/job/expressions.py", says="Spark's conditions that no type of a column would cure",
)  # fmt: skip
def test_what_no_type_cures_is_a_condition(conditions: set[str]) -> None:
    assert unknown(list(WHATEVER_TYPES), conditions) == []


@assumes(
    "a file that is gone or changed has a condition of its own", of="pyspark",
    used_in="pipelines/redolake/apply/spark/conditions.py", says="Spark's and Delta's error classes",
)  # fmt: skip
def test_signs_of_damage_are_conditions(conditions: set[str]) -> None:
    assert unknown(["FAILED_READ_FILE", "DELTA_FILE_NOT_FOUND"], conditions) == []


def test_troubles_are_conditions(conditions: set[str]) -> None:
    assert unknown([name for trouble in TROUBLES for name in trouble.conditions], conditions) == []
