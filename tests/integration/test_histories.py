"""Any history of concurrent sessions, split into windows and batches, killed and repeated, ends with the rows of Oracle."""

from __future__ import annotations

import logging
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.generated.histories import History, examples, histories, run_check
from tests.generated.hunts import EXAMPLES, hunt
from tests.references.delta_copy import ABREAST, play_into_delta, several_abreast
from tests.references.gathered_histories import Played, damaged, differing, rearranged
from tests.references.reference_copy import IDS, ReferenceCopy, play_into_reference
from tests.references.source_comparison import compare_with_source

LOG = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def played() -> list[Played]:
    """Play histories; the reference folds each to Oracle's rows, after every batch and at the end."""
    totals: Counter[str] = Counter()
    kept: list[Played] = []

    @examples(2)
    @given(history=histories(ReferenceCopy.KILLED))
    def check(history: History) -> None:
        with play_into_reference(history) as copy:
            for table in IDS:
                assert copy.tables[table].rows == copy.clients.rows(table.name)
                assert not copy.tables[table].carried
        totals.update(copy.totals)
        kept.append(Played(copy.raw, copy.begun))

    check()
    assert all(totals[name] for name in ("applied", "undone", "rolled_back", "carried_out", "before_position")), totals
    LOG.info("change rows by what became of them: %s", dict(totals))
    return kept


def test_the_reference_folds_any_history_to_the_rows_of_oracle(played: list[Played]) -> None:
    assert played


@pytest.mark.spark
def test_spark_gives_every_row_of_a_history_the_disposition_of_the_reference(
    spark: Any, tmp_path: Path, played: list[Played]
) -> None:
    """Try each history as played, with undo rows in another order, and damaged, where both must refuse it."""
    others = [other(one, seed) for other in (rearranged, damaged) for seed, one in enumerate(played)]

    assert differing(spark, tmp_path, [*played, *others]) == []


@hunt
@pytest.mark.spark
def test_any_history_ends_in_delta_with_the_rows_of_oracle(spark: Any) -> None:
    """Several histories are combined, because the cost of a batch depends little on its size. REDOLAKE_EXAMPLES is the number
    of histories, REDOLAKE_SEED chooses them."""
    number, seed = EXAMPLES or ABREAST, int(os.environ.get("REDOLAKE_SEED", 8))
    totals: Counter[str] = Counter()

    def check(history: History) -> None:
        with play_into_delta(history, spark) as copy:
            verified = compare_with_source(copy.pipeline, copy.source)
            assert verified.equal, verified
            totals.update(copy.figures())

    for several in several_abreast(number, seed):
        run_check(several, check)
        LOG.info("so far: %s", dict(totals))
    assert totals["applied"], totals
