"""The history of a table: every committed change, once, with the row before and after it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from redolake.apply.lake_tables import open_history, open_table
from redolake.apply.spark.session import run_sql
from redolake.apply.verify import history as verify_history
from redolake.apply.verify.comparison import CompareTask
from redolake.apply.verify.history import compare_history
from redolake.config.union_views import UnionView
from redolake.errors import LakeDamaged
from redolake.job.batch import run_batch
from redolake.job.comparison import compare_with_history
from redolake.job.history_prune import older_history, shorten_history
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import TableTask
from redolake.records.proofs import ProvedHistory
from redolake.steps.shown.history_views import history_of, history_statements
from redolake.steps.shown.union_views import Member, make_union
from redolake.values.history_sql import as_of_sql, versions_sql
from redolake.values.table import TableId
from tests.generated.hunts import EXAMPLES
from tests.generated.redo_history import History
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, delete, insert, move, partial, update, with_sql
from tests.integration.spark.specs import batch_spec, contents, loaded, snapshot_spec, task, with_destination
from tests.references.delta_table import latest_version, read_delta
from tests.support.killed import killed_at

pytestmark = pytest.mark.spark

PHASES = [Phase.explicit, *([Phase.generate] if EXAMPLES else [])]


def with_history(folder: Path, *table: TableId) -> TableTask:
    return task(folder, *table, history=str(folder / "lake" / "_history"))


def changes(mine: TableTask) -> list[tuple[Any, ...]]:
    """Return what the history says of each change, without loaded rows."""
    names = ("_commit_scn", "_op", "_image", "ID", "V")
    rows = sorted(history_rows(mine), key=lambda row: (row["_commit_scn"], row["ID"] or 0, row["_seq"] or 0))
    return [tuple(row[name] for name in names) for row in rows if row["_op"] not in ("begin", "load")]


def history_rows(mine: TableTask) -> list[dict[str, Any]]:
    return read_delta(str(mine.destination.history)).to_pylist()


def quoted(name: str) -> str:
    return f'"{name}"'


def as_of(mine: TableTask, scn: int) -> dict[int, str]:
    """Fold the history in DuckDB, by the query that users get."""
    with duckdb.connect() as connection:
        connection.register("history", read_delta(str(mine.destination.history)))
        rows = connection.execute(as_of_sql("history", ("ID", "V"), ("ID",), quoted, scn)).fetchall()
    assert len({key for key, _ in rows}) == len(rows)
    return {int(key): value for key, value in rows}


@settings(max_examples=EXAMPLES or 1, phases=PHASES)
@given(seed=st.integers(0, 10**9), edge=st.integers(1015, 1080), at=st.integers(1000, 1060), key_only=st.booleans())
@example(seed=11, edge=1040, at=1020, key_only=True)
@example(seed=12, edge=1050, at=1010, key_only=False)
def test_the_history_folded_at_each_scn_is_the_table_as_of_that_scn(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, seed: int, edge: int, at: int, key_only: bool
) -> None:
    """With a process that ends between the commit of the history and that of the table, and a repeat that has more commits."""
    folder = tmp_path_factory.mktemp("history")
    history = History(seed, steps=90)
    mine = with_history(folder, TableId("SHOP", "T100"))
    rows = [{"ID": key, "V": value} for key, value in history.truth(at).items()]
    run_snapshot(spark, snapshot_spec(folder, mine, at, rows))
    windows = [
        land(folder / str(n), start, end, with_sql(found, key_only))
        for n, (start, end, found) in enumerate(history.cut([edge]))
    ]
    if history.truth(windows[0].end - 1) != history.truth(at):
        with killed_at("history#2"):  # the first commit begins the history
            run_batch(spark, batch_spec(folder, windows[:1], [mine]))
        assert contents(mine) == history.truth(at)

    result = run_batch(spark, batch_spec(folder, windows, [mine]))

    assert [table.error for table in result.tables] == [None]
    assert contents(mine) == history.truth(history.end - 1)
    compared = CompareTask(
        mine.table,
        mine.destination.target,
        mine.course.versions[0],
        (),
        history.end - 1,
        latest_version(mine.destination.target),
        app_id=mine.destination.app_id,
    )
    assert compare_history(spark, compared, str(mine.destination.history)) == ProvedHistory()
    for scn in sorted({scn for scn, _ in history.states if scn >= at} | {at, history.end - 1}):
        assert as_of(mine, scn) == history.truth(scn), scn


@dataclass(frozen=True)
class Begun:
    """A table that two batches have changed, with its history. A test damages a copy of the folder, in which `older` is the
    history after the first batch."""

    folder: Path
    position: int  # of its history

    def copied_to(self, folder: Path) -> TableTask:
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return with_history(folder)


@pytest.fixture(scope="module")
def begun(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Begun:
    folder = tmp_path_factory.mktemp("begun")
    mine = with_history(folder)
    loaded(spark, folder, mine, rows=[{"ID": key, "V": "a"} for key in (1, 2, 3)])
    for number, (start, old, new) in enumerate(((10, "a", "b"), (100, "b", "c"))):
        window = land(folder / f"w{number}", start, start + 90, committed(number * 10, start + 5, (3, update(1, old, new))))
        (done,) = run_batch(spark, batch_spec(folder / str(number), [window], [mine])).tables
        if number == 0:
            shutil.copytree(str(mine.destination.history), folder / "older")
    assert done.history is not None
    return Begun(folder, done.history.position)


def test_rows_that_a_history_lacks_and_has_too_many_are_counted_by_one_query(
    spark: Any, begun: Begun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = begun.copied_to(tmp_path)
    history, table = (
        open_one(spark, str(path), mine.destination.app_id)
        for open_one, path in ((open_history, mine.destination.history), (open_table, mine.destination.target))
    )
    twice, queries = table.rows().filter("ID = 2"), list[str]()
    other = table.rows(int(table.version or 0) - 1).filter("ID = 1").unionByName(twice).unionByName(twice)
    monkeypatch.setattr(verify_history, "run_sql", lambda _, query: queries.append(query) or run_sql(spark, query))

    counted = verify_history.folded_differences(spark, history, other, mine.course.latest.key, 189)

    # The table lacks 3, has 2 twice, and an older value in 1.
    assert (counted, len(queries)) == (ProvedHistory(missing_rows=2, extra_rows=2), 1)


HISTORY_DAMAGES: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "its folder is gone": (lambda folder, older: shutil.rmtree(folder), "TableSetBack"),
    "its log is gone": (lambda folder, older: shutil.rmtree(folder / "_delta_log"), "TableSetBack"),
    "an older copy was put back": (lambda folder, older: (shutil.rmtree(folder), older.rename(folder)), "TableSetBack"),
    "its newest commit is cut": (lambda folder, older: max(folder.glob("_delta_log/0*.json")).write_text("{"), "LakeDamaged"),
    "a commit is gone": (lambda folder, older: (folder / "_delta_log" / f"{1:020}.json").unlink(), "LakeDamaged"),
}


@pytest.mark.parametrize("damage", HISTORY_DAMAGES)
def test_a_history_that_is_damaged_or_gone_holds_its_table_and_begins_no_epoch(
    spark: Any, begun: Begun, tmp_path: Path, damage: str
) -> None:
    mine = begun.copied_to(tmp_path)
    change, code = HISTORY_DAMAGES[damage]
    change(Path(str(mine.destination.history)), tmp_path / "older")
    held = with_destination(mine, history_at_least=begun.position)
    next_one = land(tmp_path / "w3", 190, 300, committed(50, 195, (3, update(1, "c", "d"))))

    (found,) = run_batch(spark, batch_spec(tmp_path / "3", [next_one], [held])).tables

    assert (found.state, (found.error or {}).get("code"), contents(mine)) == ("held", code, {1: "c", 2: "a", 3: "a"})
    cure = str((found.error or {})["cure"])
    assert "`redolake history rebuild SHOP.T --execute --yes --reason WHY`" in cure
    assert "`redolake resume SHOP.T --new-history --reason WHY`" in cure
    assert (found.error or {})["where"]["path"].startswith(str(mine.destination.history))


def test_verify_finds_a_file_of_a_history_that_is_gone(spark: Any, begun: Begun, tmp_path: Path) -> None:
    mine = begun.copied_to(tmp_path)
    for file in Path(str(mine.destination.history)).glob("*.parquet"):
        file.unlink()
    compared = CompareTask(
        mine.table,
        mine.destination.target,
        mine.course.versions[0],
        (),
        189,
        latest_version(mine.destination.target),
        app_id=mine.destination.app_id,
    )

    with pytest.raises(LakeDamaged, match="could not read a file of the history"):
        compare_with_history(spark, compared, str(mine.destination.history))


def test_each_change_has_the_row_before_and_after_it(spark: Any, tmp_path: Path) -> None:
    """Also where the redo does not contain all values, where keys are exchanged, and where one batch has several changes."""
    mine = with_history(tmp_path)
    loaded(spark, tmp_path, mine, rows=[{"ID": n, "V": f"v{n}"} for n in range(1, 6)])
    rows = [
        *committed(0, 20, (3, update(1, "v1", "a"), "R1"), (3, update(1, "a", "b"), "R1"), username="ANN"),
        *committed(10, 22, (3, move(2, 3, "v2"), "R2"), (3, move(3, 2, "v3"), "R3"), username="UNKNOWN"),
        *committed(20, 24, (1, insert(9, "new"), "R9"), (2, delete(9, "new"), "R9")),
        *committed(30, 26, (3, partial(4, """"ID" = '40'"""), "R4")),
        *committed(40, 28, (2, delete(5, "v5"), "R5")),
    ]

    result = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], [mine]))

    assert [table.error for table in result.tables] == [None]
    assert changes(mine) == [
        (21, "update", "before", 1, "v1"),
        (21, "update", "after", 1, "a"),
        (21, "update", "before", 1, "a"),
        (21, "update", "after", 1, "b"),
        (23, "update", "before", 2, "v2"),
        (23, "update", "after", 2, "v3"),
        (23, "update", "before", 3, "v3"),
        (23, "update", "after", 3, "v2"),
        (25, "insert", "after", 9, "new"),
        (25, "delete", "before", 9, "new"),
        (27, "update", "before", 4, "v4"),
        (27, "update", "after", 40, "v4"),
        (29, "delete", "before", 5, "v5"),
    ]
    first = next(row for row in history_rows(mine) if row["_commit_scn"] == 21)
    assert (first["_user"], first["_xid"], first["_redo_thread"], first["_scn"]) == ("ANN", "1.2.0", 1, 20)
    assert {row["_user"] for row in history_rows(mine) if row["_commit_scn"] == 23} == {None}, "LogMiner does not know the user"
    with duckdb.connect() as connection:
        connection.register("history", read_delta(str(mine.destination.history)))
        sql = versions_sql("history", ("ID", "V"), ("ID",), quoted)
        ones = connection.execute(f"SELECT v, valid_from_scn, valid_to_scn, is_current FROM ({sql}) WHERE id = 1").fetchall()
    assert sorted(ones) == [("b", 21, None, True), ("v1", 5, 21, False)]
    found = history_of(mine.table, str(mine.destination.history), mine.destination.target)
    assert found is not None
    of_two = UnionView(tables=("SHOP.T",), discriminator="shard")
    union = make_union("shop.all_versions", of_two, [Member(mine.table, one, found.lake_columns) for one in ("1", "2")])
    for statement in "\n".join(history_statements([found], "spark", [union])).split(";\n"):
        spark.sql(statement.rstrip(";"))
    current = spark.sql("SELECT * FROM shop.t_versions WHERE is_current").collect()
    assert {row["ID"]: row["V"] for row in current} == contents(mine)
    both = spark.sql("SELECT * FROM shop.all_versions WHERE is_current").collect()
    assert {(row["shard"], row["ID"]): row["V"] for row in both} == {
        (one, key): value for one in ("1", "2") for key, value in contents(mine).items()
    }


def test_a_history_begins_again_where_single_changes_are_not_known(spark: Any, tmp_path: Path) -> None:
    """A batch without the history, and a new snapshot: what was known stays, and from then on the newer state counts."""
    mine = with_history(tmp_path)
    loaded(spark, tmp_path, mine, rows=[{"ID": 1, "V": "old"}])
    none = task(tmp_path)
    for number, (scn, one) in enumerate([(10, mine), (30, none), (50, mine)]):
        rows = committed(number * 10, scn, (3, update(1, f"{number}", f"{number + 1}"), "R1"))
        run_batch(spark, batch_spec(tmp_path, [land(tmp_path / f"w{number}", scn, scn + 20, rows)], [one]))
    run_snapshot(spark, snapshot_spec(tmp_path, mine, 69, [{"ID": 2, "V": "again"}], replace=True))
    rows = committed(90, 75, (1, insert(3, "more"), "R3"))
    run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w9", 70, 90, rows)], [mine]))

    begins = [(r["_commit_scn"], r["_epoch"], r["_note"].partition(";")[0]) for r in history_rows(mine) if r["_op"] == "begin"]
    assert sorted(begins) == [
        (5, 1, "the history begins"),
        (49, 2, "changes up to SCN 49 were applied without the history"),
        (69, 3, "the table was loaded again"),
    ]
    assert [as_of(mine, scn) for scn in (5, 11, 31, 48, 49, 51, 69, 76)] == [
        {1: "old"}, {1: "1"}, {1: "1"}, {1: "1"}, {1: "2"}, {1: "3"}, {2: "again"}, {2: "again", 3: "more"},
    ]  # fmt: skip


@settings(max_examples=EXAMPLES or 1, phases=PHASES)
@given(seed=st.integers(0, 10**9), edge=st.integers(1015, 1080), share=st.floats(0, 1))
@example(seed=21, edge=1040, share=0.5)
def test_a_history_without_what_is_too_old_says_the_same_of_all_later_scns(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, seed: int, edge: int, share: float
) -> None:
    """Also where the process ends after the commit, and the stream goes on from it."""
    folder = tmp_path_factory.mktemp("history")
    history = History(seed, steps=90)
    mine = with_history(folder, TableId("SHOP", "T100"))
    at = 1010
    run_snapshot(spark, snapshot_spec(folder, mine, at, [{"ID": k, "V": v} for k, v in history.truth(at).items()]))
    windows = [
        land(folder / str(n), start, end, with_sql(found, False)) for n, (start, end, found) in enumerate(history.cut([edge]))
    ]
    run_batch(spark, batch_spec(folder, windows[:1], [mine]))
    times = sorted({row["_commit_time"] for row in history_rows(mine) if row["_commit_time"] is not None})
    if not times:
        return
    limit = times[min(int(share * len(times)), len(times) - 1)]

    planned = older_history(spark, str(mine.destination.history), limit)
    assert planned is not None
    with killed_at("history cut"):
        shorten_history(spark, str(mine.destination.history), mine.destination.target, limit, "p", mine.table)
    assert older_history(spark, str(mine.destination.history), limit) is None, "a repeat finds nothing"
    run_batch(spark, batch_spec(folder, windows, [mine]))

    rows = history_rows(mine)
    assert min(row["_commit_scn"] for row in rows) == planned.scn
    assert [row["_note"] for row in rows if row["_op"] == "begin"] == ["what was older was removed"]
    for scn in sorted({scn for scn, _ in history.states if scn >= planned.scn} | {planned.scn, history.end - 1}):
        assert as_of(mine, scn) == history.truth(scn), scn
