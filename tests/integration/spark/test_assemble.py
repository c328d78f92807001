"""Spark's assembling and folding against the plain definition, over many random histories at once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from pipelines.apply.merge import total
from pipelines.apply.net import events, net_change
from pipelines.assemble.assembled import assembled
from pipelines.assemble.carry import list_open, rows_to_carry
from pipelines.assemble.reference import assemble, fold
from pipelines.assemble.subjects import Subject
from pipelines.batch import LandedWindow
from pipelines.errors import InvariantBroken, RedoNotUnderstood
from pipelines.scn import ScnRange
from pipelines.table import TableId
from tests.integration.spark.landing import land
from tests.redo_history import History

pytestmark = pytest.mark.spark

HISTORIES = 40
KEY = (9, 1)  # the history's con_id stands in the key, so that all histories fold in one go


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[LandedWindow], list[list[dict[str, Any]]]]:
    """All histories in three windows with the same edges; per window its rows."""
    histories = [History(seed, steps=70, con_id=seed, object_id=100 + seed) for seed in range(HISTORIES)]
    end = max(history.end for history in histories)
    edges, windows = [1030, 1060], []
    for number, (start, stop) in enumerate(zip([0, *edges], [*edges, end], strict=True)):
        rows = [
            {**row, "slice": 2 * history.con_id + row["slice"]}
            for history in histories
            for row in history.cut(edges)[number][2]
        ]
        windows.append((land(tmp_path_factory.mktemp("landed") / str(number), start, stop, rows), rows))
    return [window for window, _ in windows], [rows for _, rows in windows]


def subjects(position: int = -1, until: int = 10**6) -> list[Subject]:
    return [
        Subject(n, TableId("SHOP", f"T{100 + n}"), (100 + n,), position=position, until=until, cuts=(1045,) if n < 3 else ())
        for n in range(HISTORIES)
    ]


def identity(row: Any) -> tuple[int, int, int]:
    return row["window_start"], row["slice"], row["ordinal"]


def test_spark_assembles_and_folds_as_the_definition_says(spark, landed, tmp_path: Path) -> None:
    windows, rows = landed
    carried: list[dict[str, Any]] = []
    carry_files: list[str] = []
    seen: Counter[str] = Counter()
    for batch in (slice(0, 2), slice(2, 3)):
        mine = [*carried, *(row for window in rows[batch] for row in window)]
        fates = [
            fate
            for con_id in range(HISTORIES)
            for fate in assemble([row for row in mine if row["con_id"] == con_id], position=1010 if con_id % 2 else -1)
        ]
        scns = ScnRange(windows[batch][0].start, windows[batch][-1].end)
        who = [Subject(s.number, s.table, s.object_ids, 1010 if s.number % 2 else -1, s.until, s.cuts) for s in subjects()]
        found = assembled(spark, scns, windows[batch], carry_files, who, "FREEPDB1")
        got = found.changes.select("window_start", "slice", "ordinal", "disposition", "subject", "piece", "commit_scn")
        fate_of = {identity(row): row for row in got.collect()}
        census, survey = found.census, found.survey
        carry = rows_to_carry(found.changes, found.rows)
        carry.write.parquet(str(tmp_path / f"carry{scns.start}"))
        applied = found.changes.filter("disposition = 'applied'").withColumn(
            "image", F.from_json("sql_redo", "o struct<`1`: string, `2`: string>, n struct<`1`: string, `2`: string>")
        )
        images = applied.selectExpr(
            "*", "con_id as b9", "con_id as a9", "int(image.o.`1`) as b1", "int(image.n.`1`) as a1", "image.n.`2` as a2"
        ).withColumn("finding", F.expr("cast(null as struct<commit_scn: bigint, scn: bigint, code: string, what: string>)"))
        net = net_change(events(images, KEY), KEY).persist()
        folded = {(row["k9"], row["k1"]): row["a2"] if row["op"] == "U" else None for row in net.collect()}
        changes, finding = total(net)
        net.unpersist()

        assert {identity(fate.row): fate.disposition for fate in fates} == {k: row["disposition"] for k, row in fate_of.items()}
        for row in fate_of.values():
            assert row["piece"] == (row["subject"] < 3 and row["commit_scn"] is not None and row["commit_scn"] >= 1045)
        assert not census.problems
        for subject in who:
            balance = census.balance(subject.number, survey)
            assert balance.difference == 0
            assert balance.applied == sum(f.disposition == "applied" and f.row["con_id"] == subject.number for f in fates)
        expected = {}
        for con_id in range(HISTORIES):
            of_history = [f.row for f in fates if f.disposition == "applied" and f.row["con_id"] == con_id]
            for key, value in fold(image(row) for row in of_history).items():
                expected[con_id, key] = value
        assert folded == expected
        assert (changes, finding) == (sum(f.disposition == "applied" for f in fates), None)

        carry_files = [str(file) for file in (tmp_path / f"carry{scns.start}").glob("*.parquet")]
        carried = [fate.row for fate in fates if fate.disposition == "carried_out"]
        back = [row for file in carry_files for row in pq.read_table(file).to_pylist()]
        assert sorted(identity(row) for row in back) == sorted(identity(row) for row in carried)
        listed = list_open(spark.read.parquet(str(tmp_path / f"carry{scns.start}")))
        assert {(t.con_id, t.xid) for t in listed} == {(row["con_id"], row["xid"]) for row in carried}
        assert sum(t.rows for t in listed) == len(carried)
        seen.update(fate.disposition for fate in fates)
    assert set(seen) == {"applied", "undone", "rolled_back", "carried_out", "before_position"}


def image(row: Any) -> tuple[Any, Any, Any, Any]:
    body = json.loads(row["sql_redo"])
    before, after = body.get("o"), body.get("n")
    return (row, before and int(before["1"]), after and int(after["1"]), after and after["2"])


def a_row(ordinal: int, scn: int, code: int, **more: Any) -> dict[str, Any]:
    change = code in (1, 2, 3)
    named = {"seg_owner": "SHOP", "table_name": "T", "object_id": 7, "row_id": "AAA", "sql_redo": "x"} if change else {}
    fixed = {"slice": 0, "ordinal": ordinal, "thread": 1, "rs_id": f"{ordinal:04d}", "scn": scn, "xid": "1.2.3", "con_id": 3}
    return {**fixed, "con_name": "FREEPDB1", "operation_code": code, "operation": str(code), "rollback": False, **named, **more}


T = Subject(0, TableId("SHOP", "T"), (7,), position=-1, until=100)


def assemble_rows(spark, tmp_path: Path, rows: list[dict[str, Any]]) -> Any:
    window = land(tmp_path, 10, 100, rows)
    found = assembled(spark, ScnRange(10, 100), [window], [], [T], "FREEPDB1")
    return found.census, found.survey


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([a_row(0, 20, 2, rollback=True), a_row(1, 21, 7)], "an undo row finds no change to undo"),
        ([a_row(0, 20, 1), a_row(1, 20, 3, rollback=True), a_row(2, 21, 7)], "does not fit the change before it"),
        ([a_row(0, 20, 1, xid="1.2.4294967295", rollback=True)], "belongs to no known transaction"),
        ([a_row(0, 20, 1, pxid="9.9.9"), a_row(1, 21, 7, xid="9.9.9")], "parallel DML"),
        (
            [a_row(0, 20, 255, seg_owner="SHOP", table_name="T", object_id=7), a_row(1, 21, 7)],
            "operation 255 is not understood",
        ),
        ([a_row(0, 20, 1, xid="0.0.0")], "belongs to no transaction"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_assembled_is_a_problem_of_its_table(spark, tmp_path: Path, rows: list, message: str) -> None:
    census, survey = assemble_rows(spark, tmp_path, rows)

    assert message in census.problems[0, 0].what
    assert census.balance(0, survey).difference == 0


def test_an_unresolved_name_is_ours_by_its_object_id_and_foreign_without(spark, tmp_path: Path) -> None:
    unresolved = {"seg_owner": "UNKNOWN", "table_name": "OBJ# 7"}
    rows = [
        a_row(0, 20, 1, **unresolved),
        a_row(1, 20, 1, seg_owner="UNKNOWN", table_name="OBJ# 8", object_id=8),
        a_row(2, 20, 1, con_name="OTHERPDB"),
        a_row(3, 21, 7),
    ]

    census, survey = assemble_rows(spark, tmp_path, rows)

    assert census.count(0, "applied") == 1
    assert survey.foreign == 2


def test_a_row_that_is_there_twice_stops_the_batch(spark, tmp_path: Path) -> None:
    with pytest.raises(InvariantBroken, match="1 of 3 redo rows are there twice"):
        assemble_rows(spark, tmp_path, [a_row(0, 20, 1), a_row(0, 20, 1), a_row(1, 21, 7)])


def test_a_transaction_that_ends_twice_does_not_add_up(spark, tmp_path: Path) -> None:
    census, survey = assemble_rows(spark, tmp_path, [a_row(0, 20, 1), a_row(1, 21, 7), a_row(2, 22, 7)])

    assert census.balance(0, survey).difference == -1


def test_a_row_outside_every_window_stops_the_batch(spark, tmp_path: Path) -> None:
    with pytest.raises(InvariantBroken, match="outside every window"):
        assemble_rows(spark, tmp_path, [a_row(0, 100, 1)])


def test_a_change_of_a_nameless_object_stops_the_batch(spark, tmp_path: Path) -> None:
    with pytest.raises(RedoNotUnderstood, match="neither the name nor the number"):
        assemble_rows(spark, tmp_path, [a_row(0, 20, 1, table_name=None, object_id=None, seg_owner=None)])
