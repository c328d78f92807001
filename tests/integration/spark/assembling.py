"""Assemble redo rows in Spark, one situation or several at once, and read what became of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redolake.assemble.assembled import assemble_batch
from redolake.assemble.attribution import CapturedTable
from redolake.assemble.carry import rows_to_carry
from redolake.assemble.row_accounting import Problem
from redolake.values.scn import ScnRange
from redolake.values.table import TableId
from tests.integration.spark.landing import land

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


def dispositions(found: Any) -> dict[tuple[str, int], str]:
    """Return the disposition of each row by xid and ordinal."""
    return {(row["xid"], row["ordinal"]): row["disposition"] for row in found.changes.collect()}
