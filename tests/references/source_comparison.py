"""Compare the Delta tables of a pipeline with the source, as `redolake verify` does, but without Spark.

`verify` reads Oracle AS OF each table's SCN and answers as always; only its comparison is replaced. Spark's own comparison has
tests of its own, and is used wherever `verify` itself is tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from redolake import steps
from redolake.apply.delta.log import read_log
from redolake.apply.verify.comparison import CompareTask, Comparison
from redolake.steps.proof.verify import Verification
from redolake.values.own_columns import DELETED
from redolake.values.table import ROWID_COLUMN, ROWID_NAME
from tests.references.delta_table import read_delta

Row = tuple[Any, ...]


def compare_with_source(pipeline: Any, source: Any = None, tables: Sequence[str] | None = None) -> Verification:
    """Raise what kept a table from being compared."""
    with mock.patch("redolake.job.comparison.compare_tables", compare_tables):
        found = steps.verify_tables(pipeline, tables, source=source, spark="no Spark")
    assert not found.not_compared, "\n".join(map(str, found.not_compared))
    return found


def compare_tables(_: Any, tasks: Sequence[CompareTask], _lake: Any = None) -> tuple[Comparison, ...]:
    return tuple(compare(task) for task in tasks)


def compare(task: CompareTask) -> Comparison:
    """Compare by key, cell by cell; rows without a key by how often each is there."""
    columns = {column.id: column.name for column in task.version.columns}
    if task.version.key_kind == "rowid":
        columns[ROWID_COLUMN] = ROWID_NAME
    source = pa.concat_tables([pq.read_table(file) for file in task.files])
    log = read_log(task.target)
    assert log is not None
    delta_version = log.last_version_with(task.delta_version)
    delta = read_delta(task.target, delta_version)
    if task.options.deletes == "mark":
        delta = delta.filter(pc.invert(pc.fill_null(delta[DELETED], False)))
    commits = [scn for scn in delta["_commit_scn"].to_pylist() if scn is not None]
    assert max(commits, default=0) <= task.complete_to, "the table has commits beyond the SCN it is compared at"
    numbers = {column.name for column in task.version.columns if column.type.name == "NUMBER"}
    ours = rows_of(source, list(columns.values()), numbers)
    theirs = rows_of(delta, list(columns.values()), set())
    if task.version.key_kind == "append":
        missing, extra = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
        counts = len(ours), len(theirs), missing.total(), extra.total()
        return Comparison(task.table, task.complete_to, delta_version, *counts, 0)
    return replace(compare_keyed(task, ours, theirs, list(columns)), delta_version=delta_version)


def compare_keyed(task: CompareTask, ours: Sequence[Row], theirs: Sequence[Row], ids: Sequence[int] = ()) -> Comparison:
    """Compare rows by their key; `ids` are the columns' ids, where they are not those of the task's version."""
    ids = ids or [column.id for column in task.version.columns]
    key = [ids.index(number) for number in task.version.key]
    mine, its = ({tuple(row[at] for at in key): row for row in rows} for rows in (ours, theirs))
    assert (len(mine), len(its)) == (len(ours), len(theirs)), "a key is there twice"
    differing = sum(a != b for name in mine.keys() & its.keys() for a, b in zip(mine[name], its[name], strict=True))
    missing_rows, extra_rows = len(mine.keys() - its.keys()), len(its.keys() - mine.keys())
    counts = len(ours), len(theirs), missing_rows, extra_rows, differing
    return Comparison(task.table, task.complete_to, task.delta_version, *counts)


def rows_of(table: pa.Table, names: Sequence[str], texts_of_numbers: set[str]) -> list[Row]:
    columns = [[plain(value, name in texts_of_numbers) for value in table[name].to_pylist()] for name in names]
    return list(zip(*columns, strict=True))


def plain(value: Any, is_number: bool) -> Any:
    """Return a number as the one text that Delta has for it, where it is kept as text; other values as they are."""
    if isinstance(value, bool) or not (isinstance(value, int | Decimal) or (is_number and isinstance(value, str))):
        return value
    text = format(Decimal(value), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
