"""Programs that read the lake, each behind the same three questions: the rows, the rows under a condition, an older version.

A condition is a column, an operator and values; each reader writes it as its own users would, so that statistics and partitions
decide which files it opens. Errors are the reader's own: the caller names them.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from typing import Any, Literal, TypeVar

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder

from redolake.host.runtime import environment
from tests.support.kernel_java import SOURCE, VERSION, kernel_jars

Row = Mapping[str, Any]
T = TypeVar("T")
COMPARISONS = ("=", ">", ">=", "<=", "IN", "BETWEEN")


@dataclass(frozen=True, slots=True)
class Condition:
    """`values` are one for a comparison, two for BETWEEN, any number for IN."""

    column: str
    type: str  # in Spark SQL
    operator: str
    values: tuple[Any, ...]

    def holds(self, value: Any, *, orders_nan: bool = True) -> bool:
        """Return whether a value meets it by Oracle's rules: NaN is one value, larger than all others. Without `orders_nan`, by
        IEEE 754: NaN meets no comparison."""
        if self.operator == "IS NULL" or value is None:
            return self.operator == "IS NULL" and value is None
        if not orders_nan and any(isinstance(one, float) and one != one for one in (value, *self.values)):
            return self.operator == "IN" and not is_nan(value) and value in self.values
        mine, given = ordered(value), [ordered(v) for v in self.values]
        return bool(
            {
                "=": lambda: mine == given[0],
                ">": lambda: mine > given[0],
                ">=": lambda: mine >= given[0],
                "<=": lambda: mine <= given[0],
                "IN": lambda: mine in given,
                "BETWEEN": lambda: given[0] <= mine <= given[-1],
            }[self.operator]()
        )

    def sql(self, literal: Callable[[Any, str], str]) -> str:
        """Return it as SQL; `literal` writes a value of a type."""
        if self.operator == "IS NULL":
            return f"{self.column} IS NULL"
        texts = [literal(value, self.type) for value in self.values]
        if self.operator == "IN":
            return f"{self.column} IN ({', '.join(texts)})"
        return f"{self.column} {self.operator} {' AND '.join(texts)}"


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def ordered(value: Any) -> Any:
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value)
    return value.encode() if isinstance(value, str) else value


def shown(value: Any) -> str:
    """Return a value in one spelling for all readers."""
    if isinstance(value, Decimal):
        return f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ") + "Z" if value.tzinfo else value.isoformat(" ")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    return str(value)


def plain(value: Any) -> str:
    """Return a value's text, as a CAST reads it in each dialect."""
    if isinstance(value, datetime):
        text = f"{value.year:04d}" + value.strftime("-%m-%d %H:%M:%S.%f")
        return f"{text}+00:00" if value.tzinfo else text
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class Reader:
    """`filters` says how a condition is asked: `files`, while the files are chosen; `rows`, of all rows afterwards; `none`.
    Without `orders_nan` NaN meets no comparison."""

    name: str
    package: str
    filters: Literal["files", "rows", "none"] = "files"
    orders_nan = True
    _opened: tuple[str, Any] = ("", None)

    def opened(self, path: str, open_: Callable[[str], T]) -> T:
        """Return what `open_` makes of the table, made once while the questions are of one table: none changes meanwhile."""
        if self._opened[0] != path:
            self._opened = path, open_(path)
        found: T = self._opened[1]
        return found

    def end(self) -> None:
        """End what the reader has started."""

    def rows(self, path: str) -> list[Row]:
        return rows_of(self.table(path))

    def table(self, path: str) -> pa.Table:
        raise NotImplementedError

    def ids(self, path: str, condition: Condition) -> set[int]:
        raise NotImplementedError

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        """Return the rows of a moment, or of a version."""
        raise NotImplementedError

    def feed(self, path: str, first: int, last: int) -> list[Row]:
        """Return the change data feed of the versions from `first` to `last`."""
        raise NotImplementedError

    def history(self, path: str) -> list[datetime]:
        """Return the time of each version, the oldest first."""
        raise NotImplementedError

    @contextmanager
    def zone(self, name: str) -> Iterator[None]:
        """Let the reader's session be in a time zone: that of the process, where it has no setting of its own."""
        before = os.environ.get("TZ")
        self._opened = "", None
        try:
            os.environ["TZ"] = name
            time.tzset()
            yield
        finally:
            os.environ.pop("TZ")
            if before is not None:
                os.environ["TZ"] = before
            time.tzset()
            self._opened = "", None

    @property
    def version(self) -> str:
        return version(self.package)


def rows_of(table: pa.Table) -> list[Row]:
    # Python has no year 0, in which the first moment of year 1 is in New York.
    in_utc = [field.with_type(pa.timestamp("us", "UTC")) if is_zoned(field.type) else field for field in table.schema]
    return table.cast(pa.schema(in_utc)).to_pylist()


def is_zoned(type_: pa.DataType) -> bool:
    return pa.types.is_timestamp(type_) and type_.tz is not None


class DeltaRsArrow(Reader):
    name, package, orders_nan = "delta-rs, to Arrow", "deltalake", False

    def table(self, path: str) -> pa.Table:
        return DeltaTable(path).to_pyarrow_table()

    def ids(self, path: str, condition: Condition) -> set[int]:
        dataset = self.opened(path, lambda path: DeltaTable(path).to_pyarrow_dataset())  # as `to_pyarrow_table` does
        found = dataset.to_table(filter=arrow_filter(condition), columns=["ID"])
        return {int(n) for n in found["ID"].to_pylist()}

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        table = DeltaTable(path)
        table.load_as_version(when)
        return rows_of(table.to_pyarrow_table())

    def feed(self, path: str, first: int, last: int) -> list[Row]:
        reader = DeltaTable(path).load_cdf(starting_version=first, ending_version=last)
        return rows_of(pa.table(reader.read_all()))

    def history(self, path: str) -> list[datetime]:
        return [datetime.fromtimestamp(one["timestamp"] / 1000, UTC) for one in reversed(DeltaTable(path).history())]


def arrow_filter(condition: Condition) -> Any:
    field, type_ = pc.field(condition.column), arrow_type(condition.type)
    if condition.operator == "IS NULL":
        return field.is_null()
    values = [pa.scalar(value, type_) for value in condition.values]
    if condition.operator == "IN":
        return field.isin(pa.array(condition.values, type_))
    if condition.operator == "BETWEEN":
        return (field >= values[0]) & (field <= values[1])
    first = values[0]
    return {"=": field == first, ">": field > first, ">=": field >= first, "<=": field <= first}[condition.operator]


def arrow_type(type_: str) -> pa.DataType:
    if type_.startswith("decimal"):
        return pa.decimal128(*map(int, type_[8:-1].split(",")))
    return {
        "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(), "float": pa.float32(), "string": pa.string(),
        "binary": pa.binary(), "boolean": pa.bool_(),
        "timestamp_ntz": pa.timestamp("us"), "timestamp": pa.timestamp("us", "UTC"),
    }[type_]  # fmt: skip


class Pandas(DeltaRsArrow):
    """What `DeltaTable.to_pandas()` gives; a condition is asked of its frame."""

    name, package, filters = "pandas, through delta-rs", "pandas", "rows"
    options: Mapping[str, Any] = {}

    def frame(self, path: str) -> pandas.DataFrame:
        return DeltaTable(path).to_pandas(**self.options)

    def rows(self, path: str) -> list[Row]:
        return rows_of_frame(self.frame(path))

    def ids(self, path: str, condition: Condition) -> set[int]:
        frame, values = self.opened(path, self.frame), list(condition.values)
        column, first = frame[condition.column], next(iter(values), None)
        if condition.operator == "IS NULL":
            chosen = column.isna()
        elif condition.operator == "IN":
            chosen = column.isin(values)
        elif condition.operator == "BETWEEN":
            chosen = column.between(*values)
        else:
            chosen = {"=": column.eq, ">": column.gt, ">=": column.ge, "<=": column.le}[condition.operator](first)
        return {int(n) for n in frame[chosen.fillna(False)]["ID"]}

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        table = DeltaTable(path)
        table.load_as_version(when)
        return rows_of_frame(table.to_pandas(**self.options))

    def feed(self, path: str, first: int, last: int) -> list[Row]:
        raise NotImplementedError

    def history(self, path: str) -> list[datetime]:
        raise NotImplementedError


def rows_of_frame(frame: pandas.DataFrame) -> list[Row]:
    # A NaN of a column of doubles may be NULL or NaN: pandas does not tell.
    return [
        {
            name: None if value is None or value is pandas.NaT or value is pandas.NA else as_python(value)
            for name, value in row.items()
        }
        for row in frame.astype(object).to_dict("records")
    ]


def as_python(value: Any) -> Any:
    return (
        value.to_pydatetime(warn=False)
        if isinstance(value, pandas.Timestamp)
        else value.item()
        if hasattr(value, "item")
        else value
    )


class PandasArrow(Pandas):
    name = "pandas, with ArrowDtype"
    options: Mapping[str, Any] = {"types_mapper": pandas.ArrowDtype}


class DeltaRsSql(Reader):
    name, package = "delta-rs, SQL", "deltalake"

    def query(self, path: str, sql: str) -> pa.Table:
        return pa.table(QueryBuilder().register("t", DeltaTable(path)).execute(sql).read_all())

    def table(self, path: str) -> pa.Table:
        return self.query(path, "SELECT * FROM t")

    def ids(self, path: str, condition: Condition) -> set[int]:
        quoted_column = replace(condition, column=f'"{condition.column}"')
        sql = f'SELECT "ID" FROM t WHERE {quoted_column.sql(self.literal)}'
        builder = self.opened(path, lambda path: QueryBuilder().register("t", DeltaTable(path)))
        return {int(n) for n in pa.table(builder.execute(sql).read_all())["ID"].to_pylist()}

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        table = DeltaTable(path)
        table.load_as_version(when)
        return rows_of(pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()))

    def literal(self, value: Any, type_: str) -> str:
        if type_ == "binary":
            return f"X'{value.hex()}'"
        if type_.startswith("timestamp"):
            zone = ', Some("UTC")' if type_ == "timestamp" else ", None"
            return f"arrow_cast({quoted(plain(value))}, 'Timestamp(Microsecond{zone})')"
        return f"CAST({quoted(plain(value))} AS {type_})"


class DuckDb(Reader):
    name, package = "DuckDB", "duckdb"

    def __init__(self, extension: str) -> None:
        self.connection = duckdb.connect()
        self.connection.load_extension(extension)

    @contextmanager
    def zone(self, name: str) -> Iterator[None]:
        self.connection.sql(f"SET TimeZone = {quoted(name)}")
        try:
            yield
        finally:
            self.connection.sql("SET TimeZone = 'UTC'")

    def table(self, path: str) -> pa.Table:
        return self.connection.sql(f"SELECT * FROM delta_scan({quoted(path)})").to_arrow_table()

    def ids(self, path: str, condition: Condition) -> set[int]:
        sql = f"SELECT ID FROM delta_scan({quoted(path)}) WHERE {condition.sql(self.literal)}"
        return {int(n) for (n,) in self.connection.sql(sql).fetchall()}

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        if not isinstance(when, int):
            raise NotImplementedError
        return rows_of(self.connection.sql(f"SELECT * FROM delta_scan({quoted(path)}, version = {when})").to_arrow_table())

    def literal(self, value: Any, type_: str) -> str:
        if type_ == "binary":
            return f"from_hex('{value.hex()}')"
        names = {"string": "VARCHAR", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP"}
        return f"CAST({quoted(plain(value))} AS {names.get(type_, type_)})"


class PolarsLazy(Reader):
    name, package = "Polars, scan_delta", "polars"

    def table(self, path: str) -> pa.Table:
        return polars.scan_delta(path).collect().to_arrow()

    def ids(self, path: str, condition: Condition) -> set[int]:
        frame = self.opened(path, polars.scan_delta)
        return set(map(int, frame.filter(polars_filter(condition)).collect()["ID"].to_list()))

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        return rows_of(polars.scan_delta(path, version=when).collect().to_arrow())


class PolarsEager(PolarsLazy):
    name, filters = "Polars, read_delta", "rows"

    def table(self, path: str) -> pa.Table:
        return polars.read_delta(path).to_arrow()

    def ids(self, path: str, condition: Condition) -> set[int]:
        frame = self.opened(path, polars.read_delta)
        return set(map(int, frame.filter(polars_filter(condition))["ID"].to_list()))

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        return rows_of(polars.read_delta(path, version=when).to_arrow())


def polars_filter(condition: Condition) -> polars.Expr:
    column, type_ = polars.col(condition.column), polars.Series(pa.array([], arrow_type(condition.type))).dtype
    values = [polars.lit(value, dtype=type_) for value in condition.values]
    if condition.operator == "IS NULL":
        return column.is_null()
    if condition.operator == "IN":
        return column.is_in(polars.Series(condition.values, dtype=type_))
    if condition.operator == "BETWEEN":
        return column.is_between(*values)
    first = values[0]
    return {"=": column == first, ">": column > first, ">=": column >= first, "<=": column <= first}[condition.operator]


class KernelRust(Reader):
    """delta-kernel-rs, as the client of Delta Sharing calls it: it gives all rows."""

    name, package = "delta-kernel in Rust (Delta Sharing's client)", "delta-kernel-rust-sharing-wrapper"
    filters = "none"

    def table(self, path: str) -> pa.Table:
        import delta_kernel_rust_sharing_wrapper as kernel

        url = f"{Path(path).as_uri()}/"
        interface = kernel.PythonInterface(url)
        scan = kernel.ScanBuilder(kernel.Table(url).snapshot(interface)).build()
        return scan.execute(interface).read_all()

    def feed(self, path: str, first: int, last: int) -> list[Row]:
        import delta_kernel_rust_sharing_wrapper as kernel

        url = f"{Path(path).as_uri()}/"
        interface = kernel.PythonInterface(url)
        scan = kernel.TableChangesScanBuilder(kernel.Table(url), interface, first, last).build()
        return rows_of(scan.execute(interface).read_all())


class KernelJava(Reader):
    """delta-kernel in Java, by a program that reads through it as its guide says: a condition chooses files, and the kernel's
    own evaluator the rows."""

    name, version = "delta-kernel in Java", VERSION  # type: ignore[assignment]
    process: subprocess.Popen[str] | None = None
    started_in = ""  # the zone

    def asked(self, path: str, **more: Any) -> list[Row]:
        zone = os.environ.get("TZ", "")
        if zone != self.started_in:
            self.end()
        if self.process is None:
            self.started_in = zone
            java = [
                environment()["JAVA_HOME"] + "/bin/java",
                "-Xmx512m",
                "-cp",
                os.pathsep.join(map(str, kernel_jars())),
                str(SOURCE),
            ]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                java, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"path": path, **more}), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise type(answer["error"], (Exception,), {})(answer["text"])
        return [{name: kernel_value(*cell) for name, cell in row.items()} for row in answer["rows"]]

    def end(self) -> None:
        if self.process is not None:
            self.process.communicate()
            self.process = None

    def table(self, path: str) -> pa.Table:
        return pa.Table.from_pylist(self.rows(path))

    def rows(self, path: str) -> list[Row]:
        return self.asked(path)

    def ids(self, path: str, condition: Condition) -> set[int]:
        texts = [kernel_text(value, condition.type) for value in condition.values]
        found = self.asked(path, column=condition.column, type=condition.type, operator=condition.operator, values=texts)
        return {int(row["ID"]) for row in found}

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        if isinstance(when, int):
            return self.asked(path, version=when)
        return self.asked(path, millis=round(when.timestamp() * 1000))


EPOCH = datetime(1970, 1, 1)


def kernel_value(type_: str, text: str | None) -> Any:
    if text is None:
        return None
    if type_ in ("integer", "long"):
        return int(text)
    if type_.lower().startswith("decimal"):
        return Decimal(text)
    if type_ in ("timestamp", "timestamp_ntz"):
        moment = EPOCH + timedelta(microseconds=int(text))
        return moment.replace(tzinfo=UTC) if type_ == "timestamp" else moment
    if type_ in ("double", "float"):
        return float(text.replace("Infinity", "inf"))
    return {"boolean": lambda: text == "true", "binary": lambda: bytes.fromhex(text)}.get(type_, lambda: text)()


def kernel_text(value: Any, type_: str) -> str:
    if isinstance(value, datetime):
        return str((value.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1))
    if isinstance(value, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
    return value.hex() if type_ == "binary" else plain(value)


class Spark(Reader):
    package = "pyspark"

    def __init__(self, session: Any, name: str = "Spark") -> None:
        self.session, self.name = session, name

    def table(self, path: str) -> pa.Table:
        return self.session.read.format("delta").load(path).toArrow()

    def ids(self, path: str, condition: Condition) -> set[int]:
        return self.all_ids(path, [condition])[0]

    def all_ids(self, path: str, conditions: Sequence[Condition]) -> list[set[int]]:
        """Answer many conditions by one query: each has a scan of its own, whose files are chosen by it alone."""
        each = [
            f"SELECT {n} AS n, CAST(ID AS INT) AS id FROM delta.`{path}` WHERE {condition.sql(self.literal)}"
            for n, condition in enumerate(conditions)
        ]
        found: list[set[int]] = [set() for _ in conditions]
        for n, id_ in self.session.sql(" UNION ALL ".join(each)).collect():
            found[n].add(id_)
        return found

    def as_of(self, path: str, when: datetime | int) -> list[Row]:
        reader = self.session.read.format("delta")
        if isinstance(when, int):
            return rows_of(reader.option("versionAsOf", when).load(path).toArrow())
        text = when.strftime("%Y-%m-%d %H:%M:%S.%f")  # the session's zone is UTC
        return rows_of(reader.option("timestampAsOf", text).load(path).toArrow())

    def feed(self, path: str, first: int, last: int) -> list[Row]:
        reader = self.session.read.format("delta").option("readChangeFeed", "true")
        return rows_of(reader.option("startingVersion", first).option("endingVersion", last).load(path).toArrow())

    def history(self, path: str) -> list[datetime]:
        found = self.session.sql(f"DESCRIBE HISTORY delta.`{path}`").orderBy("version").selectExpr("unix_micros(timestamp)")
        return [datetime.fromtimestamp(micros / 1_000_000, UTC) for (micros,) in found.collect()]

    @contextmanager
    def zone(self, name: str) -> Iterator[None]:
        before = self.session.conf.get("spark.sql.session.timeZone")
        self.session.conf.set("spark.sql.session.timeZone", name)
        try:
            yield
        finally:
            self.session.conf.set("spark.sql.session.timeZone", before)

    def literal(self, value: Any, type_: str) -> str:
        if type_ == "binary":
            return f"X'{value.hex()}'"
        return f"CAST({quoted(plain(value))} AS {type_})"


def delta_extension() -> str:
    """Return the path of DuckDB's extension, which its package contains for one version of DuckDB; empty without it."""
    try:
        contents = files("duckdb-extension-delta") or ()
    except PackageNotFoundError:
        return ""
    return next((str(file.locate()) for file in contents if f"/v{duckdb.__version__}/" in str(file)), "")


def kernel_rust() -> bool:
    try:
        return bool(version(KernelRust.package))
    except PackageNotFoundError:
        return False


def readers_here(*, with_java: bool = False) -> list[Reader]:
    """Return the readers of this environment that need no Spark; that in Java takes minutes."""
    extension = delta_extension()
    found: list[Reader] = [DeltaRsArrow(), DeltaRsSql(), PolarsLazy(), PolarsEager(), Pandas(), PandasArrow()]
    if extension:
        found.append(DuckDb(extension))
    if kernel_rust():
        found.append(KernelRust())
    if with_java and kernel_jars():
        found.append(KernelJava())
    return found
