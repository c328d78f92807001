"""This process prepares a range only where it knows all of its rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.delivery import few_changes
from redolake.apply.delivery.few_changes import columns_to_fetch, is_plain, prepare_here
from redolake.apply.delivery.prepared import CommittedChanges, TableRange
from redolake.apply.landed.findings import segment_text
from redolake.apply.target import ROWID, TargetColumn
from redolake.job.translation import TRANSLATION
from redolake.records.batches.spec import Course, Destination, MinedNames, TableTask
from redolake.values.delivery import NullableKey, RereadValues
from redolake.values.mapping import RowFilter, TableMapping
from redolake.values.quarantine import QuarantineRule
from redolake.values.scn import Scn
from redolake.values.table import ROWID_COLUMN, Column, IgnoredColumn, OracleType, TableId, TableVersion
from redolake.values.target_options import TargetOptions

TABLE = TableId("SHOP", "T")
ID, V = Column(1, "ID", OracleType("NUMBER", precision=9, scale=0), 1, False), Column(2, "V", OracleType("VARCHAR2", 100), 2)
VERSION = TableVersion(TABLE, Scn(0), 100, 100, (ID, V), (1,), 3)
EMPTY = QuarantineRule("lake/empty")
THERE = Destination("lake/T", "p/SHOP.T/1")
CONTEXT = cast("Any", SimpleNamespace(translation=TRANSLATION, spark=None))


def part(version: TableVersion = VERSION, there: Destination = THERE, count: int = 1, **course: Any) -> TableRange:
    given = Course(**{"versions": (version,), **course})
    have = (version.columns[0], V, *([ROWID] if version.key_kind == "rowid" else []))
    columns = {c.id: TargetColumn(c.id, c.name, TRANSLATION.spark_type(c.type, None)) for c in have}
    target = cast("Any", SimpleNamespace(columns=columns, takes_rows=lambda changes: True, bytes=1))
    commit_range = CommitRange(0, 100, 200, given.latest, changes=given.deliveries[-1])
    return TableRange(target, TableTask(TABLE, there, given), commit_range, CommittedChanges(cast("Any", None), count))


BY_ROWID = replace(VERSION, key=(ROWID_COLUMN,), key_kind="rowid")
PLAIN: dict[str, Callable[[], TableRange]] = {
    "nothing more": part,
    "a key of ROWIDs": lambda: part(BY_ROWID),
    "another name in the lake": lambda: part(replace(VERSION, mapping=TableMapping(comments=((2, "text"),)))),
    "a quarantine in which nothing is": lambda: part(there=replace(THERE, quarantine=QuarantineRule("lake/q"))),
}


@pytest.mark.parametrize("what", PLAIN)
def test_a_range_of_plain_changes_is_prepared_here(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_changes, "has_events", lambda *_: False)

    assert is_plain(CONTEXT, PLAIN[what]())


OTHERS: dict[str, Callable[[], TableRange]] = {
    "a filter": lambda: part(replace(VERSION, mapping=TableMapping(where=RowFilter("ID > 1", (1,), "ID > 1")))),
    "a quarantine in which something is": lambda: part(there=replace(THERE, quarantine=QuarantineRule("lake/q"))),
    "a quarantine of rows of several SCNs": lambda: part(there=replace(THERE, quarantine=EMPTY, settles_at=150)),
    "a history": lambda: part(there=replace(THERE, history="lake/T_history")),
    "partitions": lambda: part(there=replace(THERE, options=TargetOptions(partition_by=("V",)))),
    "a shadow from before its range": lambda: part(there=replace(THERE, shadow_from=3)),
    "an index-organized table": lambda: part(replace(VERSION, organization="index")),
    "a cluster": lambda: part(replace(VERSION, organization="cluster")),
    "no key": lambda: part(replace(VERSION, key=(), key_kind="append")),
    "a key that may be NULL": lambda: part(deliveries=(NullableKey(),)),
    "large objects": lambda: part(deliveries=(RereadValues((2,)),)),
    "rows that may hide their ROWID": lambda: part(replace(VERSION, ignored=(IgnoredColumn(3, "excluded", "C", "CLOB"),))),
    "two layouts": lambda: part(versions=(replace(VERSION, columns=(ID,)), replace(VERSION, from_scn=Scn(150)))),
    "another layout": lambda: part(versions=(replace(VERSION, key=(2,)), replace(VERSION, from_scn=Scn(250)))),
    "other names in the redo": lambda: part(mined_names=(MinedNames(100, 0, 0, {"OLD": 2}),)),
    "a key of floating point": lambda: part(replace(VERSION, columns=(replace(ID, type=OracleType("BINARY_DOUBLE")), V))),
    "another column in the lake": lambda: part(replace(VERSION, columns=(ID, replace(V, name="W")))),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_what_needs_another_rule_is_left_to_spark(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_changes, "has_events", lambda _, __, task: task.destination.quarantine != EMPTY)

    assert not is_plain(CONTEXT, OTHERS[what]())


def rows(*texts: str | None, **every: Any) -> pa.Table:
    shared = {
        "commit_thread": 1, "commit_rs_id": "r", "window_start": 100, "slice": 0, "scn": 110, "xid": "1.2.3", "rollback": False,
        "status": 0, "info": None, "seg_owner": "SHOP", "table_name": "T", "operation_code": 1, **every,
    }  # fmt: skip
    found = [
        {**shared, "commit_scn": 120 + n, "ordinal": n, "row_id": f"AAA{n}", "sql_redo": text} for n, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(found).cast(
        pa.schema({name: pa.string() if name in ("info", "sql_redo") else type_ for name, type_ in types_of(found[0]).items()})
    )


def types_of(row: dict[str, Any]) -> dict[str, pa.DataType]:
    return {name: pa.array([value]).type for name, value in row.items()}


def without_rowid(given: pa.Table) -> pa.Table:
    return given.set_column(given.schema.get_field_index("row_id"), "row_id", pa.array(["AAA", None]))


def insert(key: int) -> str:
    return f"""insert into "SHOP"."T"("ID","V") values ('{key}','new');"""


def test_what_is_prepared_here_has_one_row_for_each_key_and_says_whose_changes_they_are() -> None:
    ready = prepare_here(CONTEXT, part(count=2), rows(insert(1), insert(2)))

    assert ready is not None
    assert (ready.upserts, ready.is_empty, ready.taken.count, list(ready.has.key)) == (2, False, 0, [1])
    assert ready.rows is not None
    assert ready.rows.select(["op", "k1", "a1", "a2", "_commit_scn"]).to_pylist() == [
        {"op": "U", "k1": n, "a1": n, "a2": "new", "_commit_scn": 119 + n} for n in (1, 2)
    ]


@pytest.mark.parametrize(
    ("what", "given"),
    [
        ("fewer changes than were counted", rows(insert(1))),
        ("a text that was not fetched", rows(insert(1), None)),
        ("a value that is not understood", rows(insert(1), insert(2).replace("'new'", "TO_DATE('new')"))),
        ("a column that is not known", rows(insert(1), insert(2).replace('"V"', '"W"'))),
        ("a change without its log", rows(insert(1), insert(2), status=3)),
        ("an undo row", rows(insert(1), insert(2), rollback=True)),
        ("a change without a ROWID", without_rowid(rows(insert(1), insert(2)))),
        ("a change from before the table's columns are known", rows(insert(1), insert(2), scn=50)),
        ("two rows with a key", rows(insert(1), insert(1))),
    ],
)
def test_changes_with_a_finding_are_left_to_spark(what: str, given: pa.Table) -> None:
    assert prepare_here(CONTEXT, part(count=2, known_from=100), given) is None


def test_a_rowid_is_a_key_in_the_segment_of_the_table_alone() -> None:
    own, other = f"{segment_text(100)}AAA", f"{segment_text(101)}AAA"

    def keys(*rowids: str) -> Any:
        given = rows(insert(1), insert(1))
        given = given.set_column(given.schema.get_field_index("row_id"), "row_id", pa.array(rowids))
        ready = prepare_here(CONTEXT, part(BY_ROWID, count=2), given)
        return None if ready is None or ready.rows is None else ready.rows["k0"].to_pylist()

    assert keys(f"{own}1", f"{own}2") == [f"{own}1", f"{own}2"]
    assert keys(f"{own}1", f"{other}2") is None


def test_what_is_fetched_has_what_the_tables_own_columns_need() -> None:
    assert {"commit_at", "xid", "sql_redo", "row_id"} <= {*columns_to_fetch(TargetOptions(metadata_columns=("_commit_time",)))}
    assert "commit_at" not in columns_to_fetch(TargetOptions())


def test_the_range_of_the_keys_is_known_to_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_changes, "ranged_column", lambda table, _: table.columns[1])

    ready = prepare_here(CONTEXT, part(count=2), rows(insert(7), insert(3)))

    assert ready is not None
    assert ready.has.within is not None
    assert (ready.has.within.low, ready.has.within.high) == (3, 7)
