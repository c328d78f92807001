"""Carried rows that are damaged: the batch that the next one continues, or the error with what mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolake.context import Run
from redolake.errors import LandingDamaged
from redolake.reconcile.ledger import last_batch
from redolake.records.batches.manifest import BatchResult
from redolake.records.codec import decode, encode
from tests.unit.reconcile.pipeline_on_disk import (
    FIRST,
    OPEN,
    ORDERS,
    SECOND,
    PipelineOnDisk,
    carried_rows,
    corrected_table,
    following_batch,
    following_catch_up,
)


def attempt(on_disk: PipelineOnDisk, batch: str) -> None:
    """Leave the folder of an attempt that found the damage."""
    (on_disk.folder / "shop" / "batches" / batch).mkdir(parents=True)


def damage(on_disk: PipelineOnDisk, batch: str) -> None:
    Path(on_disk.carried(batch)).write_bytes(b"other bytes")


def manifest(batch: str) -> str:
    return f"batches/{batch}/manifest.json"


def test_a_batch_after_two_with_damaged_rows_reads_their_windows_again_and_is_the_last(
    on_disk: PipelineOnDisk, context: Run
) -> None:
    windows = [on_disk.window(start, start + 100) for start in (200, 300, 400)]
    for window in windows[:2]:
        damage(on_disk, on_disk.batch(window, open_now=(OPEN,)))
    attempt(on_disk, f"{FIRST:010d}-{400:020d}-{500:020d}")
    corrected_table(context)

    spec = following_batch(context)
    on_disk.batch(*windows, open_now=(OPEN,))

    assert (spec.start, spec.end, spec.redo.open_in) == (200, 500, (OPEN,))
    last = last_batch(context)
    assert last is not None
    assert (last.start, last.end) == (200, 500)


def test_rows_carried_in_a_landing_that_was_moved_since_are_found(on_disk: PipelineOnDisk, context: Run) -> None:
    """The manifest was written with the paths of the old place."""
    name = on_disk.batch(on_disk.window(200, 300), open_now=(OPEN,))
    on_disk.window(300, 400)
    file = on_disk.folder / "shop" / manifest(name)
    written = decode(BatchResult, file.read_bytes(), str(file))
    file.unlink()
    on_disk.write(
        manifest(name), encode(written.with_carried(lambda path: path.replace(str(on_disk.folder), "/mnt/batches/old")))
    )
    corrected_table(context)

    spec = following_batch(context)

    assert (spec.start, spec.end, spec.redo.open_in) == (300, 400, (OPEN,))
    assert spec.redo.carry_in == (on_disk.carried(name),)
    assert spec.redo.digests[on_disk.carried(name)] == on_disk.files.digest(carried_rows(name))


def test_rows_damaged_right_before_a_resetlogs_are_carried_again_once_their_batch_is_removed(
    on_disk: PipelineOnDisk, context: Run
) -> None:
    """One batch cannot read the windows of two incarnations."""
    old = on_disk.window(200, 300)
    name = on_disk.batch(old, open_now=(OPEN,))
    on_disk.window(300, 400, SECOND)
    damage(on_disk, name)
    corrected_table(context)

    with pytest.raises(LandingDamaged) as caught:
        following_batch(context)
    assert f"remove {manifest(name)} and run again" in caught.value.cure
    (on_disk.folder / "shop" / manifest(name)).unlink()

    corrected_table(context)
    again = following_batch(context)
    assert (again.resetlogs_id, again.start, again.end, again.redo.open_in) == (FIRST, 200, 300, (OPEN,))
    on_disk.batch(old, open_now=(OPEN,))
    corrected_table(context)
    spec = following_batch(context)
    assert (spec.resetlogs_id, spec.start, spec.end, spec.redo.open_in) == (SECOND, 300, 400, (OPEN,))


def test_where_two_incarnations_have_damaged_rows_the_batches_of_both_are_removed_newest_first(
    on_disk: PipelineOnDisk, context: Run
) -> None:
    old, new = on_disk.window(200, 300), on_disk.window(300, 400, SECOND)
    names = [on_disk.batch(window, open_now=(OPEN,)) for window in (old, new)]
    on_disk.window(400, 500, SECOND)
    for name in names:
        damage(on_disk, name)
    attempt(on_disk, f"{SECOND:010d}-{400:020d}-{500:020d}")
    corrected_table(context)

    with pytest.raises(LandingDamaged) as caught:
        following_batch(context)
    assert f"remove {manifest(names[1])}, then {manifest(names[0])} and run again" in caught.value.cure
    for name in names[::-1]:
        (on_disk.folder / "shop" / manifest(name)).unlink()

    corrected_table(context)
    spec = following_batch(context)
    assert (spec.resetlogs_id, spec.start, spec.end, spec.redo.open_in) == (FIRST, 200, 300, (OPEN,))
    on_disk.batch(old, open_now=(OPEN,))
    corrected_table(context)
    spec = following_batch(context)
    assert (spec.resetlogs_id, spec.start, spec.end, spec.redo.open_in) == (SECOND, 300, 500, (OPEN,))


def test_the_rows_before_a_resetlogs_carry_a_batch_whose_own_are_damaged(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.batch(on_disk.window(200, 300), open_now=(OPEN,))
    damage(on_disk, on_disk.batch(on_disk.window(300, 400, SECOND), open_now=(OPEN,)))
    on_disk.window(400, 500, SECOND)
    attempt(on_disk, f"{SECOND:010d}-{400:020d}-{500:020d}")
    corrected_table(context)

    spec = following_batch(context)

    assert (spec.resetlogs_id, spec.start, spec.end, spec.redo.open_in) == (SECOND, 300, 500, (OPEN,))


def test_damaged_rows_before_a_declared_gap_are_not_needed_after_it(on_disk: PipelineOnDisk, context: Run) -> None:
    names = [on_disk.batch(on_disk.window(200, 300), open_now=(OPEN,))]
    on_disk.declare_gap(300, 350, dropped=(OPEN,), snapshot_scn=120)
    names.append(on_disk.batch(on_disk.window(350, 400), open_now=(OPEN,)))
    on_disk.window(400, 500)
    for name in names:
        damage(on_disk, name)
    attempt(on_disk, f"{FIRST:010d}-{400:020d}-{500:020d}")
    corrected_table(context)

    spec = following_batch(context)

    assert (spec.start, spec.end, spec.redo.carry_in) == (350, 500, ())


def test_a_lagging_table_whose_rows_were_damaged_before_a_resetlogs_is_held(on_disk: PipelineOnDisk, context: Run) -> None:
    name = on_disk.batch(on_disk.window(200, 300), open_now=(OPEN,))
    on_disk.batch(on_disk.window(300, 400, SECOND), state="held", complete_to=299)
    damage(on_disk, name)
    corrected_table(context)
    context.ledger.release(ORDERS)

    with pytest.raises(AssertionError):
        following_catch_up(context)

    entry = context.ledger.table(ORDERS)
    assert entry is not None
    assert entry.state == "held"
    assert f"snapshot {ORDERS} --replace" in (entry.error or {})["cure"]
    assert "manifest.json" not in (entry.error or {})["cure"]


@pytest.mark.parametrize("is_there", [True, False], ids=["no Parquet", "gone"])
def test_a_damaged_file_of_a_landing_without_digests_is_passed_over(
    on_disk: PipelineOnDisk, context: Run, is_there: bool
) -> None:
    """Older versions wrote no sizes and hashes."""
    name = on_disk.batch(on_disk.window(200, 300), open_now=(OPEN,), has_digests=False)
    damage(on_disk, name) if is_there else Path(on_disk.carried(name)).unlink()
    on_disk.window(300, 400)
    attempt(on_disk, f"{FIRST:010d}-{300:020d}-{400:020d}")
    corrected_table(context)

    assert following_batch(context).start == 200
