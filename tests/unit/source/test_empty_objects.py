"""An empty large object is a value, although the driver returns None for it."""

from __future__ import annotations

import pyarrow as pa

from redolake.source.empty_objects import flags_of, with_empty_objects
from redolake.values.dictionary_table import DictionaryColumn
from redolake.values.table import OracleType


def column(name: str, kind: str, number: int) -> DictionaryColumn:
    return DictionaryColumn(name, OracleType(kind), number, number, True)


COLUMNS = (column("ID", "NUMBER", 1), column("BODY", "CLOB", 2), column("SCAN", "BLOB", 3), column("NOTE", "NCLOB", 4))


def test_a_query_asks_of_each_large_object_whether_it_is_empty() -> None:
    assert [flag.item for flag in flags_of(COLUMNS)] == [
        'CASE WHEN LENGTH("BODY") = 0 THEN 1 END AS "_empty_1"',
        'CASE WHEN DBMS_LOB.GETLENGTH("SCAN") = 0 THEN 1 END AS "_empty_2"',
        'CASE WHEN LENGTH("NOTE") = 0 THEN 1 END AS "_empty_3"',
    ]


def test_a_flag_has_the_name_of_no_column_of_the_table() -> None:
    columns = (column("_empty_1", "CLOB", 1), column("_empty_0_", "CLOB", 2))
    names = {flag.name for flag in flags_of(columns)}

    assert len(names) == 2
    assert names.isdisjoint(one.name for one in columns)


def test_only_flagged_values_are_empty_and_the_flags_are_gone() -> None:
    rows = pa.table(
        {
            "ID": [1, 2, 3],
            "BODY": pa.array([None, None, "x"], pa.large_string()),
            "SCAN": pa.array([None, None, b"x"], pa.large_binary()),
            "_empty_1": [1.0, None, None],
            "_empty_2": [1.0, None, None],
        }
    )
    (found,) = with_empty_objects([rows], flags_of(COLUMNS[:3]))

    assert pa.table(found).to_pylist() == [
        {"ID": 1, "BODY": "", "SCAN": b""},
        {"ID": 2, "BODY": None, "SCAN": None},
        {"ID": 3, "BODY": "x", "SCAN": b"x"},
    ]


def test_a_query_without_large_objects_is_passed_on() -> None:
    answer = object()

    assert list(with_empty_objects([answer], flags_of(COLUMNS[:1]))) == [answer]
