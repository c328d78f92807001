"""Which values become NULL by declaration, and which stop their table all the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

from redolake.decode.changes import decode_changes
from redolake.decode.datatypes import family_of, target_type
from redolake.values.mapping import Computed, RowFilter, TableMapping
from redolake.values.null_rule import else_null, is_else_null, nulled_text, own_rule, own_rules, with_nulls
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion

NUMBER, DATE = OracleType("NUMBER"), OracleType("DATE")
COLUMNS = (
    Column(1, "ID", OracleType("NUMBER", precision=9, scale=0), 1),
    Column(2, "N", NUMBER, 2),
    Column(3, "D", DATE, 3),
    Column(4, "S", OracleType("VARCHAR2", length=9), 4),
)
VERSION = TableVersion(TableId("S", "T"), Scn(1), 7, 8, COLUMNS, (1,), 5)


@pytest.mark.parametrize("rule", [None, 2, "integer", "decimal(10,2)", "truncate"])
def test_a_rule_is_the_same_after_it_was_made_to_give_null(rule: object) -> None:
    assert is_else_null(else_null(rule))  # type: ignore[arg-type]
    assert not is_else_null(rule)
    assert own_rule(else_null(rule)) == rule  # type: ignore[arg-type]
    assert own_rules({1: else_null(rule), 2: else_null(None)}) == ({} if rule is None else {1: rule})  # type: ignore[arg-type]


def test_only_columns_whose_values_may_not_fit_have_it() -> None:
    assert with_nulls({2: 2}, (VERSION,)) == {2: "2 else null", 3: " else null"}
    assert with_nulls({2: "string", 3: "string"}, (VERSION,)) == {2: "string", 3: "string"}


def test_no_column_of_a_key_or_that_something_is_made_of_has_it() -> None:
    keyed = TableVersion(TableId("S", "T"), Scn(1), 7, 8, COLUMNS, (2,), 5)
    computed = TableMapping(computed=(Computed(9, "X", "int", needs=(2,)),), where=RowFilter("", (3,), ""))
    mapped = TableVersion(TableId("S", "T"), Scn(1), 7, 8, COLUMNS, (1,), 5, mapping=computed)

    assert set(with_nulls({}, (keyed,))) == {3}
    assert with_nulls({}, (mapped,)) == {}
    assert set(with_nulls({}, (VERSION, keyed))) == {3}  # as of either version


def decoded(sql: str, code: int, types: dict[int, object]) -> dict[str, object]:
    batch = pa.RecordBatch.from_pydict(
        {"sql_redo": [sql], "status": [0], "info": [""], "operation_code": [code], "rollback": [0]},
        pa.schema(
            [("sql_redo", pa.string()), ("status", pa.int32()), ("info", pa.string()), ("operation_code", pa.int32()),
             ("rollback", pa.int32())]
        ),
    )  # fmt: skip
    row: dict[str, object] = decode_changes(batch, VERSION, types).to_pylist()[0]  # type: ignore[arg-type]
    return row


LENIENT: dict[int, object] = {2: "2 else null", 3: " else null"}
INSERT = 'insert into "S"."T"("ID","N","D","S") values ({id},{n},TO_DATE(\'{d}\', \'SYYYY-MM-DD HH24:MI:SS\'),\'x\');'


def test_a_value_that_does_not_fit_is_null_and_counted_and_another_one_is_not() -> None:
    row = decoded(INSERT.format(id=1, n="1.234", d="-4712-01-01 00:00:00"), 1, LENIENT)

    assert (row["error"], row["n2"], row["n3"], row["nulled"]) == (None, None, None, 2)
    fitting = decoded(INSERT.format(id=1, n="1.23", d=" 2026-01-01 00:00:00"), 1, LENIENT)
    assert (fitting["error"], str(fitting["n2"]), fitting["nulled"]) == (None, "1.23", 0)


@pytest.mark.parametrize(
    ("id_", "n", "d", "why"),
    [
        ("1", "'twelve'", " 2026-01-01 00:00:00", "is not a number"),
        ("1", "1", "31.01.2026", "is not in the format that mining sets"),
        ("12345678901", "1", " 2026-01-01 00:00:00", "column ID: the value has more digits"),
    ],
    ids=["no number", "another format of dates", "of the key"],
)
def test_a_value_that_is_not_understood_or_of_the_key_is_an_error_as_ever(id_: str, n: str, d: str, why: str) -> None:
    row = decoded(INSERT.format(id=id_, n=n, d=d), 1, LENIENT)

    assert why in str(row["error"])


def test_a_value_that_an_update_keeps_is_null_and_not_counted_again() -> None:
    where = '"ID" = 1 and "N" = 1.234 and "D" IS NULL and "S" = \'x\''
    row = decoded(f'update "S"."T" set "S" = \'y\' where {where} and ROWID = \'AAAR3sAAEAAAACXAAB\';', 3, LENIENT)

    assert (row["error"], row["n2"], row["nulled"]) == (None, None, 0)


REASONS = {
    ("NUMBER", 2): ["1.234", "1" * 40], ("NUMBER", "integer"): ["1.5", str(2**63)], ("NUMBER", "double"): ["1." + "1" * 30],
    ("DATE", None): ["-0001-01-01 00:00:00", " 1500-02-29 00:00:00", "0000-00-00 00:00:00"],
    ("TIMESTAMP", None): [" 2026-01-01 00:00:00.123456789"],
    ("TIMESTAMP WITH TIME ZONE", None): [" 9999-12-31 23:00:00 -05:00", " 2026-01-01 00:00:00.123456789 +00:00"],
    ("INTERVAL DAY TO SECOND", "microseconds"): ["+1 00:00:00.123456789", "+999999999 00:00:00"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "rule"), REASONS)
def test_each_reason_for_which_a_type_of_the_lake_is_too_narrow_is_known_as_such(name: str, rule: object) -> None:
    from redolake.decode.datatypes import Unfit

    type_ = OracleType(name)
    texts = pa.array([*REASONS[name, rule], "no value of that type"], pa.string())
    cast = family_of(type_).cast(texts, target_type(type_, rule), rule)  # type: ignore[arg-type]

    assert [isinstance(cast.refused[i], Unfit) for i in range(len(texts))] == [*(True for _ in REASONS[name, rule]), False]
    assert cast.values.null_count == len(texts)


def test_people_read_how_many_values_of_which_columns() -> None:
    assert nulled_text({"N": 2, "D": 1}) == "3 values NULL by rule (D 1, N 2)"
    assert nulled_text({}) == ""
