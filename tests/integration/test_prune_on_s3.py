"""Prune on S3 with a ledger in PostgreSQL: what must go goes, a lost ledger comes back, and pages of listings do not matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake.config import Pipeline
from redolake.config.keep import KeepSettings
from redolake.context import Run
from redolake.land.files import Files
from redolake.reconcile.ledger import last_batch, reconcile_ledger
from redolake.reconcile.next_batch import next_batch
from redolake.reconcile.table_versions import known_versions
from redolake.steps.upkeep.prune import prune_pipeline
from tests.fixtures.s3 import S3
from tests.unit.reconcile.pipeline_on_disk import ORDERS
from tests.unit.steps.test_prune import ADDED, OldPipeline

pytestmark = pytest.mark.postgres


def on_s3(old: OldPipeline, s3: S3, bucket: str, url: str) -> Pipeline:
    """Copy a landing into a bucket, and return its pipeline there."""
    for file in sorted((old.folder / "shop").rglob("*")):
        if file.is_file():
            s3.client().upload_file(str(file), bucket, f"landing/{file.relative_to(old.folder)}")
    body = old.pipeline.model_dump(exclude={"matches"}, exclude_unset=True)
    body |= {"landing": f"s3://{bucket}/landing", "ledger": {"url": url}}
    return Pipeline.model_validate(body).model_copy(update={"keep": KeepSettings(landing="0s")})  # type: ignore[arg-type]


def test_a_landing_on_s3_is_pruned_and_rebuilds_a_lost_ledger(
    tmp_path: Path, s3: S3, bucket: str, postgres_url: str, postgres: Any
) -> None:
    old = OldPipeline(tmp_path)
    old.load(120)
    old.months(6, ddl=(ADDED,))
    pipeline = on_s3(old, s3, bucket, postgres_url)
    report = prune_pipeline(pipeline, execute=True, by="dba")

    assert report.begins_at == 600
    assert [name.split("-")[1].lstrip("0") for name in Files(f"s3://{bucket}/landing/shop").names("windows")] == ["600"]
    lost = pipeline.model_copy(update={"ledger": pipeline.ledger.model_copy(update={"url": postgres.new_database()})})
    for one in (pipeline, lost):
        with Run(one) as context:
            reconcile_ledger(context)
            assert next_batch(context, last_batch(context)) is None
            assert [version.from_scn for version in known_versions(context, ORDERS)] == [120, 150]


def test_names_after_one_are_listed_page_by_page(s3: S3, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files(f"s3://{bucket}/landing")
    for number in range(7):
        s3.client().put_object(Bucket=bucket, Key=f"landing/chain/{number}.json", Body=b"")
        s3.client().put_object(Bucket=bucket, Key=f"landing/windows/{number}/manifest.json", Body=b"")
    original, pages = files._fs.call_s3, []

    def two_at_once(method: str, **wanted: Any) -> Any:
        pages.append(method)
        return original(method, **wanted, MaxKeys=2)

    monkeypatch.setattr(files._fs, "call_s3", two_at_once)

    assert files.names("chain", "3.json") == ["4.json", "5.json", "6.json"]
    assert files.names("windows", "4") == ["5", "6"]
    assert len(pages) >= 3
