"""decode_changes: redo rows of a table version become typed values before and after."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.decode.changes import changes_schema, decode_changes
from redolake.errors import SchemaConflict
from redolake.values.table import Column, IgnoredColumn, OracleType
from tests.unit.decode.redo_text import (
    TYPES,
    conditions,
    delete,
    insert,
    internal,
    literal,
    redo_batch,
    table,
    timestamp,
    update,
    version,
)

ORDERS = table(ID="NUMBER(10,2)", NAME="VARCHAR2", DAY="DATE")  # ids 11, 12, 13


def decode(*rows, table=ORDERS, types=None, names=None, **more):
    batch = redo_batch(*rows, **more)
    made = decode_changes(batch, table, types or {}, names=names, show_row_data=True)
    assert made.schema == changes_schema(batch.schema, table, types or {})
    made.validate(full=True)
    return made.to_pylist()


def images(row, ids=(11, 12, 13)):
    return [row[f"o{i}"] for i in ids], [row[f"n{i}"] for i in ids]


NONE = [None, None, None]
DAY = datetime(2026, 2, 28, 13, 45, 59)
DAY_TEXT = "TO_DATE('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS')"


def test_an_insert_has_only_values_after():
    (row,) = decode((1, f'insert into "S"."T"("ID","NAME","DAY") values (\'1\',\'O\'\'Reilly\',{DAY_TEXT});'))

    assert images(row) == (NONE, [Decimal(1), "O'Reilly", DAY])
    assert (row["error"], row["missing"], row["assigned"], row["unknown"]) == (None, None, None, None)


def test_only_the_columns_that_are_asked_for_have_values_before():
    where = f'"ID" = \'1\' and "NAME" = \'x\' and "DAY" = {DAY_TEXT}'
    batch = redo_batch((3, f'update "S"."T" set "NAME" = \'\' where {where};'), (2, f'delete from "S"."T" where {where};'))
    whole = decode_changes(batch, ORDERS, {})
    lean = decode_changes(batch, ORDERS, {}, before={11})

    assert lean.schema == changes_schema(batch.schema, ORDERS, {}, before={11})
    assert set(whole.schema.names) - set(lean.schema.names) == {"o12", "o13"}
    assert lean.equals(whole.select(lean.schema.names))


def test_a_delete_has_only_values_before():
    (row,) = decode((2, f'delete from "S"."T" where "ID" = \'-.5\' and "NAME" IS NULL and "DAY" = {DAY_TEXT};'))

    assert images(row) == ([Decimal("-0.5"), None, DAY], NONE)
    assert row["missing"] is None


NAMES = [("S", "T"), ("S", "OTHER"), (None, None), ("S", "T")]


def test_a_statement_of_another_table_than_the_row_names_is_an_error():
    text = 'delete from "S"."T" where "ID" = \'1\';'
    more = {"seg_owner": [owner for owner, _ in NAMES], "table_name": [name for _, name in NAMES]}

    rows = decode((2, text), (2, text), (2, text), (2, text.replace("S", "X", 1)), **more)

    assert [row["error"] for row in rows] == [
        None,
        "the statement is of S.T, and the redo row of S.OTHER",
        None,
        "the statement is of X.T, and the redo row of S.T",
    ]


def test_an_update_keeps_the_columns_that_set_does_not_contain():
    (row,) = decode((3, f'update "S"."T" set "NAME" = \'b\' where "ID" = \'1\' and "NAME" = \'a\' and "DAY" = {DAY_TEXT}'))

    assert images(row) == ([Decimal(1), "a", DAY], [Decimal(1), "b", DAY])
    assert (row["assigned"], row["missing"]) == ([12], None)


def test_an_update_to_null_is_not_an_absent_column():
    (row,) = decode((3, 'update "S"."T" set "NAME" = NULL, "DAY" = NULL where "ID" = \'1\' and "NAME" = \'a\''))

    assert images(row) == ([Decimal(1), "a", None], [Decimal(1), None, None])
    assert (row["assigned"], row["missing"]) == ([12, 13], [13])


def test_an_absent_column_is_missing_and_not_null():
    rows = decode(
        (1, 'insert into "S"."T"("ID") values (\'1\')'),
        (2, 'delete from "S"."T" where "DAY" IS NULL'),
        (3, 'update "S"."T" set "ID" = \'2\' where ROWID = \'AAA\''),
    )

    assert [row["missing"] for row in rows] == [[12, 13], [11, 12], [11, 12, 13]]


def test_an_insert_may_lack_trailing_columns_only():
    """The first half of a chained row would look like that."""
    whole, half = decode(
        (1, 'insert into "S"."T"("ID","NAME") values (\'1\',\'x\')'),
        (1, 'insert into "S"."T"("ID","DAY") values (\'1\',NULL)'),
    )

    assert (whole["error"], whole["missing"]) == (None, [13])
    assert half["error"] == "the INSERT lacks column NAME, and contains later ones"


def test_an_empty_text_is_null_as_in_oracle():
    (row,) = decode((1, 'insert into "S"."T"("ID","NAME","DAY") values (\'1\',\'\',NULL)'))

    assert images(row) == (NONE, [Decimal(1), None, None])


def test_a_name_that_the_version_does_not_have_is_reported():
    rows = decode(
        (2, 'delete from "S"."T" where "ID" = \'1\' and "NAME" IS NULL and "DAY" IS NULL'),
        (3, 'update "S"."T" set "X" = \'1\', "Y" = EMPTY_CLOB() where "X" IS NULL and "ID" = \'1\''),
    )

    assert [row["unknown"] for row in rows] == [None, ["X", "Y"]]
    assert [row["error"] for row in rows] == [None, None]


def test_names_of_a_later_dictionary_are_mapped_to_columns():
    (row,) = decode(
        (1, 'insert into "S"."T"("ID","TITLE") values (\'1\',\'x\')'), names={"ID": 11, "TITLE": 12, "DAY": 13, "NEW": 14}
    )

    assert images(row) == (NONE, [Decimal(1), "x", None])
    assert (row["unknown"], row["missing"]) == (None, [13])


VALUE_ERRORS = {
    "digits": ("ID", "'123456789'", "column ID: the value has more digits than decimal(10,2)"),
    "decimals": ("ID", "'1.234'", "column ID: the value has more decimals than decimal(10,2)"),
    "year": ("DAY", "TO_DATE('0000-00-00 00:00:00', 'YYYY-MM-DD HH24:MI:SS')", "column DAY: the value is not a point of time"),
    "date as text": ("DAY", "'2026-02-28 13:45:59'", "column DAY: DATE(7) written as TEXT"),
    "date as timestamp": ("DAY", "TO_TIMESTAMP('2026-02-28 13:45:59')", "column DAY: DATE(7) written as TIMESTAMP"),
    "bytes for text": ("NAME", "HEXTORAW('61')", "column NAME: VARCHAR2(4000) written as HEX"),
    "unsupported": ("NAME", "Unsupported Type", "column NAME: VARCHAR2(4000) written as UNSUPPORTED"),
    "lob": ("NAME", "EMPTY_CLOB()", "column NAME: VARCHAR2(4000) written as EMPTY_LOB"),
    "bare number": ("NAME", "5", "column NAME: VARCHAR2(4000) written as NUMBER"),
}  # fmt: skip


@pytest.mark.parametrize(("column", "written", "error"), VALUE_ERRORS.values(), ids=VALUE_ERRORS)
def test_a_value_that_does_not_fit_is_an_error_of_its_row_only(column, written, error):
    good = (1, f'insert into "S"."T"("ID","NAME","DAY") values (\'1\',\'x\',{DAY_TEXT})')
    bad = f'update "S"."T" set "{column}" = {written} where "ID" = \'7\''

    rows = decode(good, (3, bad), good)

    assert error in rows[1]["error"]
    assert rows[1]["error_sql"] == bad
    assert [images(rows[i]) for i in (0, 2)] == [(NONE, [Decimal(1), "x", DAY])] * 2
    assert [rows[i]["error"] or rows[i]["error_sql"] for i in (0, 2)] == [None, None]


ROW_ERRORS = {
    "not understood": ((3, "update it"), "not understood: update it"),
    "absent": ((1, None), "no SQL_REDO"),
    "another operation": ((1, 'delete from "S"."T" where "ID" = \'1\''), "operation code 1, but the text says DELETE"),
    "same column twice": ((2, "delete from \"S\".\"T\" where \"ID\" = '1' and \"ID\" = '2'"), "column ID occurs twice"),
    "status 2 with names": ((2, 'delete from "S"."T" where "ID" = \'1\'', 2), "STATUS 2, Dictionary Version Mismatch"),
    "status 2 with names and numbers": (
        (3, 'update "S"."T" set "NAME" = \'1\' where "COL 1" = HEXTORAW(\'c102\')', 2),
        "STATUS 2",
    ),
    "status 2 without values": ((2, "delete from \"S\".\"T\" where ROWID = 'AAA'", 2), "STATUS 2"),
    "status 5": ((2, 'delete from "S"."T" where "ID" = \'1\'', 5), "STATUS 5"),
    "number as text": ((1, 'insert into "S"."T"("COL 1") values (\'1\')', 2), "column ID: NUMBER(10,2) written as TEXT"),
    "no number": ((1, 'insert into "S"."T"("COL 1") values (HEXTORAW(\'c1ff\'))', 2), "column ID: the value is not a number"),
    "no bytes": ((1, 'insert into "S"."T"("COL 2") values (HEXTORAW(\'6\'))', 2), "NAME: the value is not in hexadecimal"),
}  # fmt: skip


@pytest.mark.parametrize(("bad", "error"), ROW_ERRORS.values(), ids=ROW_ERRORS)
def test_a_row_that_cannot_be_decoded_does_not_affect_other_rows(bad, error):
    good = (2, 'delete from "S"."T" where "ID" = \'1\' and "NAME" = \'x\' and "DAY" IS NULL')

    rows = decode(good, bad, good)

    assert error in rows[1]["error"]
    assert rows[1]["error_sql"] == bad[1]
    assert [images(rows[i]) for i in (0, 2)] == [([Decimal(1), "x", None], NONE)] * 2


def test_undo_rows_parse_and_have_no_values():
    rows = decode(
        (2, 'delete from "S"."T" where ROWID = \'AAAR3sAAEAAAACXAAA\'', 0, 1),
        (3, 'update "S"."T" set "NAME" = \'old\'', 0, 1),
        (1, 'insert into "S"."T"("ID","NAME","DAY") values (\'1\',NULL,NULL)', 0, 1),
        (3, "update it", 0, 1),
    )

    assert [images(row) for row in rows] == [(NONE, NONE)] * 4
    assert [row["missing"] for row in rows] == [None] * 4
    assert [row["error"] for row in rows] == [None, None, None, "not understood: update it"]


def test_other_columns_pass_through_in_order():
    rows = decode(
        (2, 'delete from "S"."T" where "ID" = \'1\''),
        (2, "nothing"),
        (2, 'delete from "S"."T" where "ID" = \'3\''),
        scn=[7, 5, 6],
        xid=["a", None, "c"],
    )

    assert [(r["scn"], r["xid"], r["operation_code"], r["status"], r["rollback"]) for r in rows] == [
        (7, "a", 2, 0, 0), (5, None, 2, 0, 0), (6, "c", 2, 0, 0),
    ]  # fmt: skip
    assert "sql_redo" not in rows[0]


def test_a_batch_without_rows_has_the_same_columns():
    assert decode() == []


def test_a_rule_or_a_type_decides_the_target_type():
    number = table(A="NUMBER", B="NUMBER", C="NUMBER", D="NUMBER")
    (row,) = decode(
        (1, 'insert into "S"."T"("A","B","C","D") values (\'.1\',\'.1\',\'.1\',\'.1\')'),
        table=number,
        types={11: "string", 12: 2, 13: pa.decimal128(3, 1)},
    )

    assert [str(row[f"n{i}"]) for i in (11, 12, 13, 14)] == ["0.1", "0.10", "0.1", "0.1000000000"]


def test_a_column_of_an_unsupported_type_raises():
    document = version([Column(11, "A", OracleType("BFILE"), 1)])

    with pytest.raises(SchemaConflict, match="BFILE"):
        decode((1, 'insert into "S"."T"("A") values (NULL)'), table=document)


@pytest.mark.parametrize("value", ["EMPTY_CLOB()", "'text'", "NULL", "UNISTR('\\20ac')", "HEXTORAW('ff')"])
def test_the_redo_of_a_large_object_says_that_it_changed_and_gives_no_value(value):
    table = version([Column(11, "ID", OracleType("NUMBER", precision=9, scale=0), 1), Column(12, "A", OracleType("CLOB"), 2)])
    (row,) = decode((3, f'update "S"."T" set "A" = {value} where "ID" = \'1\''), table=table)

    assert (row["error"], row["assigned"], row["n12"]) == (None, [12], None)


def test_unresolved_rows_are_read_by_segment_id():
    """The example of Oracle's Utilities guide, LOGMINER.md 2.5; column 2 was dropped, so names continue after it."""
    employees = version(
        [
            Column(5, "NAME", TYPES["VARCHAR2"], 1),
            Column(8, "SALARY", OracleType("NUMBER", 22, 8, 2), 3),
            Column(9, "BONUS", TYPES["NUMBER"], 4),
        ]
    )
    rows = decode(
        (
            1,
            'insert into "UNKNOWN"."OBJ# 45522"("COL 1","COL 2","COL 3","COL 4") values (HEXTORAW(\'45465f4748\'),'
            "HEXTORAW('546563686e6963616c20577269746572'),HEXTORAW('c229'),HEXTORAW('c3020b'));",
            2,
        ),
        (3, 'update "S"."T" set "COL 3" = NULL where "COL 1" = HEXTORAW(\'45465f4748\') and "COL 3" = HEXTORAW(\'c102\')', 2),
        (3, 'update "S"."T" set "SALARY" = \'7\' where "NAME" = \'EF_GH\' and "SALARY" = \'1\' and "BONUS" IS NULL'),
        table=employees,
    )

    assert [row["error"] for row in rows] == [None] * 3
    assert [row["unknown"] for row in rows] == [["COL 2"], None, None]
    assert [row["missing"] for row in rows] == [None, [9], None]
    assert images(rows[0], (5, 8, 9)) == (NONE, ["EF_GH", Decimal(4000), Decimal(11000)])
    assert images(rows[1], (5, 8, 9)) == (["EF_GH", Decimal(1), None], ["EF_GH", None, None])
    assert images(rows[2], (5, 8, 9)) == (["EF_GH", Decimal(1), None], ["EF_GH", Decimal(7), None])


def test_col_1_is_a_column_name_if_logminer_resolved_the_table():
    odd = version([Column(11, "COL 2", TYPES["VARCHAR2"], 1), Column(12, "COL 1", TYPES["VARCHAR2"], 2)])

    rows = decode(
        (1, 'insert into "S"."T"("COL 1","COL 2") values (\'one\',\'two\')'),
        (1, 'insert into "S"."T"("COL 1","COL 2") values (HEXTORAW(\'61\'),HEXTORAW(\'62\'))', 2),
        table=odd,
    )

    assert [(row["n11"], row["n12"]) for row in rows] == [("two", "one"), ("a", "b")]


text = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("'\"\\,;|() \n"), min_size=1, max_size=12)
VALUES = {
    "NUMBER": st.decimals(-(10**27), 10**27, places=10),
    "NUMBER(10,2)": st.decimals(-99999999, 99999999, places=2),
    "VARCHAR2": text,
    "CHAR": text.map(lambda t: t.ljust(10)),
    "DATE": st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda d: d.replace(microsecond=0)),
    "TIMESTAMP": st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)),
    "RAW": st.binary(min_size=1, max_size=16),
}
names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters='"\0') | st.sampled_from("', =."), min_size=1, max_size=8
)


def written(kind, value):
    return timestamp(value) if kind == "TIMESTAMP" else literal(value)


@st.composite
def histories(draw):
    """Draw a table and rows of it: (redo row, values before, values after), with names or with internal bytes."""
    columns = draw(st.dictionaries(names, st.sampled_from(sorted(VALUES)), min_size=1, max_size=5))
    owner, end = draw(names), draw(st.sampled_from(["", ";"]))
    head = f'"{owner}"."{draw(names)}"'
    image = st.tuples(*(st.none() | VALUES[kind] for kind in columns.values()))
    history = []
    for _ in range(draw(st.integers(1, 6))):
        code, before, after = draw(st.sampled_from([1, 2, 3])), draw(image), draw(image)
        generic = draw(st.booleans())
        shown = [f"COL {i + 1}" for i in range(len(columns))] if generic else list(columns)
        old, new = (
            [internal(v) if generic else written(kind, v) for kind, v in zip(columns.values(), values, strict=True)]
            for values in (before, after)
        )
        where = list(range(len(columns)))
        draw(st.randoms()).shuffle(where)
        located = conditions(
            [shown[i] for i in where], [old[i] for i in where], draw(st.sampled_from([None, "AAAR3sAAEAAAACXAAA"]))
        )
        if code == 1:
            sql, before = insert([shown[i] for i in where], [new[i] for i in where], head, end), None
        elif code == 2:
            sql, after = delete(located, head, end), None
        else:
            assigned = draw(st.lists(st.sampled_from(where), min_size=1, unique=True))
            sql = update({shown[i]: new[i] for i in assigned}, located, head, end)
            after = tuple(new_value if i in assigned else before[i] for i, new_value in enumerate(after))
        history.append(((code, sql, 2 if generic else 0, 0), before, after))
    return table(**columns), history


@settings(max_examples=150)
@given(histories(), st.integers(0, 6))
def test_written_values_are_read_back_from_any_batch(case, cut):
    made, history = case
    ids, none = [c.id for c in made.columns], [None] * len(made.columns)
    rows = [row for row, _, _ in history]

    decoded = decode(*rows, table=made)

    assert [row["error"] for row in decoded] == [None] * len(rows)
    assert [row["missing"] or row["unknown"] for row in decoded] == [None] * len(rows)
    assert [images(row, ids) for row in decoded] == [(list(o or none), list(n or none)) for _, o, n in history]
    assert decode(*rows[:cut], table=made) + decode(*rows[cut:], table=made) == decoded


@pytest.mark.parametrize("text", ["'x''y'", "'5'''", "'''5'", "'it''s'"])
def test_quotes_side_by_side_are_refused_where_logminer_leaves_quotes_single(text):
    batch = redo_batch((1, f'insert into "S"."T"("ID","NAME","DAY") values (\'7\',{text},NULL)'))

    (doubled,), (single,) = (decode_changes(batch, ORDERS, {}, single_quotes=known).to_pylist() for known in (False, True))

    assert doubled["error"] is None
    assert single["error"].startswith("column NAME: quotes stand side by side")
    assert single["n11"] == doubled["n11"] is not None  # the error can name the key


def test_a_row_that_leaves_quotes_single_is_read_alone_but_not_beside_quotes_side_by_side():
    texts = [f'update "S"."T" set "NAME" = {text} where "ID" = \'1\'' for text in ("'it's'", "'it's x''y'", "'x''y'")]

    rows = decode_changes(redo_batch(*((3, text) for text in texts)), ORDERS, {}).to_pylist()

    assert [row["error"] is None for row in rows] == [True, False, True]
    assert decode_changes(redo_batch((3, texts[0])), ORDERS, {}, single_quotes=True)["error"].null_count == 1


def test_without_show_row_data_an_error_contains_nothing_of_the_row():
    texts = [
        'insert into "S"."T"("ID","NAME","DAY") values (\'secret\',\'secret\',NULL)',
        'insert into "S"."T"("ID","NAME","DAY") values (\'1\',\'it \'secret\' is\',NULL)',
        'insert into "S"."T"("ID","NAME","DAY") values (\'1\',UNISTR(\'\\secret\'),NULL)',
    ]

    rows = decode_changes(redo_batch(*((1, text) for text in texts)), ORDERS, {}).to_pylist()

    assert [row["error_sql"] for row in rows] == [None] * 3
    assert all(row["error"] and "secret" not in row["error"] for row in rows)


GUARDED = replace(
    version(
        [Column(11, "ID", TYPES["NUMBER"], 1), Column(12, "NAME", TYPES["VARCHAR2"], 4), Column(13, "QTY", TYPES["NUMBER"], 5)]
    ),
    ignored=(
        IgnoredColumn(2, "unused"),
        IgnoredColumn(3, "guard"),
        IgnoredColumn(6, "archive"),
        IgnoredColumn(0, "virtual", "V"),
    ),
)


@pytest.mark.parametrize(
    "names",
    [
        ("ID", "SYS_C00002_26112211:12:13$", "SYS_NC00003$", "NAME", "QTY", "ORA_ARCHIVE_STATE"),
        ("ID", "COL 2", "COL 3", "NAME", "QTY", "COL 6"),
    ],
)
def test_values_of_columns_of_oracles_own_are_dropped(names):
    listed = ",".join(f'"{name}"' for name in names)
    (row,) = decode((1, f"""insert into "S"."T"({listed}) values ('1',NULL,HEXTORAW('01'),'a','2','0');"""), table=GUARDED)

    assert images(row)[1] == [Decimal(1), "a", Decimal(2)]
    assert (row["error"], row["unknown"]) == (None, None)


def test_numbered_columns_skip_those_of_oracles_own():
    values = ",".join(f"HEXTORAW('{octets}')" for octets in ("c102", "78", "01", "61", "c103"))
    text = f'insert into "S"."T"("COL 1","COL 2","COL 3","COL 4","COL 5") values ({values});'
    (row,) = decode((1, text, 2), table=GUARDED)

    assert images(row)[1] == [Decimal(1), "a", Decimal(2)]


def test_an_update_of_a_hidden_column_alone_changes_nothing():
    text = """update "S"."T" set "ORA_ARCHIVE_STATE" = '1', "SYS_NC00003$" = HEXTORAW('01') where "ID" = '1';"""
    (row,) = decode((3, text), table=GUARDED)

    assert (row["error"], row["unknown"], row["assigned"]) == (None, None, None)
    assert images(row)[1][0] == Decimal(1)


@pytest.mark.parametrize("name", ["SYS_NC00003$", "COL 2", "V"])
def test_such_a_name_is_unknown_where_the_version_has_no_such_column(name):
    (row,) = decode((1, f"""insert into "S"."T"("ID","{name}") values ('1',HEXTORAW('01'));"""))

    assert row["unknown"] == [name]


def test_a_value_that_nobody_reads_is_not_typed():
    where = conditions(["ID", "NAME", "DAY"], ["'1'", "'x'", "TO_DATE('29.02.26')"])
    batch = redo_batch((2, delete(where)), (3, update({"DAY": "NULL"}, where)), (3, update({"NAME": "NULL"}, where)))

    whole, lean = decode_changes(batch, ORDERS, {}), decode_changes(batch, ORDERS, {}, before={11})

    assert [error is not None for error in whole.column("error").to_pylist()] == [True, True, True]
    assert [error is not None for error in lean.column("error").to_pylist()] == [False, False, True]


def test_an_error_of_the_key_comes_before_those_of_other_columns():
    by_day = replace(ORDERS, key=(13,))
    row = (1, 'insert into "S"."T"("ID","NAME","DAY") values (\'1.234\',5,\'no day\')')

    assert "column DAY" in decode(row, table=by_day)[0]["error"]
    assert "column ID" in decode(row)[0]["error"]
