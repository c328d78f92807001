"""A full lake or a lost session ends the job and holds no table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.apply.failures import check_session, check_space
from pipelines.errors import LakeFull, SparkLost
from pipelines.job.job import run
from pipelines.records.batch_spec import BatchSpec

JOB = "Job aborted due to stage failure: Task 0 in stage 7.0 failed 1 times. Caused by: java.io.IOException: "


@pytest.mark.parametrize("words", ["No space left on device", "Disk quota exceeded", "File too large"])
def test_a_full_lake_ends_the_job_and_says_what_to_do(words: str) -> None:
    with pytest.raises(LakeFull, match=words) as full:
        check_space(RuntimeError(JOB + words))
    assert "free space" in full.value.cure


def test_other_failures_do_not_count_as_a_full_lake() -> None:
    check_space(RuntimeError(JOB + "Permission denied"))


class LostSession:
    """A Connect session that its server has closed."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("[INVALID_HANDLE.SESSION_CLOSED] Session was closed.\nmore")


def test_a_lost_session_is_to_be_tried_again() -> None:
    with pytest.raises(SparkLost) as lost:
        check_session(LostSession(), RuntimeError("[INVALID_HANDLE.SESSION_CLOSED] Session was closed.\nmore"))

    assert lost.value.what == "Spark does not answer any more: [INVALID_HANDLE.SESSION_CLOSED] Session was closed."


def test_a_session_that_is_lost_outside_of_a_table_ends_the_job_in_the_same_way(tmp_path: Path) -> None:
    spec = BatchSpec("shop", 1, 100, 200, "t", (), (), f"{tmp_path}/carry", f"{tmp_path}/manifest.json")

    with pytest.raises(SparkLost):
        run(LostSession(), spec)  # type: ignore[arg-type]
