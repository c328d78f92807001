"""Assembling and folding in Spark, compared with the plain-Python reference over many random histories at once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from pipelines.apply.check_changes import look_at_net_changes
from pipelines.apply.net import events, net_change
from pipelines.assemble import assembled
from pipelines.assemble.assembled import AssembledBatch, assemble_batch
from pipelines.assemble.captured_tables import CapturedTable
from pipelines.assemble.carry import list_open, rows_to_carry
from pipelines.assemble.row_accounting import Problem
from pipelines.errors import InvariantBroken, RedoNotUnderstood
from pipelines.records.batch_spec import LandedWindow, NameInRedo
from pipelines.records.open_transaction import OpenTransaction
from pipelines.redo import NO_ROWID
from pipelines.scn import ScnRange
from pipelines.table import TableId
from tests.assemble_reference import assemble, deciding_xid, fold
from tests.hunts import EXAMPLES
from tests.integration.spark.landing import AT, a_row, land
from tests.redo_history import History

pytestmark = pytest.mark.spark

PHASES = [Phase.explicit, *([Phase.generate] if EXAMPLES else [])]
HISTORIES = 20 if EXAMPLES else 6
KEY = (9, 1)  # the key contains the history's con_id, so that all histories fold at once


@dataclass(frozen=True)
class Landed:
    """Many histories in one landing, with the same windows. Each has its own container, table and two slices."""

    windows: list[LandedWindow]
    rows: list[list[dict[str, Any]]]  # per window

    @property
    def ordered(self) -> list[tuple[LandedWindow, list[dict[str, Any]]]]:
        return list(zip(self.windows, self.rows, strict=True))


def land_histories(folder: Path, seed: int, edges: list[int]) -> Landed:
    histories = [History(seed + n, steps=70, con_id=n, object_id=100 + n) for n in range(HISTORIES)]
    end = max(max(history.end for history in histories), edges[-1] + 1)
    windows, rows = [], []
    for number, (start, stop) in enumerate(zip([0, *edges], [*edges, end], strict=True)):
        mine = [
            {**row, "slice": 2 * history.con_id + row["slice"], "window_start": start}
            for history in histories
            for row in history.cut([*edges, end])[number][2]
        ]
        windows.append(land(folder / str(number), start, stop, mine))
        rows.append(mine)
    return Landed(windows, rows)


@settings(max_examples=2 * EXAMPLES or 1, deadline=None, phases=PHASES)
@given(
    seed=st.integers(0, 10**9),
    edges=st.sets(st.integers(1001, 1110), min_size=1, max_size=3).map(sorted),
    cut=st.integers(1, 3),
    position=st.integers(1000, 1060),
)
@example(seed=3, edges=[1030, 1055, 1080], cut=2, position=1040)
def test_spark_assembles_and_folds_like_the_reference(
    spark, tmp_path_factory: pytest.TempPathFactory, seed: int, edges: list[int], cut: int, position: int
) -> None:
    """Two batches with a random cut. Every second table was snapshotted at `position`; three have a DDL at 1065."""
    folder = tmp_path_factory.mktemp("histories")
    landed = land_histories(folder, seed, edges)
    carried: list[dict[str, Any]] = []
    carry_files: list[str] = []
    for batch in filter(None, (landed.ordered[:cut], landed.ordered[cut:])):
        windows = [window for window, _ in batch]
        mine = [*carried, *(row for _, rows in batch for row in rows)]
        positions = [position if n % 2 else -1 for n in range(HISTORIES)]
        who = [
            CapturedTable(n, TableId("SHOP", f"T{100 + n}"), (100 + n,), at, 10**6, ddl_scns=(1065,) if n < 3 else ())
            for n, at in enumerate(positions)
        ]
        disposed = [
            change
            for con_id in range(HISTORIES)
            for change in assemble([row for row in mine if row["con_id"] == con_id], position=positions[con_id])
        ]
        applied = [change for change in disposed if change.disposition == "applied"]
        found = assemble_batch(spark, ScnRange(windows[0].start, windows[-1].end), windows, carry_files, who, "FREEPDB1")
        by_spark = {identity(row): row for row in found.changes.drop("sql_redo").collect()}
        net, changes, finding = net_of(found)

        assert {identity(change.row): change.disposition for change in disposed} == {
            k: row["disposition"] for k, row in by_spark.items()
        }
        assert not found.accounting.problems
        for change in applied:
            row = by_spark[identity(change.row)]
            assert change.commit == (row["commit_scn"], row["commit_thread"], row["commit_rs_id"])
            assert row["range_number"] == (row["table_number"] < 3 and row["commit_scn"] >= 1065)
        for table in who:
            balance = found.accounting.balance(table.number, found.input_counts)
            assert balance.difference == 0
            assert balance.applied == sum(change.row["con_id"] == table.number for change in applied)
        assert net == {
            (con_id, key): value
            for con_id in range(HISTORIES)
            for key, value in fold(image(change.row) for change in applied if change.row["con_id"] == con_id).items()
        }
        assert (changes, finding) == (len(applied), None)

        carried = [change.row for change in disposed if change.disposition == "carried_out"]
        carry_files = carried_over(found, folder / f"carry{windows[0].start}")
        back = [row for row in carried_rows(carry_files) if row["operation_code"] in (1, 2, 3)]
        assert sorted(identity(row) for row in back) == sorted(identity(row) for row in carried)
        listed = list_open(spark.read.parquet(*carry_files)) if carried else ()
        assert {(t.con_id, t.xid) for t in listed} == {(row["con_id"], deciding_xid(row)) for row in carried}
        assert sum(t.rows for t in listed) == len(carried)


def identity(row: Any) -> tuple[int, int, int]:
    return row["window_start"], row["slice"], row["ordinal"]


def net_of(found: Any) -> tuple[dict[tuple[int, int], str | None], int, object]:
    """Return the net change by (con_id, key), the number of changes in it, and the first finding."""
    images = (
        found.changes.filter("disposition = 'applied'")
        .withColumn("image", F.from_json("sql_redo", "o struct<`1`: string, `2`: string>, n struct<`1`: string, `2`: string>"))
        .selectExpr(
            "*", "con_id as b9", "con_id as a9", "int(image.o.`1`) as b1", "int(image.n.`1`) as a1", "image.n.`2` as a2"
        )
        .withColumn("finding", F.expr("cast(null as struct<commit_scn: bigint, scn: bigint, code: string, what: string>)"))
    )
    net = net_change(events(images, KEY), KEY).persist()
    folded = {(row["k9"], row["k1"]): row["a2"] if row["op"] == "U" else None for row in net.collect()}
    changes, finding = look_at_net_changes(net).answer()
    net.unpersist()
    return folded, changes, finding


def image(row: Any) -> tuple[Any, Any, Any, Any]:
    body = json.loads(row["sql_redo"])
    before, after = body.get("o"), body.get("n")
    return (row, before and int(before["1"]), after and int(after["1"]), after and after["2"])


def of_t(ordinal: int, scn: int, code: int, **more: Any) -> dict[str, Any]:
    return a_row(ordinal, scn, code, seg_owner="SHOP", table_name="T", object_id=7, **more)


T = CapturedTable(0, TableId("SHOP", "T"), (7,), position=-1, stop_scn=100)


def assembled_rows(
    spark,
    tmp_path: Path,
    rows: list[dict[str, Any]],
    start: int = 10,
    end: int = 100,
    carry: list[str] | None = None,
    position: int = -1,
) -> Any:
    window = land(tmp_path / f"w{start}", start, end, rows)
    table = CapturedTable(0, T.id, T.object_ids, position=position, stop_scn=end)
    return assemble_batch(spark, ScnRange(start, end), [window], carry or [], [table], "FREEPDB1")


def assemble_rows(spark, tmp_path: Path, rows: list[dict[str, Any]]) -> Any:
    found = assembled_rows(spark, tmp_path, rows)
    return found.accounting, found.input_counts


@dataclass(frozen=True)
class Case:
    """One of several situations that are assembled at once, with the dispositions by ordinal."""

    dispositions: dict[int, str]
    problem: Problem | None
    difference: int


def assembled_cases(
    spark, tmp_path: Path, cases: Mapping[str, list[dict[str, Any]]], doubtful_scn: int | None = None
) -> dict[str, Case]:
    """Assemble all cases in one batch; each has its own container, table and slice."""
    tables = [CapturedTable(n, TableId("SHOP", f"T{n}"), (10 * n + 7,), position=-1, stop_scn=100) for n in range(len(cases))]
    rows = [set_apart(row, n) for n, mine in enumerate(cases.values()) for row in mine]
    window = land(tmp_path / "w", 10, 100, rows)
    found = assemble_batch(spark, ScnRange(10, 100), [window], [], tables, "FREEPDB1", doubtful_scn=doubtful_scn)
    disposed: dict[int, dict[int, str]] = defaultdict(dict)
    for row in found.changes.collect():
        disposed[row["table_number"]][row["ordinal"]] = row["disposition"]
    problems, counts = found.accounting.problems, found.input_counts
    return {
        name: Case(disposed[n], problems.get((n, 0)), found.accounting.balance(n, counts).difference)
        for n, name in enumerate(cases)
    }


def set_apart(row: dict[str, Any], n: int) -> dict[str, Any]:
    changed = {"slice": n, "con_id": row["con_id"] and 10 * n + row["con_id"]}
    if row.get("table_name"):
        changed |= {"table_name": f"T{n}", "object_id": 10 * n + row["object_id"]}
    return {**row, **changed}


def carried_over(found: Any, folder: Path) -> list[str]:
    rows_to_carry(found.changes, found.rows, found.input_counts.parallel_rows > 0).write.parquet(str(folder))
    return [str(file) for file in folder.glob("*.parquet")]


def carried_rows(files: list[str]) -> list[dict[str, Any]]:
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def dispositions(found: Any) -> dict[tuple[str, int], str]:
    """Return the disposition of each row by xid and ordinal."""
    return {(row["xid"], row["ordinal"]): row["disposition"] for row in found.changes.collect()}


def test_a_large_open_transaction_is_one_row_in_the_search_for_its_start(spark, tmp_path: Path) -> None:
    found = assembled_rows(spark, tmp_path, [a_row(0, 19, 6), *(a_row(n, 20, 1) for n in range(1, 5))])

    carried = rows_to_carry(found.changes, found.rows)

    assert carried.count() == 5
    plan = carried._jdf.queryExecution().optimizedPlan().toString()
    assert "Aggregate [con_id" in plan[plan.index("Join LeftSemi") :]


def test_open_transactions_are_listed_with_their_start_over_windows(spark, tmp_path: Path) -> None:
    """Two transactions have one xid in two containers. For one, the START was read; later rows lack its user."""
    one, other = {"xid": "1.2.3", "thread": 2}, {"xid": "1.2.3", "con_id": 4, "username": "UNKNOWN"}
    hour = AT.replace(minute=0)
    first = [
        a_row(0, 19, 6, **one, at=hour.replace(hour=1), username="SHOP"),
        a_row(1, 20, 1, **one, at=hour.replace(hour=2), username="SHOP", sql_redo="é1"),
        a_row(2, 21, 1, at=hour, xid="7.7.7", username="OTHER"),
    ]
    second = [
        a_row(0, 130, 3, **one, at=hour.replace(hour=5), username="UNKNOWN", sql_redo="é23"),
        a_row(1, 140, 1, **other, at=hour.replace(hour=6), sql_redo=None),
        a_row(2, 141, 7, xid="7.7.7"),
    ]

    carry = carried_over(assembled_rows(spark, tmp_path, first), tmp_path / "carry")
    again = carried_over(assembled_rows(spark, tmp_path, second, 100, 200, carry), tmp_path / "again")

    assert list_open(spark.read.parquet(*again)) == (
        OpenTransaction(3, "1.2.3", 2, 19, "2026-01-02 01:00:05", 2, 7, "SHOP"),
        OpenTransaction(4, "1.2.3", 1, 140, "2026-01-02 06:00:05", 1, 0, None),
    )


def test_a_commit_that_a_resetlogs_may_have_undone_stops_its_table(spark, tmp_path: Path) -> None:
    change = a_row(0, 20, 1)
    cases = {"commits": [a_row(1, 99, 7)], "rolls back": [a_row(1, 99, 36)], "before": [a_row(1, 98, 7)], "open": []}

    found = assembled_cases(spark, tmp_path, {name: [change, *rows] for name, rows in cases.items()}, doubtful_scn=99)

    problem = found["commits"].problem
    assert problem is not None
    assert problem.scn == 99
    assert "a transaction commits at SCN 99, the last before a RESETLOGS" in problem.what
    rest = {"rolls back": "rolled_back", "before": "applied", "open": "carried_out"}
    assert {name: (found[name].dispositions, found[name].problem) for name in rest} == {
        name: ({0: what}, None) for name, what in rest.items()
    }


COORDINATOR = "9.9.9"


def server_row(ordinal: int, scn: int, code: int, xid: str, **more: Any) -> dict[str, Any]:
    return a_row(ordinal, scn, code, **{"xid": xid, "pxid": COORDINATOR, "row_id": xid, **more})


def test_parallel_servers_commit_with_their_coordinator_over_windows(spark, tmp_path: Path) -> None:
    """There are two servers and a coordinator. Its commit, and that of one server, come a window later."""
    first = [server_row(0, 20, 1, "5.1.1"), server_row(1, 21, 1, "6.1.1"), a_row(2, 22, 1, xid=COORDINATOR, row_id="C")]
    second = [
        server_row(0, 110, 3, "5.1.1", thread=2, rs_id="x", row_id="other"),
        server_row(1, 112, 7, "6.1.1"),
        a_row(2, 112, 7, xid=COORDINATOR, pxid=COORDINATOR),
    ]

    opened = assembled_rows(spark, tmp_path, first)
    # Between the batches the table is snapshotted again, AS OF an SCN above the rows and below their commit.
    closed = assembled_rows(spark, tmp_path, second, 100, 200, carried_over(opened, tmp_path / "carry"), position=105)

    assert set(dispositions(opened).values()) == {"carried_out"}
    assert not opened.accounting.problems
    listed = list_open(spark.read.parquet(str(tmp_path / "carry")))
    assert [(t.xid, t.rows) for t in listed] == [(COORDINATOR, 3)]
    assert dispositions(closed) == {(x, n): "applied" for x, n in (("5.1.1", 0), ("6.1.1", 1), (COORDINATOR, 2))} | {
        ("5.1.1", 0): "applied"
    }
    assert {row["commit_scn"] for row in closed.changes.collect()} == {112}
    assert not closed.accounting.problems
    assert closed.accounting.count(0, "applied") == 4
    assert closed.accounting.balance(0, closed.input_counts).difference == 0


def test_undo_rows_of_a_parallel_server_undo_its_changes(spark, tmp_path: Path) -> None:
    """The undo row has no PXID: LogMiner returns fewer columns for rows that a rollback writes."""
    server_rolls_back = server_row(8, 29, 36, "5.1.1")
    ends = {
        "coordinator rolls back": ([a_row(9, 30, 36, xid=COORDINATOR)], "rolled_back"),
        "server rolls back": ([server_rolls_back], "rolled_back"),
        "server rolls back, coordinator commits": ([server_rolls_back, a_row(9, 30, 7, xid=COORDINATOR)], "rolled_back"),
        "commit": ([a_row(9, 30, 7, xid=COORDINATOR)], "undone"),
        "open": ([], "carried_out"),
    }
    rows = [server_row(0, 20, 1, "5.1.1"), server_row(1, 21, 2, "5.1.1", rollback=True, pxid=None)]

    found = assembled_cases(spark, tmp_path, {name: [*rows, *mine] for name, (mine, _) in ends.items()})

    assert found == {name: Case({0: expected, 1: expected}, None, 0) for name, (_, expected) in ends.items()}


def test_parallel_dml_that_contradicts_itself_stops_its_table(spark, tmp_path: Path) -> None:
    server_commits = server_row(1, 30, 7, "5.1.1")
    contradictions = {
        "its coordinator 9.9.9 at SCN 32": [server_commits, a_row(2, 32, 7, xid=COORDINATOR)],
        "its coordinator 9.9.9 rolled back": [server_commits, a_row(2, 32, 36, xid=COORDINATOR)],
        "its coordinator 9.9.9 is still open": [server_commits],
        "servers on two redo threads change the row": [
            server_row(1, 30, 3, "6.1.1", row_id="5.1.1", thread=2),
            a_row(2, 30, 7, xid=COORDINATOR),
        ],
    }
    change = server_row(0, 20, 1, "5.1.1")

    found = assembled_cases(spark, tmp_path, {message: [change, *rows] for message, rows in contradictions.items()})

    for message, case in found.items():
        assert case.problem is not None, message
        assert message in case.problem.what
        assert (case.problem.scn, case.difference) == (30, 0)


def test_undone_changes_on_two_threads_need_no_order(spark, tmp_path: Path) -> None:
    """Two statements with servers on two threads fail; then the session itself changes the row."""
    stays = [a_row(8, 40, 3, xid=COORDINATOR, row_id="R"), a_row(9, 41, 7, xid=COORDINATOR)]

    found = assembled_cases(
        spark, tmp_path, {what: [*failed_statements(ends), *stays] for what, ends in (("undone", []), ("rolled_back", [36]))}
    )

    assert found == {what: Case({**dict.fromkeys((0, 1, 3, 4), what), 8: "applied"}, None, 0) for what in found}


def failed_statements(ends: list[int]) -> list[dict[str, Any]]:
    return [
        row
        for n, xid in enumerate(("5.1.1", "6.1.1"))
        for row in (
            server_row(3 * n, 20 + 3 * n, 3, xid, row_id="R", thread=1 + n),
            server_row(3 * n + 1, 21 + 3 * n, 3, xid, row_id="R", thread=1 + n, rollback=True),
            *(server_row(3 * n + 2, 22 + 3 * n, code, xid, thread=1 + n) for code in ends),
        )
    ]


def test_a_snapshot_above_every_end_resolves_a_contradiction(spark, tmp_path: Path) -> None:
    rows = [server_row(0, 20, 1, "5.1.1"), server_row(1, 30, 7, "5.1.1"), a_row(2, 32, 7, xid=COORDINATOR)]

    between, above = (assembled_rows(spark, tmp_path / str(p), rows, position=p) for p in (30, 32))

    assert between.accounting.problems[0, 0].scn == 31
    assert set(dispositions(above).values()) == {"before_position"}
    assert not above.accounting.problems


def test_a_server_that_commits_before_its_coordinator_is_carried_over_with_its_commit(spark, tmp_path: Path) -> None:
    first = [server_row(0, 20, 1, "5.1.1"), server_row(1, 30, 7, "5.1.1")]
    opened = assembled_rows(spark, tmp_path, first, position=50)

    closed = assembled_rows(
        spark, tmp_path, [a_row(0, 120, 7, xid=COORDINATOR)], 100, 200, carried_over(opened, tmp_path / "carry"), position=110
    )

    assert not opened.accounting.problems
    assert "at SCN 30, its coordinator 9.9.9 at SCN 120" in closed.accounting.problems[0, 0].what
    assert closed.accounting.balance(0, closed.input_counts).difference == 0


def test_a_rollback_without_sequence_ends_a_coordinator_known_from_its_servers(spark, tmp_path: Path) -> None:
    opened = assembled_rows(spark, tmp_path, [a_row(0, 19, 6, xid=COORDINATOR), server_row(1, 20, 1, "5.1.1")])
    second = [
        server_row(0, 110, 2, "5.1.4294967295", row_id="5.1.1", rollback=True, pxid=None),
        a_row(1, 111, 36, xid="9.9.4294967295"),
    ]

    closed = assembled_rows(spark, tmp_path, second, 100, 200, carried_over(opened, tmp_path / "carry"))

    assert dispositions(closed) == {("5.1.1", 1): "rolled_back", ("5.1.1", 0): "rolled_back"}
    assert closed.accounting.balance(0, closed.input_counts).difference == 0


def test_an_unsupported_row_stops_its_table_at_the_commit_only(spark, tmp_path: Path) -> None:
    """A snapshot that is older than its commit does not settle it."""
    unsupported = of_t(0, 20, 255)
    opened = assembled_rows(spark, tmp_path, [unsupported])

    ends = {7: "applied", 36: "rolled_back"}
    carry = carried_over(opened, tmp_path / "carry")
    closed = {
        code: assembled_rows(spark, tmp_path / str(code), [a_row(0, 120, code)], 100, 200, carry, position=50) for code in ends
    }

    assert (dispositions(opened), opened.accounting.problems) == ({("1.2.3", 0): "carried_out"}, {})
    assert {code: set(dispositions(found).values()) for code, found in closed.items()} == {c: {e} for c, e in ends.items()}
    assert {code: len(found.accounting.problems) for code, found in closed.items()} == {7: 1, 36: 0}
    assert closed[7].accounting.problems[0, 0].scn == 120


def test_undo_rows_and_reused_xids_get_the_right_dispositions(spark, tmp_path: Path) -> None:
    """Each situation is a transaction on a row of its own, with the expected dispositions."""
    situations: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
        "undo before its change, after an update that stays (19.13)": (
            [a_row(0, 20, 3), a_row(1, 21, 3, rollback=True, rs_id="same"), a_row(2, 21, 3, rs_id="same"), a_row(3, 22, 7)],
            ["applied", "undone", "undone"],
        ),
        "the undo of another row first": (
            [a_row(0, 20, 2, rollback=True, rs_id="same"), a_row(1, 20, 1, rs_id="same"), a_row(2, 22, 7)],
            ["undone", "undone"],
        ),
        "the ROWID reused after its insert was undone": (
            [a_row(0, 20, 1), a_row(1, 21, 2, rollback=True), a_row(2, 22, 1), a_row(3, 23, 7)],
            ["undone", "undone", "applied"],
        ),
        "many constraint violations, then a valid insert": (
            [
                *(a_row(n, 20 + n, 2 if n % 2 else 1, rollback=n % 2 == 1) for n in range(40)),
                a_row(40, 70, 1),
                a_row(41, 71, 7),
            ],
            ["undone"] * 40 + ["applied"],
        ),
        "insert, update, key change, delete, insert again, back to a savepoint": (
            [
                *(a_row(n, 20 + n, code) for n, code in enumerate((1, 3, 3, 2, 1))),
                *(a_row(5 + n, 30 + n, code, rollback=True) for n, code in enumerate((2, 1, 3))),
                a_row(8, 40, 7),
            ],
            ["applied", "applied", "undone", "undone", "undone", "undone", "undone", "undone"],
        ),
        "everything undone, then committed": (
            [a_row(0, 20, 3), a_row(1, 21, 3, rollback=True), a_row(2, 22, 7)],
            ["undone", "undone"],
        ),
        "a rollback without sequence": (
            [a_row(0, 20, 1), a_row(1, 21, 2, rollback=True, xid="unknown"), a_row(2, 22, 36, xid="unknown")],
            ["rolled_back", "rolled_back"],
        ),
        "the rollback of a transaction that another thread recovers": (
            [a_row(0, 20, 1), a_row(1, 60, 2, rollback=True, thread=2), a_row(2, 61, 36, thread=2)],
            ["rolled_back", "rolled_back"],
        ),
        "a START without transaction": ([a_row(0, 19, 6, xid="0.0.0"), a_row(1, 20, 1), a_row(2, 21, 7)], ["applied"]),
        "no START at all, and an end on thread 0": ([a_row(0, 20, 1), a_row(1, 21, 7, thread=0)], ["applied"]),
    }
    rows, expected = [], {}
    for n, (mine, what) in enumerate(situations.values()):
        xids = {"1.2.3": f"1.{n}.3", "unknown": f"1.{n}.4294967295", "0.0.0": "0.0.0"}
        rows += [{**row, "slice": n, "xid": xids[row["xid"]], "row_id": f"R{n}"} for row in mine]
        expected |= {(n, row["ordinal"]): w for row, w in zip((r for r in mine if r["operation_code"] < 5), what, strict=True)}
    # One undo slot, reused several times: the same xid in another container, the next sequences in this one.
    slot = [
        a_row(0, 20, 1, xid="5.5.1"), a_row(1, 21, 1, xid="5.5.1", con_id=4), a_row(2, 22, 36, xid="5.5.1", con_id=4),
        a_row(3, 23, 7, xid="5.5.1"), a_row(4, 24, 1, xid="5.5.2"), a_row(5, 25, 2, xid="5.5.4294967295", rollback=True),
        a_row(6, 26, 36, xid="5.5.4294967295"), a_row(7, 27, 1, xid="5.5.3"), a_row(8, 28, 7, xid="5.5.3"),
    ]  # fmt: skip
    rows += [{**row, "slice": 99, "row_id": f"S{row['con_id']}"} for row in slot]
    expected |= {(99, 0): "applied", (99, 1): "rolled_back", (99, 4): "rolled_back", (99, 5): "rolled_back", (99, 7): "applied"}

    found = assembled_rows(spark, tmp_path, rows)

    assert {(row["slice"], row["ordinal"]): row["disposition"] for row in found.changes.collect()} == expected
    assert not found.accounting.problems
    assert found.accounting.balance(0, found.input_counts).difference == 0


def write(ordinal: int, xid: str, row_id: str, before: tuple[int, str] | None, after: tuple[int, str] | None) -> dict[str, Any]:
    """Return a change at SCN 20 + ordinal, with its images as `net_of` reads them."""
    body = {side: {"1": str(v[0]), "2": v[1]} for side, v in (("o", before), ("n", after)) if v}
    code = 1 if before is None else 2 if after is None else 3
    return a_row(ordinal, 20 + ordinal, code, xid=xid, row_id=row_id, sql_redo=json.dumps(body))


def test_commit_order_and_all_changes_of_a_row_give_the_net_change(spark, tmp_path: Path) -> None:
    """Two transactions commit at one SCN on two threads; a third changed a row before them and commits after them.

    One inserts, updates, deletes and inserts a row; one moves a row, as its partition key changed.
    """
    rows = [
        write(0, "3.3.3", "C", (7, "c"), (7, "late")),
        write(1, "1.1.1", "A", None, (1, "a")),
        write(2, "1.1.1", "A", (1, "a"), (1, "b")),
        write(3, "1.1.1", "A", (1, "b"), (2, "b")),
        write(4, "1.1.1", "A", (2, "b"), None),
        write(5, "1.1.1", "A", None, (2, "again")),
        {**write(6, "2.2.2", "M1", (4, "m"), None), "slice": 1, "thread": 2},
        {**write(7, "2.2.2", "M2", None, (4, "moved")), "slice": 1, "thread": 2},
        a_row(8, 40, 7, xid="2.2.2", slice=1, thread=2),
        a_row(9, 40, 7, xid="1.1.1"),
        a_row(10, 41, 7, xid="3.3.3"),
    ]

    found, settled = (assembled_rows(spark, tmp_path / str(position), rows, position=position) for position in (39, 40))

    net, changes, finding = net_of(found)
    assert net == {(3, 1): None, (3, 2): "again", (3, 4): "moved", (3, 7): "late"}
    assert (changes, finding, found.accounting.problems) == (8, None, {})
    assert {number for (_, number), what in dispositions(settled).items() if what == "applied"} == {0}
    assert {number for (_, number), what in dispositions(settled).items() if what == "before_position"} == set(range(1, 8))


LATE = "a change at SCN 22 comes after the end of its transaction 1.2.3"
PROBLEMS = {
    "without undo rows or parallel DML": [
        ([of_t(0, 20, 255, info=" no such type "), a_row(1, 21, 7)], "(UNSUPPORTED), transaction 1.2.3 SCN 20 (no such type)"),
        ([of_t(0, 20, 10), a_row(1, 21, 7)], "a change of a large object is not captured: operation 10 LOB_WRITE"),
        ([of_t(0, 20, 99, operation="ODD"), a_row(1, 21, 7)], "operation 99 ODD is not understood"),
        ([of_t(0, 20, 1, operation="DELETE"), a_row(1, 21, 7)], "operation 1 DELETE is not understood"),
        ([a_row(0, 20, 1, xid="0.0.0")], "belongs to no transaction"),
        ([a_row(0, 20, 1, object_id=8), a_row(1, 21, 7)], "belongs to object {object}, an OBJECT_ID the table never had"),
        ([a_row(0, 20, 1, xid="0.0.0"), a_row(1, 21, 7, xid="0.0.0")], "belongs to no transaction"),
        ([a_row(0, 20, 1), a_row(1, 21, 7), a_row(2, 22, 1)], LATE),
        ([a_row(0, 20, 1), a_row(1, 21, 36), a_row(2, 22, 1)], LATE),
        (
            [a_row(0, 20, 1, xid="4.4.4"), a_row(1, 21, 7, xid="4.4.4", con_id=None)],
            "the end of transaction 4.4.4 at SCN 21 has no container",
        ),
    ],
    "with undo rows": [
        ([a_row(0, 20, 2, rollback=True), a_row(1, 21, 7)], "an undo row finds no change to undo"),
        ([a_row(0, 20, 2, rollback=True), a_row(1, 20, 1), a_row(2, 21, 7)], "an undo row finds no change to undo"),
        ([a_row(0, 20, 1), a_row(1, 20, 3, rollback=True), a_row(2, 21, 7)], "does not match the change before it"),
    ],
    "with unknown transactions": [
        ([a_row(0, 20, 1, xid="1.2.4294967295", rollback=True)], "belongs to no known transaction"),
        # The coordinator's commit does not decide such a row: its server may have been rolled back.
        ([server_row(0, 20, 1, "1.2.4294967295"), a_row(1, 21, 7, xid=COORDINATOR)], "belongs to no known transaction"),
        ([server_row(0, 20, 1, "0.0.0"), a_row(1, 21, 7, xid=COORDINATOR)], "belongs to no transaction"),
    ],
}


def test_many_changes_are_kept_only_for_several_readers(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one reader they are computed again for it: kept, they are as large as all redo SQL of the batch."""
    monkeypatch.setattr(assembled, "MANY_CHANGES", 3)
    rows = [of_t(0, 20, 1), of_t(1, 21, 3), a_row(2, 22, 7), of_t(3, 30, 1, xid="5.5.5"), a_row(4, 31, 36, xid="5.5.5")]
    one = land(tmp_path / "one", 10, 100, rows)
    opened = land(tmp_path / "open", 10, 100, [*rows, of_t(5, 40, 1, xid="6.6.6")])
    few = land(tmp_path / "few", 10, 100, rows[:3])
    ranges = replace(T, ddl_scns=(35,))

    def assembled_from(window: LandedWindow, table: CapturedTable = T) -> AssembledBatch:
        return assemble_batch(spark, ScnRange(10, 100), [window], [], [table], "FREEPDB1")

    read_again, carried, undisturbed, small = map(assembled_from, (one, opened, one, few), (T, T, ranges, T))

    plans = [
        batch.changes._jdf.queryExecution().optimizedPlan().toString() for batch in (read_again, carried, undisturbed, small)
    ]
    assert ["parquet" in plan for plan in plans] == [True, False, True, False]
    assert dispositions(read_again) == dispositions(undisturbed)
    assert Counter(dispositions(read_again).values()) == {"applied": 2, "rolled_back": 1}
    assert Counter(dispositions(carried).values()) == {"applied": 2, "rolled_back": 1, "carried_out": 1}


def test_changes_of_large_objects_that_are_left_out_are_counted_and_not_applied(spark, tmp_path: Path) -> None:
    rows = [of_t(0, 20, 9, operation="INTERNAL"), of_t(1, 20, 10, status=2), of_t(2, 20, 3), of_t(3, 22, 10), a_row(4, 21, 7)]
    rows += [of_t(5, 30, 10, xid="7.7.7"), of_t(6, 31, 3, xid="7.7.7"), of_t(7, 32, 3, xid="7.7.7", rollback=True)]
    rows += [a_row(8, 33, 7, xid="7.7.7")]
    without = {"xid": "8.8.8", "row_id": NO_ROWID}  # INSERTs of which the second and, undone before it, the third are undone
    rows += [of_t(9, 40, 1, **without), of_t(10, 41, 1, **without), of_t(11, 42, 2, xid="8.8.8", row_id="R2", rollback=True)]
    inverted = {"rs_id": "at one address"}
    rows += [of_t(12, 43, 2, xid="8.8.8", row_id="R3", rollback=True, **inverted), of_t(13, 43, 1, **without, **inverted)]
    rows += [of_t(14, 44, 3, xid="8.8.8", row_id="R1"), a_row(15, 45, 7, xid="8.8.8")]
    window = land(tmp_path / "w", 10, 100, rows)

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [replace(T, no_large_objects=True)], "FREEPDB1")

    assert Counter(dispositions(found).values()) == {"applied": 3, "left_out": 4, "undone": 6}
    assert found.accounting.problems == {}
    assert found.accounting.balance(0, found.input_counts).difference == 0


def test_undo_rows_undo_whole_statements_that_write_large_objects(spark, tmp_path: Path) -> None:
    """As measured on 26ai: only the last row of a statement has the ROWID, and one undo row takes all of them back."""

    def update_of(column: str = "BODY") -> str:
        return f'update "SHOP"."T" set "{column}" = NULL where "ID" = \'1\';'

    def statement(at: int, xid: str, *rows: Any) -> list[Any]:
        made = [
            of_t(n, n, code, xid=xid, row_id=row or NO_ROWID, rollback=undo, sql_redo=update_of(*column))
            for n, (code, row, undo, *column) in enumerate(rows, at)
        ]
        return [*made, a_row(at + len(made), at + len(made), 7, xid=xid)]

    insert, update, piece = (1, None, False), (3, None, False), (10, None, False)
    cases = {
        # two INSERTs, each with an object in the row and one outside: the second is undone
        "1.1.1": [insert, piece, (3, "R1", False), insert, piece, (3, "R2", False), (2, "R2", True)],
        "1.1.2": [insert, (3, "R1", False), (3, "R1", False), (3, "R1", True)],
        "1.1.3": [insert, piece, (3, "R1", False, "NAME"), (3, "R1", True)],  # the UPDATE is no part of the INSERT
    }
    stopped = {
        "2.1.1": [(3, "R1", False), piece, (3, "R1", True)],  # the UPDATE before the pieces remains
        "2.1.2": [(3, "R1", False), update, (3, "R1", True)],
        "2.1.3": [update, (3, "R1", False), (3, "R1", True)],  # one statement, or two of which the second is undone
        "2.1.4": [(3, "R1", False), (10, "R1", False), (3, "R1", True)],  # DBMS_LOB.WRITE
    }
    with_objects = replace(T, stop_scn=200, rereads=True, plain_columns=("ID", "NAME"))
    numbered = enumerate({**cases, **stopped}.items(), 1)
    rows = [row for n, (xid, mine) in numbered for row in statement(20 * n, xid, *mine)]
    window = land(tmp_path / "w", 10, 200, rows)

    found = assemble_batch(spark, ScnRange(10, 200), [window], [], [with_objects], "FREEPDB1")

    changes = {row["ordinal"]: row for row in found.changes.collect()}
    undone = {xid: [changes[20 * n + i]["undone"] for i in range(len(mine))] for n, (xid, mine) in enumerate(cases.items(), 1)}
    assert undone == {
        "1.1.1": [False] * 3 + [True] * 4,
        "1.1.2": [False, False, True, True],
        "1.1.3": [False, False, True, True],
    }
    doubtful = {row["xid"] for row in changes.values() if "may undo an UPDATE of large objects" in (row["problem"] or "")}
    assert doubtful == set(stopped)


def test_undone_changes_of_a_table_whose_rows_are_read_again_are_no_problem(spark, tmp_path: Path) -> None:
    rows = [of_t(0, 20, 3), of_t(1, 21, 255), of_t(2, 22, 3, rollback=True), a_row(3, 23, 7)]
    window = land(tmp_path / "w", 10, 100, rows)

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [replace(T, rereads_rows=True)], "FREEPDB1")

    assert found.accounting.problems == {}
    assert set(dispositions(found).values()) == {"applied"}


@pytest.mark.parametrize("rows", PROBLEMS)
def test_a_change_that_cannot_be_assembled_is_a_problem_of_its_table(spark, tmp_path: Path, rows: str) -> None:
    found = assembled_cases(spark, tmp_path, {f"{n}": mine for n, (mine, _) in enumerate(PROBLEMS[rows])})

    for n, (case, (_, message)) in enumerate(zip(found.values(), PROBLEMS[rows], strict=True)):
        assert case.problem is not None, message
        assert message.format(object=10 * n + 8) in case.problem.what
        assert case.difference == 0


def test_tables_that_swapped_names_keep_their_changes(spark, tmp_path: Path) -> None:
    """Redo from before the RENAMEs is mined after them: the dictionary has each table under the other's name."""
    swapped = [a_row(0, 20, 1, table_name="U"), a_row(1, 20, 1, object_id=8, row_id="B"), a_row(2, 21, 7)]
    window, other = (
        land(tmp_path / "w", 10, 100, swapped),
        CapturedTable(1, TableId("SHOP", "U"), (8,), position=-1, stop_scn=100),
    )

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [T, other], "FREEPDB1")

    assert {row["ordinal"]: row["table_number"] for row in found.changes.collect()} == {0: 0, 1: 1}
    assert not found.accounting.problems


@pytest.mark.parametrize(("scn", "foreign"), [(60, 1), (20, 0)])
def test_a_name_that_a_table_has_lost_is_no_longer_its(spark, tmp_path: Path, scn: int, foreign: int) -> None:
    """Another table may have the old name from the RENAME at SCN 50 on; a row before it with that name is not explained."""
    names = (NameInRedo(TableId("SHOP", "T"), 50), NameInRedo(TableId("SHOP", "NEW")))
    renamed = CapturedTable(0, T.id, T.object_ids, position=-1, stop_scn=100, names=names)
    own, other = a_row(0, 20, 1, table_name="NEW", object_id=7), a_row(1, scn, 1, table_name="T", object_id=9, row_id="B")
    window = land(tmp_path / "w", 10, 100, [own, other, a_row(2, 61, 7)])

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [renamed], "FREEPDB1")

    assert found.input_counts.foreign == foreign
    assert bool(found.accounting.problems) == (not foreign)


def test_an_unresolved_row_belongs_to_the_table_with_its_object_id(spark, tmp_path: Path) -> None:
    unresolved = {"seg_owner": "UNKNOWN", "table_name": "OBJ# 7"}
    rows = [
        a_row(0, 20, 1, **unresolved),
        a_row(1, 20, 1, seg_owner="UNKNOWN", table_name="OBJ# 8", object_id=8),
        a_row(2, 20, 1, con_name="OTHERPDB"),
        a_row(3, 21, 7),
    ]

    accounting, input_counts = assemble_rows(spark, tmp_path, rows)

    assert accounting.count(0, "applied") == 1
    assert input_counts.foreign == 2


def test_a_row_that_occurs_twice_stops_the_batch(spark, tmp_path: Path) -> None:
    with pytest.raises(InvariantBroken, match="1 of 3 redo rows occur twice"):
        assemble_rows(spark, tmp_path, [a_row(0, 20, 1), a_row(0, 20, 1), a_row(1, 21, 7)])


def test_a_transaction_that_ends_twice_unbalances_the_account(spark, tmp_path: Path) -> None:
    accounting, input_counts = assemble_rows(spark, tmp_path, [a_row(0, 20, 1), a_row(1, 21, 7), a_row(2, 22, 7)])

    assert accounting.balance(0, input_counts).difference == -1


def test_a_row_outside_every_window_stops_the_batch(spark, tmp_path: Path) -> None:
    with pytest.raises(InvariantBroken, match="outside every window"):
        assemble_rows(spark, tmp_path, [a_row(0, 100, 1)])


def test_a_change_of_a_nameless_object_stops_the_batch(spark, tmp_path: Path) -> None:
    with pytest.raises(RedoNotUnderstood, match="neither the name nor the number"):
        assemble_rows(spark, tmp_path, [a_row(0, 20, 1, table_name=None, object_id=None, seg_owner=None)])
