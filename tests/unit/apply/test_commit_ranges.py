"""The commit ranges of a batch, and the text of its MERGE."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolake.apply.commit_ranges import ddl_scns, known_versions, plan_commit_ranges, stop_scn
from redolake.apply.delta.merge import NO_ROW, merge_sql
from redolake.apply.target import KeyRange, NetColumns, TargetColumn
from redolake.errors import InvariantBroken, SchemaConflict
from redolake.records.batches.spec import ColumnChange, Course, Destination, HoldAt, TableTask, WholeFile
from redolake.values.own_columns import DELETED
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import Column, OracleType, TableId, TableVersion
from redolake.values.target_options import TargetOptions

BATCH = ScnRange(Scn(100), Scn(200))
T = TableId("S", "T")
ID, A, B = (Column(n, name, OracleType("VARCHAR2"), n) for n, name in ((1, "ID"), (2, "A"), (3, "B")))


def version(scn: int, *columns: Column) -> TableVersion:
    return TableVersion(T, Scn(scn), 7, 7, columns, (1,), 9)


def task(*ddl: int, hold: int | None = None) -> TableTask:
    """Return a task whose DDLs add A, drop it, add it ..."""
    versions = [version(0, ID), *(version(scn, *((ID, A), (ID,))[n % 2]) for n, scn in enumerate(ddl))]
    kinds = ("add_column", "drop_column")
    steps = tuple(ColumnChange(scn, kinds[n % 2], A) for n, scn in enumerate(ddl))  # type: ignore[arg-type]
    return TableTask(
        T,
        Destination("/lake/t", "p/S.T/1"),
        Course(tuple(versions), ddl=steps),
        None if hold is None else HoldAt(hold, {}),
    )


def ranges_of(task: TableTask, position: int = -1) -> list[tuple[int, int, int, int, int]]:
    ranges = plan_commit_ranges(task, BATCH, position)
    return [(p.number, p.start, p.end, len(p.version.columns), len(p.steps)) for p in ranges]


def read_again(*ddl: int, files: dict[int, tuple[int, ...]], hold: int | None = None) -> TableTask:
    """Return the task with DDLs that removed rows instead, which files of whole tables show by their SCNs."""
    made = task(*ddl, hold=hold)
    steps = tuple(replace(s, kind="remove_rows") if any(s.scn in of for of in files.values()) else s for s in made.course.ddl)
    whole = tuple(WholeFile(scn, f"/{scn}", of) for scn, of in files.items())
    return replace(made, course=replace(made.course, ddl=steps, whole=whole))


@pytest.mark.parametrize(
    ("name", "task", "position", "expected"),
    [
        ("to the window's end", read_again(130, files={149: (130,)}), -1,
         [(100, 130, 0, 0), (130, 150, 1, 149), (150, 200, 0, 0)]),
        ("with DDL in between", read_again(130, 140, 160, files={149: (130,)}), -1,
         [(100, 130, 0, 0), (130, 150, 2, 149), (150, 160, 0, 0), (160, 200, 1, 0)]),
        ("two in one window", read_again(130, 140, files={149: (130, 140)}), -1,
         [(100, 130, 0, 0), (130, 150, 2, 149), (150, 200, 0, 0)]),
        ("the first is in the target", read_again(130, 140, files={149: (130, 140)}), 135,
         [(136, 140, 0, 0), (140, 150, 1, 149), (150, 200, 0, 0)]),
        ("both are in the target", read_again(130, 140, files={149: (130, 140)}), 145, [(146, 200, 0, 0)]),
        ("in the last window", read_again(150, files={199: (150,)}), -1, [(100, 150, 0, 0), (150, 200, 1, 199)]),
        ("killed after its commit", read_again(130, files={149: (130,)}), 149, [(150, 200, 0, 0)]),
        ("held before it", read_again(130, files={149: (130,)}, hold=130), -1, [(100, 130, 0, 0)]),
        ("held after its window", read_again(130, files={149: (130,)}, hold=150), -1, [(100, 130, 0, 0), (130, 150, 1, 149)]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_after_rows_changed_without_redo_a_range_ends_where_the_table_was_read_again(
    name: str, task: TableTask, position: int, expected: list[tuple[int, ...]]
) -> None:
    ranges = plan_commit_ranges(task, BATCH, position)

    found = [(p.start, p.end, len(p.steps), 0 if p.whole is None else p.whole.scn) for p in ranges]
    assert found == expected
    numbers = {p.number: sum(scn <= p.start for scn in ddl_scns(task, BATCH, position)) for p in ranges}
    assert all(number == edges for number, edges in numbers.items()), "assembling numbers the ranges by the same SCNs"


def test_a_table_never_stops_between_the_ddl_and_the_reading() -> None:
    with pytest.raises(InvariantBroken, match="its rows are known AS OF 149"):
        plan_commit_ranges(read_again(130, files={149: (130,)}, hold=140), BATCH, -1)


@pytest.mark.parametrize(
    ("name", "task", "position", "expected"),
    [
        ("no DDL", task(), -1, [(0, 100, 200, 1, 0)]),
        ("one DDL", task(150), -1, [(0, 100, 150, 1, 0), (1, 150, 200, 2, 1)]),
        ("two DDL", task(150, 160), 99, [(0, 100, 150, 1, 0), (1, 150, 160, 2, 1), (2, 160, 200, 1, 1)]),
        ("a DDL right at the start", task(100), 50, [(1, 100, 200, 2, 1)]),
        ("a DDL at the last SCN", task(199), 50, [(0, 100, 199, 1, 0), (1, 199, 200, 2, 1)]),
        ("killed between the ranges", task(150), 149, [(1, 150, 200, 2, 1)]),
        ("a snapshot after the DDL", task(150), 170, [(0, 171, 200, 2, 0)]),
        ("complete already", task(150), 199, []),
        ("held inside", task(150, 160, hold=155), -1, [(0, 100, 150, 1, 0), (1, 150, 155, 2, 1)]),
        ("held from the start", task(150, hold=100), -1, []),
        ("held long ago", task(150, hold=20), -1, []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_batch_is_divided_at_each_ddl_that_is_not_yet_followed(
    name: str, task: TableTask, position: int, expected: list[tuple[int, ...]]
) -> None:
    assert ranges_of(task, position) == expected


@given(
    ddl=st.lists(st.integers(90, 210), unique=True, max_size=4).map(sorted),
    hold=st.none() | st.integers(90, 210),
    position=st.integers(-1, 210),
)
def test_every_commit_above_the_position_is_in_one_range(ddl: list[int], hold: int | None, position: int) -> None:
    mine = task(*ddl, hold=hold)
    edges = ddl_scns(mine, BATCH, position)
    try:
        ranges = plan_commit_ranges(mine, BATCH, position)
    except SchemaConflict:
        return
    for scn in range(max(100, position + 1), stop_scn(mine, BATCH)):
        (found,) = [r for r in ranges if r.start <= scn < r.end]
        assert found.number == sum(edge <= scn for edge in edges)


def test_columns_that_change_without_ddl_stop_the_table() -> None:
    made = task(150)
    silent = replace(made, course=replace(made.course, ddl=()))

    with pytest.raises(SchemaConflict, match="without a followed DDL"):
        plan_commit_ranges(silent, BATCH, -1)


def test_merge_names_every_column_and_quotes_what_oracle_allows() -> None:
    columns = [TargetColumn(1, "ID", "string"), TargetColumn(2, "a`b, c", "string")]

    assert merge_sql("/lake/`t", "s", columns, NetColumns((1,))) == (
        "MERGE INTO delta.`/lake/``t` AS t USING s AS s ON t.`ID` = s.k1\n"
        "WHEN MATCHED AND s.op = 'D' THEN DELETE\n"
        "WHEN MATCHED THEN UPDATE SET t.`ID` = s.a1, t.`a``b, c` = s.a2, t._commit_scn = s._commit_scn\n"
        "WHEN NOT MATCHED AND s.op = 'U' THEN INSERT (`ID`, `a``b, c`, _commit_scn) VALUES (s.a1, s.a2, s._commit_scn)"
    )


def test_merge_reads_only_files_with_keys_in_the_range_of_the_batch() -> None:
    columns = [TargetColumn(1, "ID", "decimal(12,0)"), TargetColumn(2, "PART", "int")]
    keys = KeyRange(columns[0], -5, 70)

    sql = merge_sql("/lake/t", "s", columns, NetColumns((1, 2), within=keys))

    assert sql.partition(" ON ")[2].partition("\n")[0] == (
        "t.`ID` = s.k1 AND t.`PART` = s.k2 AND t.`ID` >= CAST(-5 AS decimal(12,0)) AND t.`ID` <= CAST(70 AS decimal(12,0))"
    )


def test_merge_finds_rows_without_a_key_by_all_columns() -> None:
    columns = [TargetColumn(n, name, "string") for n, name in enumerate(("A", "B", "C"), 1)]

    sql = merge_sql("/lake/t", "s", columns, NetColumns((1, 2), has_whole=True))

    assert sql.partition("\n")[0] == (
        "MERGE INTO delta.`/lake/t` AS t USING s AS s ON t.`A` <=> s.k1 AND t.`B` <=> s.k2"
        " AND (NOT s.is_whole OR (s.op = 'D' AND t.`C` <=> s.a3))"
    )


def test_merge_sets_a_large_object_only_where_it_was_read_again() -> None:
    columns = [TargetColumn(1, "ID", "string"), TargetColumn(2, "BODY", "string")]

    assert merge_sql("/lake/t", "s", columns, NetColumns((1,), objects=(2,))) == (
        "MERGE INTO delta.`/lake/t` AS t USING s AS s ON t.`ID` = s.k1\n"
        "WHEN MATCHED AND s.op = 'D' THEN DELETE\n"
        "WHEN MATCHED AND s.op = 'O' THEN UPDATE SET t.`BODY` = CASE WHEN s.is_read THEN s.a2 ELSE t.`BODY` END, "
        "t._commit_scn = s._commit_scn\n"
        "WHEN MATCHED THEN UPDATE SET t.`ID` = s.a1, t.`BODY` = CASE WHEN s.is_read THEN s.a2 ELSE t.`BODY` END, "
        "t._commit_scn = s._commit_scn\n"
        "WHEN NOT MATCHED AND s.op = 'U' THEN INSERT (`ID`, `BODY`, _commit_scn) VALUES (s.a1, s.a2, s._commit_scn)"
    )


@pytest.mark.parametrize("deletes", ["remove", "mark"])
def test_merge_keeps_the_targets_value_of_a_column_that_the_redo_does_not_contain(deletes: str) -> None:
    columns = [TargetColumn(1, "ID", "string"), TargetColumn(2, "A", "string"), TargetColumn(3, "B", "string")]
    marked = TargetOptions(deletes="mark") if deletes == "mark" else TargetOptions()
    sql = merge_sql("/lake/t", "s", columns, NetColumns((1,), missing=(2,)), marked)

    there = f"CASE WHEN t.{DELETED} THEN {NO_ROW} ELSE t.`A` END" if deletes == "mark" else "t.`A`"
    assert f"t.`A` = CASE WHEN s.u2 THEN {there} ELSE s.a2 END, t.`B` = s.a3" in sql
    assert f"VALUES (CASE WHEN s.lacks THEN {NO_ROW} ELSE s.a1 END, s.a2, s.a3" in sql


@given(
    st.lists(st.integers(101, 199), max_size=8, unique=True).map(sorted), st.lists(st.integers(50, 199), min_size=1, max_size=6)
)
def test_a_range_is_decoded_under_just_the_versions_between_those_of_its_oldest_and_newest_change(
    ddl: list[int], changed_at: list[int]
) -> None:
    made, scns = task(*ddl), (min(changed_at), max(changed_at))
    last_range = plan_commit_ranges(made, BATCH, -1)[-1]

    found = tuple(version for version, _ in known_versions(made.course, last_range, scns))

    def of(scn: int) -> TableVersion:
        return [version for version in made.course.versions if version.from_scn <= scn][-1]

    assert {of(scn) for scn in changed_at} <= set(found)
    first, last = made.course.versions.index(of(scns[0])), made.course.versions.index(of(scns[1]))
    assert found == made.course.versions[first : last + 1]


def test_a_change_that_is_older_than_every_version_is_decoded_under_the_first() -> None:
    made = replace(task(), course=Course((version(120, ID), version(140, ID, A), version(160, ID))))
    (whole,) = plan_commit_ranges(task(), BATCH, -1)

    assert [v.from_scn for v, _ in known_versions(made.course, whole, (105, 110))] == [120]
    assert [v.from_scn for v, _ in known_versions(made.course, whole, (105, 145))] == [120, 140]
    assert [v.from_scn for v, _ in known_versions(made.course, whole, None)] == [120, 140, 160]
