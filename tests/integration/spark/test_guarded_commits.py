"""Each way of writing a table of the lake against whoever comes between its checks and its commit: nothing is written then.

`may_commit` is asked right before a commit, so the others come in there.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from redolake.apply.context import ApplyContext
from redolake.apply.delta.commit import options_of
from redolake.apply.delta.table import DeltaTable
from redolake.apply.lake_tables import open_history, open_table
from redolake.apply.owner import Owner
from redolake.apply.quarantine.log import add_events, copy_events, open_events
from redolake.apply.table_log import VersionToRead
from redolake.apply.target import Tag, Terms
from redolake.apply.verify.comparison import CompareTask
from redolake.apply.verify.repair import RepairTask, hash_keys, repair
from redolake.errors import FolderTaken, LakeMissing, RedolakeError, Transient
from redolake.job.as_of import make_copy
from redolake.job.batch import run_batch
from redolake.job.history_prune import shorten_history
from redolake.job.snapshot import run_filling, run_snapshot
from redolake.job.swap import swap_rows
from redolake.job.translation import TRANSLATION
from redolake.records.batches.spec import TableTask
from redolake.records.loads import SnapshotSpec, SnapshotTask
from redolake.records.maintenance import MaintenanceSpec, MaintenanceTask
from redolake.values.canonical import HashPlan
from redolake.values.scn import Scn, ScnRange
from tests.fixtures.spark import with_few_changes
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, insert, update
from tests.integration.spark.specs import (
    ID,
    TABLE,
    V,
    batch_spec,
    contents,
    loaded,
    snapshot_spec,
    task,
    version,
    with_destination,
)
from tests.integration.spark.table_with_ddl import with_ddl
from tests.references.delta_table import latest_version

pytestmark = pytest.mark.spark

ROWS = [{"ID": n, "V": f"v{n}"} for n in range(1, 5)]
AT = 9  # the position of the table


@dataclass(frozen=True)
class Given:
    spark: Any
    folder: Path
    mine: TableTask
    older: Path  # the table's folder at an earlier position
    target: str  # what is written

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def copied(self) -> str:
        return str(self.folder / "copy")


# --- The ways of writing -------------------------------------------------------------------------------------------------


def batch(given: Given, may_commit: Callable[[], None]) -> Any:
    window = land(given.folder / "w", 10, 100, committed(0, 20, (3, update(1, "v1", "changed")), (1, insert(9, "new"))))
    return run_batch(given.spark, batch_spec(given.folder, [window], [given.mine]), may_commit=may_commit).tables[0]


def batch_in_this_process(given: Given, may_commit: Callable[[], None]) -> Any:
    """Merge the changes without Spark."""
    with with_few_changes(given.spark, "direct"):
        return batch(given, may_commit)


def batch_with_history(given: Given, may_commit: Callable[[], None]) -> Any:
    window = land(given.folder / "w", 10, 100, committed(0, 20, (3, update(1, "v1", "changed"))))
    mine = task(given.folder, history=str(given.folder / "history"))
    return run_batch(given.spark, batch_spec(given.folder, [window], [mine]), may_commit=may_commit).tables[0]


def batch_with_ddl(given: Given, may_commit: Callable[[], None]) -> Any:
    """Follow DDL before the first change: the first commit is one of the DDL."""
    ddl = with_ddl(given.folder)
    rows = committed(20, 70, (1, """insert into "SHOP"."T"("ID","N","D") values ('9','1',NULL);""", "R9"))
    return run_batch(
        given.spark, batch_spec(given.folder, [land(given.folder / "w", 10, 100, rows)], [ddl]), may_commit=may_commit
    ).tables[0]


def load(given: Given, may_commit: Callable[[], None]) -> Any:
    return run_snapshot(given.spark, snapshot_spec(given.folder, given.mine, 50, ROWS[:1]), may_commit=may_commit).tables[0]


def swap(given: Given, may_commit: Callable[[], None]) -> Any:
    return swap_rows(given.spark, copy_of(given), 1, {"swap": "x"}, may_commit)


def repaired(given: Given, may_commit: Callable[[], None]) -> Any:
    file = given.folder / "read.parquet"
    pq.write_table(pa.table({"ID": pa.array([1], pa.decimal128(10, 0)), "V": ["right"]}), file)
    plan = HashPlan(((1, "number"),), ((1, "number"), (2, "text")), (), 12)
    one = CompareTask(
        TABLE,
        given.mine.destination.target,
        given.mine.course.versions[0],
        (str(file),),
        AT,
        2,
        app_id=given.mine.destination.app_id,
        hashing=plan,
    )
    found = hash_keys(given.spark, one, (("1",),), TRANSLATION)
    return repair(given.spark, RepairTask(one, found, 1, None, {"repair": "r"}), TRANSLATION, may_commit)


def filled(given: Given, may_commit: Callable[[], None]) -> Any:
    file = given.folder / "filled.parquet"
    pq.write_table(pa.table({"ID": pa.array(range(1, 5), pa.decimal128(10, 0)), "V": ["x"] * 4}), file)
    one = SnapshotTask(
        TABLE,
        given.mine.destination.target,
        given.mine.destination.app_id,
        version(columns=(ID, V)),
        (str(file),),
        scn=AT,
        joins=(2,),
    )
    spec = SnapshotSpec("p", AT, "filling", (one,), str(given.folder / "filled.json"))
    return run_filling(given.spark, spec, may_commit)


def rebuilt(given: Given, may_commit: Callable[[], None]) -> Any:
    """Add a history that was made elsewhere to that of the table."""
    context = ApplyContext(given.spark, "p", ScnRange(Scn(10), Scn(100)), "token", TRANSLATION, may_commit)
    context = replace(context, check_lake=partial(require, given.lake))
    made, own = (
        open_history(given.spark, path, given.mine.destination.app_id) for path in (str(given.folder / "made"), given.target)
    )
    return own.add(
        context, open_table(given.spark, given.mine.destination.target, given.mine.destination.app_id), given.mine, made
    )


def copied_events(given: Given, may_commit: Callable[[], None]) -> Any:
    """Copy the events of a quarantine, where an attempt before has left a copy already."""
    terms = Terms(TABLE, Owner.of(given.mine.destination.app_id), may_commit, partial(require, given.lake))
    return copy_events(open_events(given.spark, given.target, TABLE), terms, str(given.folder / "events"), "", AT, 2)


def cut(given: Given, may_commit: Callable[[], None]) -> Any:
    return shorten_history(
        given.spark, given.target, given.mine.destination.target, datetime(2100, 1, 1), "p", TABLE, may_commit
    )


def maintained(given: Given, may_commit: Callable[[], None]) -> Any:
    spec = MaintenanceSpec("p", "t", (), "manifest", 1, 1 << 30, 5.0, history_hours=48)
    terms = Terms(TABLE, Owner.of(given.mine.destination.app_id), may_commit, partial(require, given.lake), any_rows=True)
    table = open_table(given.spark, given.mine.destination.target, given.mine.destination.app_id)
    return table.maintain(spec, MaintenanceTask(TABLE, given.mine.destination.target), terms)


def require(lake: Path) -> None:
    if not lake.exists():
        raise LakeMissing("the lake is gone", cure="mount it")


def copy_of(given: Given) -> VersionToRead:
    table = given.mine.destination
    return VersionToRead(TABLE, table.target, latest_version(table.target), table.app_id, AT, None, given.copied())


def with_copy(given: Given) -> None:
    """Let the table have a whole copy."""
    make_copy(given.spark, copy_of(given), {"copy": True}, is_whole=True)


def with_history(given: Given) -> None:
    """Let the table have a history at two positions, and another folder the same one."""
    history, older = Path(given.target), given.folder / "older-history"
    mine = with_destination(given.mine, history=str(history))
    for first, name in ((AT + 1, "h"), (AT + 3, "i")):
        window = land(given.folder / name, first, first + 2, committed(0, first, (3, update(2, "v2", f"at {first}"))))
        assert run_batch(given.spark, batch_spec(given.folder / name, [window], [mine])).tables[0].error is None
        if not older.exists():
            shutil.copytree(history, older)
    shutil.copytree(history, given.folder / "made")


def with_events(given: Given) -> None:
    """Let there be two events of a quarantine, and a copy of the first."""
    event = {"table_name": "SHOP.T", "load": "", "position": 5, "event": "listed", "key": "1"}
    events = open_events(given.spark, str(given.folder / "events"), TABLE)
    add_events(events, Terms(TABLE, None), [event], {})
    shutil.copytree(events.path, given.folder / "older-events")
    add_events(events, Terms(TABLE, None), [{**event, "key": "2"}], {})
    shutil.copytree(events.path, given.target)


WAYS = {
    one.__name__: one
    for one in (
        batch, batch_in_this_process, batch_with_history, batch_with_ddl, load, swap, repaired, filled, rebuilt, cut,
        copied_events, maintained
    )
}  # fmt: skip
BEFORE = {"load": 2, "batch_with_history": 1, "rebuilt": 3}  # which question comes right before the commit, if not the first
# The folder in the lake that is written, an older copy of it, and how both come to be.
TABLE_ITSELF, HISTORY, EVENTS = (
    ("T", "older", with_copy),
    ("_history", "older-history", with_history),
    ("_copied", "older-events", with_events),
)
BEGINS = {"rebuilt": HISTORY, "cut": HISTORY, "copied_events": EVENTS}


# --- Who comes in between -------------------------------------------------------------------------------------------------


def another_owner(given: Given) -> None:
    given.spark.sql(f"ALTER TABLE delta.`{given.target}` SET TBLPROPERTIES ('redolake.pipeline' = 'other')")


def our_own_late_commit(given: Given) -> None:
    table = DeltaTable(given.spark, given.target, given.mine.destination.app_id)
    values = {"ID": F.lit(7), "V": F.lit("late"), "_commit_scn": F.lit(12)}
    fields = ((values.get(f.name, F.lit(None)).cast(f.dataType), f.name) for f in table.schema.fields)
    rows = given.spark.range(1).select(*(value.alias(name) for value, name in fields))
    rows.write.format("delta").mode("append").options(**options_of(Tag(table.app_id, 15, {}))).save(table.path)


def somebodys_delete(given: Given) -> None:
    given.spark.sql(f"DELETE FROM delta.`{given.target}`")


def a_lost_lease(given: Given) -> None:
    raise Transient("the lease is lost", cure="wait")


def a_lake_that_has_gone(given: Given) -> None:
    given.lake.rename(given.folder / "unmounted")


def an_older_copy(given: Given) -> None:
    shutil.rmtree(given.target)
    shutil.copytree(given.older, given.target)


COMMITS = (another_owner, our_own_late_commit, somebodys_delete)
THEM = (*COMMITS, a_lost_lease, a_lake_that_has_gone, an_older_copy)
# A load replaces what others have written, and maintenance changes no row.
MAY = {("load", somebodys_delete), ("maintained", somebodys_delete)}
CASES = [(way, they) for they in THEM for way in WAYS if (way, they) not in MAY]


def files_of(lake: Path) -> list[str]:
    return sorted(str(file.relative_to(lake)) for file in lake.rglob("*.json"))


# Spark makes each beginning, and each commit of others to it, once in this process; each case gets copies of the folders.
MADE = tempfile.TemporaryDirectory(prefix="redolake-guarded-")
BEGUN: dict[str, Path] = {}


def begun(spark: Any, way: str, folder: Path) -> Given:
    """Put there what a way of writing begins with: the table at a position, and an older copy of it."""
    name, older, begin = BEGINS.get(way, TABLE_ITSELF)

    def given_in(folder: Path) -> Given:
        return Given(spark, folder, task(folder), folder / older, str(folder / "lake" / name))

    if name not in BEGUN:
        made = given_in(Path(MADE.name) / name)
        made.folder.mkdir()
        loaded(spark, made.folder, made.mine, scn=5, rows=ROWS)
        shutil.copytree(made.mine.destination.target, made.folder / "older")
        first = land(made.folder / "first", 6, AT + 1, committed(90, 7, (3, update(4, "v4", "V4"))))
        assert run_batch(spark, batch_spec(made.folder / "0", [first], [made.mine])).tables[0].error is None
        begin(made)
        BEGUN[name] = made.folder
    shutil.copytree(BEGUN[name], folder, dirs_exist_ok=True)
    return given_in(folder)


def commit_between(given: Given, they: Callable[[Given], None]) -> None:
    """Add the files of a commit of others, which Spark has made to another copy of the same table."""
    name = Path(given.target).name
    theirs = Path(MADE.name) / f"{name}-{they.__name__}"
    if not theirs.exists():
        shutil.copytree(BEGUN[name], theirs)
        they(replace(given, folder=theirs, target=str(theirs / "lake" / name)))
    before, after = BEGUN[name] / "lake" / name, theirs / "lake" / name
    assert files_of(Path(given.target)) == files_of(before), "the way has written before the others came"
    for file in after.rglob("*"):
        if file.is_file() and not (before / file.relative_to(after)).exists():
            shutil.copy(file, Path(given.target) / file.relative_to(after))


@pytest.mark.parametrize(("way", "they"), CASES, ids=lambda one: one if isinstance(one, str) else one.__name__)
def test_a_table_is_not_written_when_somebody_comes_in_between(
    spark, tmp_path: Path, way: str, they: Callable[[Given], None]
) -> None:
    given, asked = begun(spark, way, tmp_path), 0
    left: list[str] = []

    def may_commit() -> None:
        nonlocal asked
        asked += 1
        if asked == BEFORE.get(way, 1):
            try:
                commit_between(given, they) if they in COMMITS else they(given)
            finally:
                left[:] = files_of(given.lake)
        elif asked > BEFORE.get(way, 1) and they is a_lost_lease:
            they(given)

    try:
        done = WAYS[way](given, may_commit)
        refused = getattr(done, "error", None)
    except RedolakeError as error:
        refused = error.as_dict()

    assert asked >= BEFORE.get(way, 1)
    assert refused is not None, "it has written"
    assert files_of(given.lake) == left, refused


def test_a_copy_is_not_made_in_the_folder_of_another_table(spark, tmp_path: Path) -> None:
    mine, other = task(tmp_path), task(tmp_path / "others")
    loaded(spark, tmp_path, mine, rows=ROWS)
    loaded(spark, tmp_path, task(tmp_path / "others", app_id="other/SHOP.T/1"), rows=ROWS[:1])
    one = VersionToRead(TABLE, mine.destination.target, 1, mine.destination.app_id, 5, None, other.destination.target)

    with pytest.raises(FolderTaken):
        make_copy(spark, one, {"copy": True}, is_whole=True)

    assert contents(other) == {1: "v1"}


def test_who_comes_between_two_commits_of_ddl_is_found_after_the_second(spark, tmp_path: Path) -> None:
    """The second begins with what the first has read after itself."""
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, rows=ROWS)
    given, asked = Given(spark, tmp_path, mine, tmp_path, mine.destination.target), 0

    def may_commit() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            somebodys_delete(given)

    done = batch_with_ddl(given, may_commit)

    assert (asked >= 3, done.error["code"]) == (True, "TableSetBack")
