"""A full lake ends the job and holds no table."""

from __future__ import annotations

import pytest

from pipelines.apply.failures import check_space
from pipelines.errors import LakeFull

JOB = "Job aborted due to stage failure: Task 0 in stage 7.0 failed 1 times. Caused by: java.io.IOException: "


@pytest.mark.parametrize("words", ["No space left on device", "Disk quota exceeded", "File too large"])
def test_a_full_lake_ends_the_job_and_says_what_to_do(words: str) -> None:
    with pytest.raises(LakeFull, match=words) as full:
        check_space(RuntimeError(JOB + words))
    assert "free space" in full.value.cure


def test_other_failures_do_not_count_as_a_full_lake() -> None:
    check_space(RuntimeError(JOB + "Permission denied"))
