"""After any history, the rows that this process nets and merges are those of the source."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.delivery.few_changes import is_plain, prepare_here
from redolake.apply.delivery.prepared import CommittedChanges, TableRange
from redolake.apply.delta.small_merge import merge_tables
from redolake.apply.landed.findings import segment_text
from redolake.apply.target import ROWID, TargetColumn
from redolake.job.translation import TRANSLATION
from redolake.records.batches.spec import Course, Destination, TableTask
from redolake.values.own_columns import DELETED
from redolake.values.scn import Scn
from redolake.values.table import ROWID_COLUMN, ROWID_NAME, Column, OracleType, TableId, TableVersion
from redolake.values.target_options import TargetOptions
from redolake.values.terms import RowCounts

TABLE, DEFAULT, AT = TableId("SHOP", "T"), 7, datetime(2026, 1, 2, 3, 4, 5)
CODE, N, V, YOUNG = "CODE", "N", "V", "YOUNG"
COLUMNS = (
    Column(1, CODE, OracleType("CHAR", length=3), 1, False),
    Column(2, N, OracleType("NUMBER", precision=12, scale=2), 2, False),
    Column(3, V, OracleType("VARCHAR2", length=100), 3),
    Column(4, YOUNG, OracleType("NUMBER", precision=9, scale=0), 4),
)
VERSION = TableVersion(TABLE, Scn(0), 100, 100, COLUMNS, (1, 2), 5)
BY_ROWID = replace(VERSION, key=(ROWID_COLUMN,), key_kind="rowid")
KEYS = [(code, n) for code in ("a  ", "A  ") for n in (Decimal("1.50"), Decimal("-1.50"))]
OWN = {"_commit_scn": pa.int64(), "_commit_time": pa.timestamp("us"), "_op": pa.string(), "_xid": pa.string()}
TYPES = {
    ROWID_NAME: pa.string(),
    CODE: pa.string(),
    N: pa.decimal128(12, 2),
    V: pa.string(),
    YOUNG: pa.int32(),
    **OWN,
    DELETED: pa.bool_(),
}
LOADED = {"_commit_scn": 5, "_commit_time": None, "_op": "load", "_xid": None, DELETED: False}
WORDS = {1: "insert", 2: "delete", 3: "update"}

Key = tuple[str, Decimal]
Stored = dict[str, Any]  # the values of a row outside its key; a column that is younger than the row is not among them


def text(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'"


def term(name: str, value: Any) -> str:
    return f'"{name}" IS NULL' if value is None else f'"{name}" = {text(value)}'


def shown(row: Stored) -> dict[str, Any]:
    """Return the row as a SELECT shows it."""
    return {V: row[V], YOUNG: row.get(YOUNG, DEFAULT)}


@dataclass
class Source:
    """A table, and its redo. `logs_all` says whether a WHERE has all columns that the row has. Each key keeps its ROWID: what
    has two is left to Spark."""

    chance: random.Random
    logs_all: bool
    stored: dict[Key, Stored] = field(default_factory=dict)
    redo: list[dict[str, Any]] = field(default_factory=list)

    def value(self, name: str) -> Any:
        return self.chance.choice([None, "x", " y "] if name == V else [None, 0, DEFAULT])

    def change(self, transaction: int) -> None:
        key = self.chance.choice(KEYS)
        old = self.stored.get(key)
        where = [term(CODE, key[0]), term(N, key[1])]
        if old is None:
            new: Stored | None = {name: self.value(name) for name in (V, YOUNG)}
            values = ",".join(map(text, (*key, *(new or {}).values())))
            code, sql = 1, f'insert into "SHOP"."T"("CODE","N","V","YOUNG") values ({values});'
        elif self.chance.random() < 0.25:
            new, where = None, [*where, *(term(name, old.get(name)) for name in (V, YOUNG))]
            code, sql = 2, f'delete from "SHOP"."T" where {" and ".join(where)};'
        else:
            given = {name: self.value(name) for name in self.chance.choice([(V,), (V,), (YOUNG,), (V, YOUNG)])}
            logged = [
                name for name in (V, YOUNG) if name in given or (self.logs_all and (name in old or self.chance.random() < 0.7))
            ]
            new, where = {**old, **given}, [*where, *(term(name, old.get(name)) for name in logged)]
            sets = ", ".join(f'"{name}" = {text(value)}' for name, value in given.items())
            code, sql = 3, f'update "SHOP"."T" set {sets} where {" and ".join(where)};'
        self.stored = {**{k: row for k, row in self.stored.items() if k != key}, **({} if new is None else {key: new})}
        self.redo.append(
            {
                "commit_scn": 120 + transaction // 2, "commit_thread": 1 + transaction % 2, "commit_rs_id": "r",
                "window_start": 100, "slice": 0, "ordinal": len(self.redo), "row_id": rowid_of(key), "scn": 110,
                "xid": f"1.{transaction}.3", "operation_code": code, "rollback": False, "status": 0, "info": None,
                "seg_owner": "SHOP", "table_name": "T", "sql_redo": sql, "commit_at": AT, "key": key,
            }
        )  # fmt: skip


def rowid_of(key: Key) -> str:
    return f"{segment_text(VERSION.data_object_id)}AAAAAAAA{KEYS.index(key)}"


def own_of(change: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: change[name.removeprefix("_")] for name in ("_commit_scn", "_xid")}
    code = change["operation_code"]
    return {**own, "_commit_time": AT, "_op": WORDS[code], DELETED: code == 2}


def as_table(rows: Mapping[Key, Mapping[str, Any]], columns: Sequence[str], options: TargetOptions) -> pa.Table:
    schema = pa.schema([(name, TYPES[name]) for name in (*columns, *options.own_columns)])
    return pa.Table.from_pylist([{ROWID_NAME: rowid_of(key), CODE: key[0], N: key[1], **rows[key]} for key in rows], schema)


def part_of(redo: Sequence[Mapping[str, Any]], options: TargetOptions, version: TableVersion) -> tuple[TableRange, pa.Table]:
    defaults, have = {4: str(DEFAULT)}, (*COLUMNS, *([ROWID] if version is BY_ROWID else []))
    columns = {c.id: TargetColumn(c.id, c.name, TRANSLATION.spark_type(c.type, None), defaults.get(c.id)) for c in have}
    target = cast("Any", SimpleNamespace(columns=columns, takes_rows=lambda changes: True, bytes=1))
    task = TableTask(TABLE, Destination("lake/T", "p/SHOP.T/1", options=options), Course((version,)))
    made = TableRange(target, task, CommitRange(0, 100, 200, version), CommittedChanges(cast("Any", None), len(redo)))
    rows = pa.Table.from_pylist([{name: value for name, value in row.items() if name != "key"} for row in redo])
    return made, rows.set_column(rows.schema.get_field_index("info"), "info", pa.nulls(len(redo), pa.string()))


@pytest.mark.parametrize("version", [VERSION, BY_ROWID], ids=["by key", "by ROWID"])
@pytest.mark.parametrize("deletes", ["remove", "mark"])
def test_rows_own_columns_and_counts_are_those_of_the_source(deletes: Any, version: TableVersion) -> None:
    """A row that is older than a column has NULL, or nothing, in the redo where a SELECT shows its default."""
    options = TargetOptions(metadata_columns=tuple(OWN), deletes=deletes)  # type: ignore[arg-type]
    for seed in range(25):
        chance = random.Random(seed)
        source = Source(chance, logs_all=chance.random() < 0.5)
        source.stored = {key: {V: "old", **chance.choice([{}, {YOUNG: 1}])} for key in KEYS if chance.random() < 0.7}
        before = {key: {**shown(row), **LOADED} for key, row in source.stored.items()}
        for transaction in range(chance.randint(1, 6)):
            for _ in range(chance.randint(1, 2)):
                source.change(transaction)
        last = {change["key"]: own_of(change) for change in source.redo}
        chance.shuffle(source.redo)
        part, rows = part_of(source.redo, options, version)
        context = cast("Any", SimpleNamespace(translation=TRANSLATION, spark=None))
        assert is_plain(context, part)
        names = [column.name for column in part.table.columns.values()]

        ready = prepare_here(context, part, rows)
        assert ready is not None
        assert ready.rows is not None
        found = merge_tables(as_table(before, names, options), ready.rows, part.table.columns, ready.has, options)

        after = {key: {**shown(row), **LOADED, **last.get(key, {})} for key, row in source.stored.items()}
        gone = [key for key in before if key not in after]
        if deletes == "mark":
            after |= {key: {**before[key], **last[key]} for key in gone}
        changed = [key for key in last if key in before]
        counts = RowCounts(
            inserted=len(after.keys() - before.keys()),
            updated=len(changed) - (0 if deletes == "mark" else len(gone)),
            deleted=0 if deletes == "mark" else len(gone),
        )
        assert found is not None
        assert sorted(map(repr, found[0].to_pylist())) == sorted(map(repr, as_table(after, names, options).to_pylist())), seed
        assert found[1] == counts, seed
