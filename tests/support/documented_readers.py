"""Readers of a table of `readers: any`, asked as docs/concepts/reading-the-lake.md says, where the plain way is another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from deltalake import DeltaTable

from tests.support.lake_readers import (
    Condition,
    DeltaRsArrow,
    DeltaRsSql,
    KernelJava,
    Pandas,
    PandasArrow,
    PolarsEager,
    PolarsLazy,
    Reader,
    Row,
    Spark,
    arrow_filter,
    rows_of_frame,
)

FLOATS = ("double", "float")
PUSHDOWN = "spark.sql.parquet.filterPushdown"


def of_zero(condition: Condition) -> Condition:
    """Return the condition with 0 for -0.0, which no table of ours has."""
    return replace(condition, values=tuple(0.0 if isinstance(v, float) and v == 0 else v for v in condition.values))


def version_of(path: str, when: datetime | int) -> int:
    """Return the last version until a moment, by the table's history."""
    if isinstance(when, int):
        return when
    millis = round(when.timestamp() * 1000)
    return max(one["version"] for one in DeltaTable(path).history() if one["timestamp"] <= millis)


class ByVersion(Reader):
    """Asks for the version of a moment, by the table's history."""

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        return super().as_of(path, version_of(path, when))


class ArrowAfterReading(ByVersion, DeltaRsArrow):
    def ids(self, path: str, condition: Condition) -> set[int]:
        if condition.type not in (*FLOATS, "string"):
            return super().ids(path, condition)
        table = self.opened(path, lambda path: DeltaTable(path).to_pyarrow_table())
        return {int(n) for n in table.filter(arrow_filter(of_zero(condition)))["ID"].to_pylist()}


class PandasOfArrow(ByVersion, PandasArrow):
    """Filters in Arrow, then makes the frame."""

    def __init__(self, name: str) -> None:
        self.name = name

    def ids(self, path: str, condition: Condition) -> set[int]:
        table = self.opened(path, lambda path: DeltaTable(path).to_pyarrow_table())
        frame = table.filter(arrow_filter(of_zero(condition))).to_pandas(**self.options)
        return {int(row["ID"]) for row in rows_of_frame(frame[["ID"]])}


class SqlOfNan(ByVersion, DeltaRsSql):
    """Compares `nanvl(D, NaN)`, which is D, and by which no file is passed over."""

    def ids(self, path: str, condition: Condition) -> set[int]:
        if condition.type not in FLOATS:
            return super().ids(path, condition)
        name = f"""nanvl("{condition.column}", CAST('nan' AS {condition.type}))"""
        sql = f'SELECT "ID" FROM t WHERE {replace(of_zero(condition), column=name).sql(self.literal)}'
        return {int(row["ID"]) for row in self.query(path, sql).to_pylist()}


class PolarsLazyByVersion(ByVersion, PolarsLazy):
    """The lazy one."""


class PolarsEagerByVersion(ByVersion, PolarsEager):
    """The eager one."""


class KernelInUtc(KernelJava):
    """A JVM in UTC, whatever the zone of its user is."""

    def ids(self, path: str, condition: Condition) -> set[int]:
        return super().ids(path, of_zero(condition))

    def zone(self, name: str) -> AbstractContextManager[None]:
        return super().zone("UTC")


class SparkWithoutPushdown(Spark):
    def all_ids(self, path: str, conditions: Sequence[Condition]) -> list[set[int]]:
        with self.without_pushdown():
            return super().all_ids(path, [of_zero(condition) for condition in conditions])

    @contextmanager
    def without_pushdown(self) -> Iterator[None]:
        self.session.conf.set(PUSHDOWN, "false")
        try:
            yield
        finally:
            self.session.conf.unset(PUSHDOWN)


# The reader as documented, and the types of the columns that are read so: None is all, () none but for older versions.
WAYS: dict[type[Reader], tuple[Callable[[Any], Reader], tuple[str, ...] | None]] = {
    DeltaRsArrow: (lambda _: ArrowAfterReading(), (*FLOATS, "string")),
    DeltaRsSql: (lambda _: SqlOfNan(), FLOATS),
    PolarsLazy: (lambda _: PolarsLazyByVersion(), ()),
    PolarsEager: (lambda _: PolarsEagerByVersion(), ()),
    Pandas: (lambda reader: PandasOfArrow(reader.name), None),
    PandasArrow: (lambda reader: PandasOfArrow(reader.name), None),
    KernelJava: (lambda _: KernelInUtc(), (*FLOATS, "timestamp_ntz")),
    Spark: (lambda reader: SparkWithoutPushdown(reader.session, reader.name), FLOATS),
}


@dataclass(frozen=True, slots=True)
class Documented:
    reader: Reader
    types: tuple[str, ...] | None

    def needs(self, type_: str) -> bool:
        return self.types is None or type_ in self.types


def as_documented(reader: Reader) -> Documented | None:
    """Return how the page says to ask the reader; None if the plain way is all."""
    if type(reader) not in WAYS:
        return None
    make, types = WAYS[type(reader)]
    return Documented(make(reader), types)
