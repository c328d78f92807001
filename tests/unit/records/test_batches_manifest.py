"""The result of a batch belongs to its specification, and its row accounting shows missing rows."""

from __future__ import annotations

from dataclasses import replace

from redolake.records.batches.manifest import RowAccount
from tests.unit.records.samples import BATCH, RESULT


def test_a_result_recognises_its_specification() -> None:
    assert RESULT.is_of(BATCH)
    assert not RESULT.is_of(replace(BATCH, redo=replace(BATCH.redo, dropped=()))), (
        "a batch without the drop would have applied the transaction"
    )
    assert not RESULT.is_of(replace(BATCH, end=101))


def test_missing_rows_show_in_the_row_accounting() -> None:
    assert RowAccount(landed=5, carried_in=2, applied=3, undone=2, carried_out=1).difference == 1
    assert RowAccount(landed=5, applied=3, dropped=2).difference == 0
