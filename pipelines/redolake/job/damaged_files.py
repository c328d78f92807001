"""Check the files of a spec before Spark reads them: a changed bit may decode to another value without an error. A table that
alone needs a damaged file, or whose log in the lake is damaged, is held.

Spark compares the checksum of each page that it reads. Headers of pages and the footer have none, so each file is first read
once and compared with the size and hash in its manifest; that costs a hundredth of what Spark does with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from redolake.apply.spark.lake_damage import damaged_file
from redolake.errors import LakeDamaged, LandingDamaged
from redolake.land.cures import mine_again, run_again, snapshot_again
from redolake.land.files import check_file
from redolake.records.batches.manifest import RowAccount, TableResult
from redolake.records.batches.spec import BatchSpec, HoldAt, Redo, TableTask
from redolake.records.file_digest import Digests
from redolake.records.jobs import Spec

AT_ONCE = 8  # an object store answers late, and one request is slow


def check_files(cures: Mapping[str, str], digests: Digests) -> None:
    """Check files, each with the cure of its kind, by their paths. Raises LandingDamaged for the first that is damaged."""
    with ThreadPoolExecutor(AT_ONCE, "check") as threads:
        for _ in threads.map(lambda file: check_file(file, digests.get(file), cures[file]), cures):
            pass


def cures_of_redo(redo: Redo) -> dict[str, str]:
    return {file: mine_again(window.name) for window in redo.windows for file in window.files}


def check_redo(redo: Redo) -> None:
    """Raise LandingDamaged if a file of redo is damaged, which all tables need."""
    check_files(cures_of_redo(redo), redo.digests)


def check_carried(redo: Redo, files: Iterable[str]) -> None:
    """Raise LandingDamaged if a file with rows of open transactions is damaged."""
    check_files(dict.fromkeys(files, run_again()), redo.digests)


def hold_damaged(spec: BatchSpec, damage: Mapping[int, LakeDamaged]) -> BatchSpec:
    """Return the spec in which the tables whose log cannot be read are held from its start."""
    tables = list(spec.tables)
    for number, error in damage.items():
        tables[number] = replace(tables[number], hold=HoldAt(spec.start, error.as_dict()))
    return replace(spec, tables=tuple(tables))


def result_of_damage(task: TableTask, balance: RowAccount) -> TableResult:
    """Return the result of a table whose log cannot be read: none of its changes is applied, and its position is not known."""
    assert task.hold is not None
    return TableResult(task.table, "held", None, dict(task.hold.error), balance=balance)


def with_damage_held(spec: BatchSpec, positions: Sequence[int | None]) -> BatchSpec:
    """Return the spec in which each table is held before a damaged file of its own: rows that were read again after the
    table's position."""
    tables = (hold_before_damage(spec.redo, task, position) for task, position in zip(spec.tables, positions, strict=True))
    return replace(spec, tables=tuple(tables))


def hold_before_damage(redo: Redo, task: TableTask, position: int | None) -> TableTask:
    for at_scn, files in sorted(own_files(redo, task, -1 if position is None else position)):
        if task.hold is not None and task.hold.at_scn <= at_scn:
            break
        try:
            check_files(dict.fromkeys(files, snapshot_again(task.table)), redo.digests)
        except LandingDamaged as error:
            damaged = LandingDamaged(error.what, cure=error.cure, path=error.where["path"], table=task.table)
            return replace(task, hold=HoldAt(at_scn, damaged.as_dict()))
    return task


def check_landed_file(spec: Spec, surprise: Exception) -> None:
    """Raise LandingDamaged if Spark could not read a file of a batch: one that was damaged after it was checked, or one of an
    older version, which has no digest."""
    file = damaged_file(surprise)
    if file is None or not isinstance(spec, BatchSpec):
        return
    name = file.rpartition("/")[2]
    cures = cures_of_redo(spec.redo) | dict.fromkeys(spec.redo.carried, run_again())
    for path, cure in cures.items():
        if path.endswith(f"/{name}"):
            raise LandingDamaged("Spark could not read the file", cure=cure, path=path) from None


def own_files(redo: Redo, task: TableTask, position: int) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the files of one table that it may still need, each with the first SCN of the changes that need it."""
    for window in redo.windows:
        for one in window.reread:
            if one.table == task.table and window.end - 1 > position:
                yield window.start, [file for file in (one.path, one.before) if file is not None]
    for whole in task.course.whole:
        if whole.scn > position:
            yield min(whole.ddl), [whole.path]
