"""`redolake validate --spark`: whether Spark reads and writes the places that this process does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from redolake.steps.checks.logging_findings import logging_findings
from redolake.steps.checks.validation import same_place
from tests.fixtures.s3 import S3

pytestmark = pytest.mark.spark


def test_a_folder_that_spark_shares_has_no_finding_and_stays_empty(spark: Any, tmp_path: Path) -> None:
    assert same_place("shop.lake", str(tmp_path), "shop", spark) == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_bucket_for_which_spark_lacks_the_jars_is_a_finding(spark: Any, s3: S3, bucket: str) -> None:
    (found,) = same_place("shop.lake", f"s3://{bucket}/lake", "shop", spark)

    assert (found.severity, found.subject) == ("error", "shop.lake")
    assert "Spark cannot use it" in found.what
    assert "S3AFileSystem" in found.what
    assert "the jars for it" in found.cure
    assert s3.keys(bucket) == []


def test_a_pipeline_with_masks_is_warned_of_a_spark_whose_logs_have_values(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    masked, plain = SimpleNamespace(name="shop", has_masks=True), SimpleNamespace(name="shop", has_masks=False)
    assert logging_findings(masked, spark) == []  # as `redolake` starts it

    elsewhere = "-Dlog4j2.configurationFile=file:///elsewhere/log4j2-host.properties"
    for options, said in (
        ("-Xss4m", "spark.executor.extraJavaOptions of this Spark do not name"),
        (elsewhere, "a host of executors has not"),
    ):
        given = SimpleNamespace(get=lambda name, default, options=options: options)
        other = SimpleNamespace(conf=given, range=spark.range)
        (found,) = logging_findings(masked, other)
        assert (found.severity, said in found.what, "of a masked column too" in found.what) == ("warning", True, True)
        assert logging_findings(plain, other) == []
