"""The tables that python-oracledb's tests read, filled by the rules that the tests expect, in statements of our own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import oracledb

from standin.serve import StandIn
from tests.driver import procedures
from tests.driver.suite import PASSWORD, USER

GRANTS = "CREATE SESSION, CREATE TABLE, CREATE VIEW, CREATE TYPE, CREATE PROCEDURE, SELECT ANY DICTIONARY, UNLIMITED TABLESPACE"
TABLES = {
    "TestNumbers": """IntCol NUMBER(9) NOT NULL, LongIntCol NUMBER(16) NOT NULL, NumberCol NUMBER(9,2) NOT NULL,
        FloatCol FLOAT NOT NULL, UnconstrainedCol NUMBER NOT NULL, NullableCol NUMBER(38)""",
    "TestStrings": """IntCol NUMBER(9) NOT NULL, StringCol VARCHAR2(20) NOT NULL, RawCol RAW(30) NOT NULL,
        FixedCharCol CHAR(40) NOT NULL, NullableCol VARCHAR2(50)""",
    "TestUnicodes": """IntCol NUMBER(9) NOT NULL, UnicodeCol NVARCHAR2(20) NOT NULL, FixedUnicodeCol NCHAR(40) NOT NULL,
        NullableCol NVARCHAR2(50)""",
    "TestDates": "IntCol NUMBER(9) NOT NULL, DateCol DATE NOT NULL, NullableCol DATE",
    "TestTimestamps": """IntCol NUMBER(9) NOT NULL, TimestampCol TIMESTAMP NOT NULL, NullableCol TIMESTAMP,
        TimestampPrecisionCol TIMESTAMP(4)""",
    **{
        f"TestTimestamp{kind}s": f"""IntCol NUMBER(9) NOT NULL, Timestamp{kind}Col {full} NOT NULL, NullableCol {full},
        Timestamp{kind}PrecisionCol {full.replace("TIMESTAMP", f"TIMESTAMP({digits})")}"""
        for kind, full, digits in (
            ("LTZ", "TIMESTAMP WITH LOCAL TIME ZONE", 5),
            ("TZ", "TIMESTAMP WITH TIME ZONE", 7),
        )
    },
    "TestIntervals": """IntCol NUMBER(9) NOT NULL, IntervalCol INTERVAL DAY TO SECOND NOT NULL,
        NullableCol INTERVAL DAY TO SECOND, IntervalPrecisionCol INTERVAL DAY(7) TO SECOND,
        IntervalPrecisionScaleCol INTERVAL DAY(8) TO SECOND(9)""",
    "TestIntervalYMs": """IntCol NUMBER(9) NOT NULL, IntervalCol INTERVAL YEAR TO MONTH NOT NULL,
        NullableCol INTERVAL YEAR TO MONTH, IntervalPrecisionCol INTERVAL YEAR(3) TO MONTH""",
    **{
        f"Test{kind}s": f"""IntCol NUMBER(9) NOT NULL, {kind}Col {kind} NOT NULL, ExtraNumCol1 NUMBER(9),
        Extra{kind}Col1 {kind}, ExtraNumCol2 NUMBER(9), Extra{kind}Col2 {kind}"""
        for kind in ("CLOB", "NCLOB", "BLOB")
    },
    "TestLongs": "IntCol NUMBER(9) NOT NULL, LongCol LONG",
    "TestLongRaws": "IntCol NUMBER(9) NOT NULL, LongRawCol LONG RAW",
    "TestTempTable": """IntCol NUMBER(9) NOT NULL, StringCol1 VARCHAR2(400), StringCol2 VARCHAR2(400), NumberCol NUMBER(25,2),
        CONSTRAINT TestTempTable_pk PRIMARY KEY (IntCol)""",
    "TestArrayDML": """IntCol NUMBER(9) NOT NULL, StringCol VARCHAR2(100), IntCol2 NUMBER(3),
        CONSTRAINT TestArrayDML_pk PRIMARY KEY (IntCol)""",
    "TestObjects": "IntCol NUMBER(9) NOT NULL, ObjectCol udt_Object, ArrayCol udt_Array",
    "NestedCollectionTests": "Id NUMBER(9), TableCol udt_TableOfTableOfNumber, VarrayCol udt_VarrayOfTableOfNumber",
    "TestXML": "IntCol NUMBER(9) NOT NULL, XMLCol XMLTYPE NOT NULL",
    "TestTempXML": "IntCol NUMBER(9) NOT NULL, XMLCol XMLTYPE NOT NULL",
    "TestJsonCols": """IntCol NUMBER(9) NOT NULL, JsonVarchar VARCHAR2(4000) NOT NULL CHECK (JsonVarchar IS JSON),
        JsonClob CLOB NOT NULL CHECK (JsonClob IS JSON), JsonBlob BLOB NOT NULL CHECK (JsonBlob IS JSON)""",
    "TestRowids": "IntCol NUMBER(9) NOT NULL, RowidCol ROWID, URowidCol UROWID",
    "TestDataframe": """Id NUMBER(9), FirstName VARCHAR2(100), LastName VARCHAR2(100), City VARCHAR2(100),
        Country VARCHAR2(100), DateOfBirth DATE, Salary NUMBER(9,2), CreditScore NUMBER(3,0), LastUpdated TIMESTAMP,
        DecimalData NUMBER(15,4), IntegerData NUMBER(15), LongIntegerData NUMBER(38), UnconstrainedNumberData NUMBER,
        FloatData BINARY_FLOAT, DoubleData BINARY_DOUBLE, RawData RAW(100), LongData CLOB, LongRawData BLOB""",
    "TestAllTypes": """NumberValue NUMBER, StringValue VARCHAR2(60), FixedCharValue CHAR(10), NStringValue NVARCHAR2(60),
        NFixedCharValue NCHAR(10), RawValue RAW(16), IntValue INTEGER, SmallIntValue SMALLINT, RealValue REAL,
        DecimalValue NUMBER(20,6), DoublePrecisionValue DOUBLE PRECISION, FloatValue FLOAT, BinaryFloatValue BINARY_FLOAT,
        BinaryDoubleValue BINARY_DOUBLE, DateValue DATE, TimestampValue TIMESTAMP, TimestampTZValue TIMESTAMP WITH TIME ZONE,
        TimestampLTZValue TIMESTAMP WITH LOCAL TIME ZONE, IntervalDSValue INTERVAL DAY TO SECOND,
        IntervalYMValue INTERVAL YEAR TO MONTH, CLOBValue CLOB, NCLOBValue NCLOB, BLOBValue BLOB,
        SubObjectValue udt_SubObject, SubObjectArray udt_ObjectArray, InvisibleValue NUMBER INVISIBLE""",
    "TestUniversalRowids": """IntCol NUMBER(9) NOT NULL, StringCol VARCHAR2(250) NOT NULL, DateCol DATE NOT NULL,
        CONSTRAINT TestUniversalRowids_pk PRIMARY KEY (IntCol, StringCol, DateCol)""",
}
CLAUSES = {
    "TestUniversalRowids": " ORGANIZATION INDEX",
    "NestedCollectionTests": """ NESTED TABLE TableCol STORE AS NestedCollectionTests_nt
        (NESTED TABLE COLUMN_VALUE STORE AS NestedCollectionTests_inner)""",
}
TYPES = (
    "TYPE udt_SubObject AS OBJECT (SubNumberValue NUMBER, SubStringValue VARCHAR2(60))",
    "TYPE udt_ObjectArray AS VARRAY(10) OF udt_SubObject",
    """TYPE udt_Object AS OBJECT (NumberValue NUMBER, StringValue VARCHAR2(60), FixedCharValue CHAR(10),
        NStringValue NVARCHAR2(60), NFixedCharValue NCHAR(10), RawValue RAW(16), IntValue INTEGER, SmallIntValue SMALLINT,
        RealValue REAL, DoublePrecisionValue DOUBLE PRECISION, FloatValue FLOAT, BinaryFloatValue BINARY_FLOAT,
        BinaryDoubleValue BINARY_DOUBLE, DateValue DATE, TimestampValue TIMESTAMP, TimestampTZValue TIMESTAMP WITH TIME ZONE,
        TimestampLTZValue TIMESTAMP WITH LOCAL TIME ZONE, CLOBValue CLOB, NCLOBValue NCLOB, BLOBValue BLOB,
        SubObjectValue udt_SubObject, SubObjectArray udt_ObjectArray)""",
    "TYPE udt_Array AS VARRAY(10) OF NUMBER",
    "TYPE udt_UnconstrainedTable AS TABLE OF NUMBER",
    "TYPE udt_VarrayOfNumber AS VARRAY(10) OF NUMBER",
    "TYPE udt_TableOfNumber AS TABLE OF NUMBER",
    "TYPE udt_TableOfVarrayOfNumber AS TABLE OF udt_VarrayOfNumber",
    "TYPE udt_TableOfTableOfNumber AS TABLE OF udt_TableOfNumber",
    "TYPE udt_VarrayOfTableOfNumber AS VARRAY(10) OF udt_TableOfNumber",
    "TYPE udt_ObjectWithXmlType AS OBJECT (NumberValue NUMBER, XmlValue XMLTYPE, StringValue VARCHAR2(60))",
)
PACKAGES = {
    "pkg_TestStringArrays": "TYPE udt_StringList IS TABLE OF VARCHAR2(100) INDEX BY BINARY_INTEGER;",
    "pkg_TestNumberArrays": "TYPE udt_NumberList IS TABLE OF NUMBER INDEX BY BINARY_INTEGER;",
    "pkg_TestDateArrays": "TYPE udt_DateList IS TABLE OF DATE INDEX BY BINARY_INTEGER;",
    "pkg_TestBooleans": "TYPE udt_BooleanList IS TABLE OF BOOLEAN INDEX BY BINARY_INTEGER;",
    "pkg_TestRecords": """TYPE udt_Record IS RECORD (NumberValue NUMBER, StringValue VARCHAR2(30), DateValue DATE,
        TimestampValue TIMESTAMP, BooleanValue BOOLEAN, PlsIntegerValue PLS_INTEGER, BinaryIntegerValue BINARY_INTEGER);
        TYPE udt_RecordArray IS TABLE OF udt_Record INDEX BY BINARY_INTEGER;""",
    "pkg_TestNestedRecords": """TYPE udt_Inner IS RECORD (Attr1 NUMBER, Attr2 NUMBER);
        TYPE udt_Outer IS RECORD (Inner1 udt_Inner, Inner2 udt_Inner);""",
    "pkg_TestBindObject": "TYPE udt_CollectionRowType IS TABLE OF TestTempTable%ROWTYPE INDEX BY BINARY_INTEGER;",
}
_ZONED = "'YYYY-MM-DD HH24:MI:SS TZH:TZM'"
_OBJECT = f"""udt_Object({{number}}, '{{nth}} row', '{{nth}}', 'N {{nth}} Row', 'N {{nth}}',
    UTL_RAW.CAST_TO_RAW('Raw Data {{number}}'), {{numbers}}, {{day}}, {{time}}, TO_TIMESTAMP_TZ('{{zoned}} 00:00', {_ZONED}),
    TO_TIMESTAMP_TZ('{{local}} 00:00', {_ZONED}), '{{word}}hort CLOB value',
    '{{word}}hort NCLOB Value', UTL_RAW.CAST_TO_RAW('{{blob}}'),
    udt_SubObject({{sub}}, 'Sub object {{number}}'), udt_ObjectArray({{array}}))"""
_OBJECT_ROWS = (
    (
        "1",
        _OBJECT.format(
            number=1, nth="First", numbers="2, 5, 12.125, 0.5, 12.5, 25.25, 50.125", day="DATE '2007-03-06'",
            time="TIMESTAMP '2008-09-12 16:40:00'", zoned="2009-10-13 17:50:00", local="2010-11-14 18:55:00", word="S",
            blob="Short BLOB value", sub=11, array="udt_SubObject(5, 'first element'), udt_SubObject(6, 'second element')",
        ),
        "udt_Array(5, 10, NULL, 20)",
    ),
    ("2", "NULL", "udt_Array(3, NULL, 9, 12, 15)"),
    (
        "3",
        _OBJECT.format(
            number=3, nth="Third", numbers="4, 10, 6.5, 0.75, 43.25, 86.5, 192.125", day="DATE '2007-06-21'",
            time="TIMESTAMP '2007-12-13 07:30:45'", zoned="2017-06-21 23:18:45", local="2017-07-21 08:27:13",
            word="Another s", blob="Yet another short BLOB value", sub=13,
            array=", ".join(f"udt_SubObject({10 * n}, 'element #{n}')" for n in range(1, 5)),
        ),
        "NULL",
    ),
)  # fmt: skip
_DAY = datetime(2002, 12, 9)


def prepare(oracle: StandIn) -> None:
    """Create the suite's user with its tables and rows, and what its tests call."""
    procedures.register()
    with oracle.connect("SYSTEM", dsn=oracle.pdb_dsn) as system, system.cursor() as cursor:
        cursor.execute(f"CREATE USER {USER} IDENTIFIED BY {PASSWORD}")
        cursor.execute(f"GRANT {GRANTS} TO {USER}")
        cursor.execute(f"CREATE USER {USER}PROXY IDENTIFIED BY {PASSWORD}")
        cursor.execute(f"GRANT CREATE SESSION TO {USER}PROXY")
        cursor.execute(f"ALTER USER {USER}PROXY GRANT CONNECT THROUGH {USER}")
    with oracle.connect(USER, password=PASSWORD) as connection:
        create_schema(connection)


def create_schema(connection: oracledb.Connection) -> None:
    with connection.cursor() as cursor:
        for text in TYPES:
            cursor.execute(f"CREATE {text}")
        for name, columns in TABLES.items():
            cursor.execute(f"CREATE TABLE {name} ({columns}){CLAUSES.get(name, '')}")
        for name, declared in PACKAGES.items():
            cursor.execute(f"CREATE PACKAGE {name} AS {declared} END;")
        for row in _OBJECT_ROWS:
            cursor.execute(f"INSERT INTO TestObjects VALUES ({', '.join(row)})")
        for name, rows in _rows().items():
            for row in rows:
                if name == "TestTimestamps":  # a datetime is bound as DATE
                    cursor.setinputsizes(None, *[oracledb.DB_TYPE_TIMESTAMP] * 3)
                cursor.execute(f"INSERT INTO {name} VALUES ({', '.join(f':{n}' for n in range(1, len(row) + 1))})", row)
        for kind, day in (("LTZ", datetime(2022, 6, 2)), ("TZ", datetime(2022, 6, 3))):
            moments = [f"TO_TIMESTAMP_TZ(:{n}, 'YYYY-MM-DD HH24:MI:SS.FF TZH:TZM')" for n in (2, 3, 4)]
            cursor.executemany(f"INSERT INTO TestTimestamp{kind}s VALUES (:1, {', '.join(moments)})", _zoned_rows(day))
    connection.commit()


def _rows() -> dict[str, list[list[Any]]]:
    """Return ten rows of each table that has any; every second value of a nullable column is NULL."""
    return {
        "TestNumbers": [[i, 38**i, i + i * 0.25, i + i * 0.75, i**3 + i * 0.5, _odd(i, 143**i)] for i in _numbers()],
        "TestStrings": [
            [i, f"String {i}", f"Raw {i}".encode(), f"Fixed Char {i}", _odd(i, f"Nullable {i}")] for i in _numbers()
        ],
        "TestUnicodes": [[i, f"Unicode \u3042 {i}", f"Fixed Unicode {i}", _odd(i, f"Nullable {i}")] for i in _numbers()],
        "TestDates": [[i, _day(i + i * 0.1), _odd(i, _day(i + i + i * 0.15))] for i in _numbers()],
        "TestTimestamps": [
            [i, _moment(i, i * 2, i * 50), _odd(i, _moment(i + 1, i * 3, i * 125)), datetime(2009, 12, 14)] for i in _numbers()
        ],
        "TestXML": [[i, f"<sample>{i}</sample>"] for i in _numbers()],
        "TestJsonCols": [[1, "[1, 2, 3]", "[4, 5, 6]", b"[7, 8, 9]"]],
        "TestIntervals": [
            [
                i,
                timedelta(days=i, hours=i, minutes=i * 2, seconds=i * 3),
                _odd(i, timedelta(days=i + 5, hours=i + 2, minutes=i * 2 + 5, seconds=i * 3 + 5)),
                timedelta(days=8, hours=5, minutes=15),
                timedelta(days=10, hours=12, minutes=15, seconds=15),
            ]
            for i in _numbers()
        ],
        "TestIntervalYMs": [
            [i, _months(i - 5, i), _odd(i, oracledb.IntervalYM(i + 5, i + 2)), oracledb.IntervalYM(3, 8)] for i in _numbers()
        ],
    }


def _zoned_rows(day: datetime) -> list[list[Any]]:
    """Return rows of texts whose time zones are whole or half hours, ahead of UTC in odd rows and behind it in even ones."""
    rows = []
    for i in _numbers():
        zone = f"{'+' if i % 2 else '-'}{i:02d}:{'30' if i % 4 else '00'}"
        second = f"{_moment(i + 1, i * 3, i * 125, day)} +00:00"
        rows.append([i, f"{_moment(i, i * 2, i * 50, day)} {zone}", _odd(i, second), "2009-12-14 00:00:00 +00:00"])
    return rows


def _numbers() -> Iterator[int]:
    return iter(range(1, 11))


def _odd(number: int, value: Any) -> Any:
    return value if number % 2 else None


def _day(days: float) -> datetime:
    return _DAY + timedelta(seconds=round(days * 86_400))


def _moment(days: int, seconds: int, fraction: int, since: datetime = _DAY) -> datetime:
    """Return the day with seconds and the digits of a fraction, as `days 00:00:seconds.fraction` means them."""
    return since + timedelta(days=days, seconds=seconds, microseconds=int(str(fraction).ljust(6, "0")))


def _months(years: int, months: int) -> oracledb.IntervalYM:
    """Return the interval `years-months`, whose sign is that of the years."""
    return oracledb.IntervalYM(years, -months if years < 0 else months)
