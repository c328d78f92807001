"""Results: types, describe, fetch sizes and data frames, compared cell by cell with the database's values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import oracledb
import pyarrow as pa
import pytest

from standin.interface import ColumnInfo, OraError
from standin.tests.served.wire_fake import PASSWORD, SERVICE, USER, FakeInstance, batch, number, rows, text
from standin.wire.cells import FEW_ROWS

SQL = "select * from t"
SINGLE = "select * from single"


def shows(instance: FakeInstance, columns: list[ColumnInfo], *arrays: pa.Array) -> None:
    instance.answers[SQL] = lambda *_: rows(columns, batch(*arrays))


WHEN = datetime(2026, 2, 3, 4, 5, 6, 789012)
OLD = datetime(1, 1, 1)
LAST = datetime(9999, 12, 31, 23, 59, 59)
NUMBERS = [0, 1, -1, 99, 100, -101, 10**6, 10**18 - 1, 2**63 - 1, -(2**63), None]
DECIMALS = [Decimal(x) for x in ("0", "0.01", "-123.45", "99999999.99", "-0.10", "100")] + [None]
FLOATS = [1.5, -2.25, 0.0, 1e300, None]
WIDE = [str(10**37 + 7), "-0.00000000000000000000123", "1.5", "12E+3", None]
TEXTS = ["", "x", "é" * 126, "y" * 253, "z" * 32_767, "w" * 70_000, None]

COLUMNS = {
    "NUMBER as int64": (number("N", 19, 0), pa.array(NUMBERS, pa.int64()), NUMBERS),
    "NUMBER as int8": (number("N", 3, 0), pa.array([1, -100, None], pa.int8()), [1, -100, None]),
    "NUMBER as decimal": (number("N", 10, 2), pa.array(DECIMALS, pa.decimal128(10, 2)), DECIMALS),
    "NUMBER as decimal of odd scale": (
        number("N", 19, 3),
        pa.array([Decimal("9223372036854775.807"), Decimal("-0.001"), None], pa.decimal128(19, 3)),
        [Decimal("9223372036854775.807"), Decimal("-0.001"), None],
    ),
    "NUMBER as wide decimal": (
        number("N", 38, 4),
        pa.array([Decimal("1234567890123456789012345678901234.5678"), Decimal("-1.5"), None], pa.decimal128(38, 4)),
        [Decimal("1234567890123456789012345678901234.5678"), Decimal("-1.5"), None],
    ),
    "NUMBER as text of whole numbers": (number(), pa.array(["18", "-5", None]), [18, -5, None]),
    "NUMBER as text": (number(), pa.array(WIDE), [None if x is None else Decimal(x) for x in WIDE]),
    "VARCHAR2": (text(), pa.array(TEXTS), [x or None for x in TEXTS]),
    "VARCHAR2 as large text": (text(), pa.array(TEXTS, pa.large_string()), [x or None for x in TEXTS]),
    "VARCHAR2 as dictionary": (text(), pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
    "CHAR": (ColumnInfo("C", "CHAR", 3, 3), pa.array(["ab ", None]), ["ab ", None]),
    "NVARCHAR2": (ColumnInfo("V", "NVARCHAR2", 8000, 4000), pa.array(["żółć" * 100, None]), ["żółć" * 100, None]),
    "ROWID": (ColumnInfo("R", "ROWID", 18), pa.array(["AAAR3sAAEAAAACXAAA"]), ["AAAR3sAAEAAAACXAAA"]),
    "RAW": (ColumnInfo("R", "RAW", 2000), pa.array([b"\0\xff" * 500, b"\0", None]), [b"\0\xff" * 500, b"\0", None]),
    "LONG": (ColumnInfo("L", "LONG", 32760), pa.array(["a" * 40_000, None, "b"]), ["a" * 40_000, None, "b"]),
    "DATE": (
        ColumnInfo("D", "DATE", 7),
        pa.array([OLD, LAST, WHEN.replace(microsecond=0), None], pa.timestamp("s")),
        [OLD, LAST, WHEN.replace(microsecond=0), None],
    ),
    "TIMESTAMP": (
        ColumnInfo("T", "TIMESTAMP", 11, 0, 0, 6),
        pa.array([OLD, WHEN, datetime(1969, 12, 31, 23, 59, 59, 999_999), None], pa.timestamp("us")),
        [OLD, WHEN, datetime(1969, 12, 31, 23, 59, 59, 999_999), None],
    ),
    "TIMESTAMP of nanoseconds": (
        ColumnInfo("T", "TIMESTAMP", 11, 0, 0, 9),
        pa.array([1_700_000_000_123_456_789, None]).cast(pa.timestamp("ns")),
        [datetime(2023, 11, 14, 22, 13, 20, 123_456), None],
    ),
    "TIMESTAMP WITH TIME ZONE": (
        ColumnInfo("T", "TIMESTAMP WITH TIME ZONE", 13, 0, 0, 6),
        pa.array([WHEN.replace(tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        [WHEN.replace(tzinfo=UTC), None],
    ),
    "BINARY_DOUBLE": (ColumnInfo("F", "BINARY_DOUBLE", 8), pa.array(FLOATS), FLOATS),
    "BINARY_FLOAT": (ColumnInfo("F", "BINARY_FLOAT", 4), pa.array([1.5, -2.25, None], pa.float32()), [1.5, -2.25, None]),
    "BOOLEAN": (ColumnInfo("B", "BOOLEAN", 1), pa.array([True, False, None]), [True, False, None]),
    "INTERVAL DAY TO SECOND": (
        ColumnInfo("I", "INTERVAL DAY TO SECOND", 11),
        pa.array([timedelta(days=-1, microseconds=5), None]),
        [timedelta(days=-1, microseconds=5), None],
    ),
    "only NULLs": (text(), pa.nulls(3), [None, None, None]),
    "only NULL LONGs": (ColumnInfo("L", "LONG", 32760), pa.nulls(3), [None, None, None]),
}


@pytest.fixture(scope="module")
def connection(listener):
    """Yield one for all tests: they ask the same texts for other columns, so no statement is cached."""
    with oracledb.connect(user=USER, password=PASSWORD, dsn=listener.dsn(SERVICE), stmtcachesize=0) as connection:
        yield connection


@pytest.mark.parametrize("times", [1, FEW_ROWS], ids=["few rows", "many rows"])
@pytest.mark.parametrize(("column", "array", "expected"), COLUMNS.values(), ids=COLUMNS)
def test_a_column_arrives_unchanged(connection, instance, column, array, expected, times):
    array, expected = pa.concat_arrays([array] * times), expected * times
    shows(instance, [column, number("AFTER")], array, pa.array(range(len(array))))
    cursor = connection.cursor()
    if column.type == "NUMBER":
        cursor.outputtypehandler = lambda c, m: c.var(Decimal, arraysize=c.arraysize) if m.name == "N" else None
    got = cursor.execute(SQL).fetchall()

    if column.type == "TIMESTAMP WITH TIME ZONE":  # the driver drops the zone
        got = [(value and value.replace(tzinfo=UTC), after) for value, after in got]
    assert [value for value, _ in got] == expected
    assert [after for _, after in got] == list(range(len(array)))


# Two values of each type, repeated in runs of 1 to 4 rows; a NULL repeats too.
REPEATED = {
    kind: (column, array)
    for kind, (column, array, _) in COLUMNS.items()
    if kind not in ("only NULLs", "only NULL LONGs", "LONG", "NUMBER as text of whole numbers")
}


@pytest.mark.parametrize("decimals", [False, True], ids=["plainly", "with decimals"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(("column", "array"), REPEATED.values(), ids=REPEATED)
def test_repeated_values_arrive_as_tuples_and_as_arrow(connection, instance, monkeypatch, column, array, size, decimals):
    monkeypatch.setattr(oracledb.defaults, "fetch_decimals", decimals)
    picks = [i % len(array) for i in range(40) for _ in range(i % 4 + 1)]
    taken = (
        array.take(pa.array(picks))
        if not pa.types.is_dictionary(array.type)
        else array.dictionary_decode().take(pa.array(picks))
    )
    constant, counter = pa.array(["same"] * len(picks)), pa.array(range(len(picks)))
    columns = [text("SAME"), column, number("COUNTER"), text("SAME2")]
    cuts = [(0, 1), (1, 2), (3, len(picks))]
    instance.answers[SQL] = lambda *_: rows(
        columns, *(batch(constant, taken, counter, constant).slice(start, count) for start, count in cuts)
    )
    instance.answers[SINGLE] = lambda *_: rows([column], batch(array))
    (values,) = zip(*connection.cursor().execute(SINGLE).fetchall(), strict=True)
    cursor = connection.cursor()
    cursor.arraysize = cursor.prefetchrows = size
    frames = list(connection.fetch_df_batches(SQL, size=size))

    expected = [("same", values[pick], i, "same") for i, pick in enumerate(picks)]
    assert cursor.execute(SQL).fetchall() == expected
    (single,) = connection.fetch_df_all(SINGLE).column_arrays()
    table = pa.concat_tables(pa.table(frame) for frame in frames)
    assert table["COUNTER"].to_pylist() == list(range(len(picks)))
    assert table["SAME"].to_pylist() == table["SAME2"].to_pylist() == constant.to_pylist()
    assert table.column(1).to_pylist() == [pa.array(single)[pick].as_py() for pick in picks]


def test_a_slice_of_an_arrow_batch_is_sent_without_its_neighbours(cursor, instance):
    whole = batch(
        pa.array(range(10)), pa.array([Decimal(i) / 4 for i in range(10)], pa.decimal128(8, 2)), pa.array(list("abcdefghij"))
    )
    instance.answers[SQL] = lambda *_: rows([number("A"), number("B", 8, 2), text("C")], whole.slice(3, 2), whole.slice(9))

    assert cursor.execute(SQL).fetchall() == [(3, 0.75, "d"), (4, 1, "e"), (9, 2.25, "j")]


def test_describe_returns_names_types_precision_and_sizes(cursor, instance):
    columns = [
        number("ID", 10, 0),
        number("AMOUNT", 12, 2),
        number("ANY"),
        text("Näme", 30),
        ColumnInfo("AT", "TIMESTAMP", 11, 0, 0, 3),
        ColumnInfo("KEY", "RAW", 16, nullable=False),
    ]
    instance.answers[SQL] = lambda *_: rows(columns)
    cursor.execute(SQL)

    facts = [(d[0], d[1].name, d[2], d[4], d[5], d[6]) for d in cursor.description]
    assert facts == [
        ("ID", "DB_TYPE_NUMBER", 11, 10, 0, True),
        ("AMOUNT", "DB_TYPE_NUMBER", 16, 12, 2, True),
        ("ANY", "DB_TYPE_NUMBER", 127, 0, -127, True),
        ("Näme", "DB_TYPE_VARCHAR", 30, None, None, True),
        ("AT", "DB_TYPE_TIMESTAMP", 23, 0, 3, True),
        ("KEY", "DB_TYPE_RAW", 16, None, None, False),
    ]
    assert cursor.fetchall() == []


SIZES = [(1, 0), (100, 2), (7, 7), (1000, 5000), (4999, 1), (5000, 0), (10_000, 10_000)]


@pytest.mark.parametrize(("arraysize", "prefetch"), SIZES)
def test_every_row_arrives_once_with_any_fetch_size(cursor, instance, arraysize, prefetch):
    total = 5000 if arraysize > 1 else 200
    batches = [batch(pa.array(range(i, i + 50)), pa.array([f"row {n}" for n in range(i, i + 50)])) for i in range(0, total, 50)]
    instance.answers[SQL] = lambda *_: rows([number(), text()], batches[0].slice(0, 0), *batches)
    cursor.arraysize, cursor.prefetchrows = arraysize, prefetch
    for _ in range(2):
        assert cursor.execute(SQL).fetchall() == [(n, f"row {n}") for n in range(total)]
        assert cursor.rowcount == total


def test_a_result_can_be_closed_before_its_end(cursor, instance):
    shows(instance, [number()], pa.array(range(10_000)))
    for _ in range(3):
        cursor.execute(SQL)
        assert cursor.fetchmany(150) == [(n,) for n in range(150)]


def test_two_results_are_read_alternately(connection, instance):
    for name in ("a", "b"):
        instance.answers[f"select {name}"] = lambda *_, name=name: rows(
            [text()], batch(pa.array([f"{name}{i}" for i in range(900)]))
        )
    one, two = connection.cursor(), connection.cursor()
    one.execute("select a")
    two.execute("select b")
    pairs = [(one.fetchone()[0], two.fetchone()[0]) for _ in range(900)]

    assert pairs == [(f"a{i}", f"b{i}") for i in range(900)]


def test_an_error_during_a_result_fails_the_fetch_that_needs_the_rows(cursor, instance):
    def failing():
        yield batch(pa.array(range(300)))
        raise OraError(1555, "snapshot too old")

    def answer(*_):
        result = rows([number()])
        result.batches = failing()
        return result

    instance.answers[SQL] = answer
    cursor.arraysize = cursor.prefetchrows = 100
    cursor.execute(SQL)
    first = cursor.fetchmany(200)
    with pytest.raises(oracledb.DatabaseError, match="ORA-01555"):
        cursor.fetchall()

    assert first == [(n,) for n in range(200)]
    assert cursor.execute("select 1 from dual").fetchone() == (1,)


def test_a_table_with_a_new_column_is_described_again(cursor, instance):
    shows(instance, [number("A")], pa.array([1]))
    before = cursor.execute(SQL).fetchall()
    shows(instance, [number("A"), text("B")], pa.array([1]), pa.array(["new"]))
    after = cursor.execute(SQL).fetchall()

    assert (before, after) == ([(1,)], [(1, "new")])
    assert [d[0] for d in cursor.description] == ["A", "B"]


def test_an_arrow_column_of_a_wrong_type_is_named_in_the_error(cursor, instance):
    shows(instance, [text("T")], pa.array([1.5]))
    with pytest.raises(oracledb.DatabaseError, match=r"ORA-00604.*c0"):
        cursor.execute(SQL)


DOCUMENTS = ["short é", None, "long é" * 20_000, ""]
BINARIES = [b"\0\1", None, b"\xff" * 50_000, b""]


@pytest.fixture
def lobs(instance):
    columns = [number("ID"), ColumnInfo("DOC", "CLOB", 4000), ColumnInfo("BIN", "BLOB", 4000)]
    shows(instance, columns, pa.array(range(4)), pa.array(DOCUMENTS), pa.array(BINARIES))


def test_lob_columns_are_read_inline(cursor, lobs, monkeypatch):
    monkeypatch.setattr(oracledb.defaults, "fetch_lobs", False)
    expected = [(i, DOCUMENTS[i] or None, BINARIES[i] or None) for i in range(4)]
    for _ in range(3):
        assert cursor.execute(SQL).fetchall() == expected


def test_lob_columns_are_read_through_locators(cursor, lobs):
    for _ in range(2):
        got = cursor.execute(SQL).fetchall()

        assert [doc and (doc.size(), doc.read() or "") for _, doc, _ in got] == [
            doc if doc is None else (len(doc), doc) for doc in DOCUMENTS
        ]
        assert [(binary and binary.read()) or b"" for _, _, binary in got] == [binary or b"" for binary in BINARIES]
        assert got[2][1].read(3, 5) == DOCUMENTS[2][2:7]


ROWS = 100_000


@pytest.fixture(scope="module")
def wide_table() -> pa.RecordBatch:
    count = range(ROWS)
    return pa.RecordBatch.from_pydict(
        {
            "SCN": pa.array([5_000_000_000 + i // 3 if i % 11 else None for i in count], pa.int64()),
            "AMOUNT": pa.array([Decimal(i * 7 - 1000) / 4 for i in count], pa.decimal128(12, 2)),
            "ANY": pa.array([str(i % 500 - 250) + ".5" for i in count]),
            "XID": pa.array([(i // 10).to_bytes(8, "big") for i in count], pa.binary()),
            "SQL_REDO": pa.array([f"insert into t values ({i})".ljust(200 + i % 120) if i % 13 else None for i in count]),
            "AT": pa.array([datetime(2026, 1, 1) + timedelta(milliseconds=i) for i in count], pa.timestamp("us")),
            "DAY": pa.array([datetime(2026, 1, 1) + timedelta(seconds=i) for i in count], pa.timestamp("s")),
        }
    )


WIDE_COLUMNS = [
    number("SCN", 18, 0),
    number("AMOUNT", 12, 2),
    number("ANY", 38, 1),
    ColumnInfo("XID", "RAW", 8),
    text("SQL_REDO"),
    ColumnInfo("AT", "TIMESTAMP", 11, 0, 0, 6),
    ColumnInfo("DAY", "DATE", 7),
]


FRAME_TYPES = {
    "plainly": (False, [pa.int64(), pa.float64(), pa.float64()]),
    "with decimals": (True, [pa.decimal128(18, 0), pa.decimal128(12, 2), pa.decimal128(38, 1)]),
}


@pytest.mark.parametrize(("decimals", "numbers"), FRAME_TYPES.values(), ids=FRAME_TYPES)
def test_data_frames_of_a_hundred_thousand_rows_equal_the_source(
    connection, instance, wide_table, monkeypatch, decimals, numbers
):
    monkeypatch.setattr(oracledb.defaults, "fetch_decimals", decimals)
    instance.answers[SQL] = lambda *_: rows(WIDE_COLUMNS, *(wide_table.slice(i, 30_000) for i in range(0, ROWS, 30_000)))
    got = pa.concat_tables(pa.table(frame) for frame in connection.fetch_df_batches(SQL, size=40_000))

    kinds = [*numbers, pa.large_binary(), pa.large_string(), pa.timestamp("us"), pa.timestamp("s")]
    assert got.schema.types == kinds
    assert got.cast(wide_table.schema).combine_chunks().equals(pa.table(wide_table))
