"""decode_compiled returns what decode_changes returns: the same values, and the same errors."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.decode.changes import decode_changes
from redolake.decode.compiled import changes as compiled
from redolake.decode.compiled.changes import decode_compiled
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from tests.generated.hunts import EXAMPLES
from tests.unit.decode.redo_text import conditions, delete, insert, redo_batch, table, timestamp, update, version
from tests.unit.decode.test_round_trip import TYPES, WORDS, changes, place_id, statements


def same(batch, of, types=None, **options):
    """Decode in both ways, and return the rows. Not-a-number equals itself in their texts only."""
    expected = decode_changes(batch, of, types or {}, **options)

    decoded = decode_compiled(batch, of, types or {}, **options)

    decoded.validate(full=True)
    assert decoded.schema == expected.schema
    assert repr(decoded.to_pylist()) == repr(expected.to_pylist())
    return decoded.to_pylist()


@st.composite
def damaged(draw, text):
    """Cut, double or replace a part of a statement, or leave it."""
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(start + 20, len(text))))
    part = draw(st.sampled_from(["", "", text[start:end] * 2, text[:end], *WORDS, '"X" = ', " and ", ",", "1", "''", "'"]))
    return text if draw(st.booleans()) else text[:start] + part + text[end:]


@settings(max_examples=4 * (EXAMPLES or 15))
@given(st.data(), changes(), st.sampled_from(["", ";"]), st.booleans(), st.booleans(), st.integers(0, 3))
def test_statements_are_read_alike_whole_or_damaged(data, drawn, delimiter, rowid, single_quotes, skipped):
    owner, name, kinds, names, changed = drawn
    columns = tuple(Column(place_id(n), names[n], TYPES[kind][0], len(kinds) - n) for n, kind in enumerate(kinds))
    of = TableVersion(TableId(owner, name), Scn(1), 1, 1, columns, (place_id(0),), 100)
    texts = statements(owner, name, kinds, names, changed, delimiter, rowid)
    rows = [(int(op), text, 0, 0) for (op, _, _), text in zip(changed, texts, strict=True)]
    if data.draw(st.booleans()):
        rows = [(data.draw(st.sampled_from([code, code, 1, 10])), data.draw(damaged(text)), 0, 0) for code, text, _, _ in rows]
        rows = [(*row[:2], *data.draw(st.sampled_from([(0, 0), (0, 0), (0, 1), (2, 0), (3, 0), (3, 1)]))) for row in rows]
    before = data.draw(st.one_of(st.none(), st.sets(st.sampled_from([column.id for column in columns]))))
    known = data.draw(st.one_of(st.none(), st.just({column.name: column.id for column in columns[1:]})))
    owners = {"seg_owner": [owner, *["OTHER"] * 9][: len(rows)], "table_name": [name] * len(rows)}

    batch = redo_batch(*rows, **(owners if data.draw(st.booleans()) else {})).slice(skipped)

    same(batch, of, before=before, names=known, single_quotes=single_quotes, show_row_data=True)


NUMBERS = st.from_regex(r"[+-]?[0-9]{0,20}(\.[0-9]{0,12})?(E[+-]?[0-9]{1,3})?", fullmatch=True)
MOMENTS = st.from_regex(
    r"[ -]?(000[01]|1582|1900|2000|2024|9999|2023)-(0[0-3]|1[0-3])-(0[01]|28|29|3[012])"
    r" (0[0-9]|2[345]):(00|5[09]|60):(00|5[09]|60)"
    r"(\.[0-9]{0,10}|\.[0-9]{6}000)?",
    fullmatch=True,
)
# The type, its rule, and what encloses its literal.
COLUMNS = [
    (OracleType("NUMBER", 22, 5, 0), None, "{}"),
    (OracleType("NUMBER", 22, 18, 0), None, "{}"),
    (OracleType("NUMBER", 22, 38, 0), None, "{}"),
    (OracleType("NUMBER", 22, 12, 2), None, "{}"),
    (OracleType("NUMBER", 22, 2, 2), None, "{}"),
    (OracleType("NUMBER", 22), None, "{}"),
    (OracleType("NUMBER", 22), "integer", "{}"),
    (OracleType("NUMBER", 22), "double", "{}"),
    (OracleType("NUMBER", 22), "string", "{}"),
    (OracleType("FLOAT", 22, 49), None, "{}"),
    (OracleType("BINARY_DOUBLE", 8), None, "{}"),
    (OracleType("DATE", 7), None, "TO_DATE({}, 'SYYYY-MM-DD HH24:MI:SS')"),
    (OracleType("DATE", 7), "string", "TO_DATE({}, 'SYYYY-MM-DD HH24:MI:SS')"),
    (OracleType("TIMESTAMP", 11, None, 6), None, "TO_TIMESTAMP({})"),
    (OracleType("TIMESTAMP", 11, None, 9), "truncate", "TO_TIMESTAMP({})"),
    (OracleType("RAW", 16), None, "HEXTORAW({})"),
    (OracleType("VARCHAR2", 40), None, "{}"),
    (OracleType("CLOB"), None, "{}"),
]


@settings(max_examples=EXAMPLES or 15)
@given(st.data())
@pytest.mark.parametrize(("kind", "rule", "call"), COLUMNS, ids=lambda value: str(value))
def test_literals_of_each_type_are_read_alike(kind, rule, call, data):
    odd = st.text("0123456789abcDEF.-+: é'\"", max_size=20)
    literals = data.draw(
        st.lists(st.one_of(NUMBERS, MOMENTS, odd, st.binary(max_size=5).map(bytes.hex)), min_size=1, max_size=4)
    )
    written = [call.format("'" + text.replace("'", "''") + "'") for text in literals]
    columns = (Column(11, "A", kind, 1), Column(12, "B", OracleType("VARCHAR2", 40), 2))
    texts = [(1, insert(["A", "B"], [text, "'x'"])) for text in written]
    texts += [(3, update({"A": text}, conditions(["A"], [text]))) for text in written]
    texts += [(3, update({"B": "'y'"}, conditions(["A", "B"], [text, "NULL"], "AAA"))) for text in written]
    texts += [(2, delete(conditions(["A"], [text]))) for text in written]

    same(redo_batch(*texts), version(columns), {11: rule}, before=data.draw(st.sampled_from([None, {11}, {12}])))


@pytest.mark.parametrize("kind", COLUMNS, ids=str)
def test_usual_literals_are_not_left_to_the_other_way(kind, monkeypatch):
    monkeypatch.delattr(compiled, "decode_changes")
    oracle_type, rule, call = kind
    text = {"RAW": "'00ff'", "DATE": "'2024-02-29 13:45:59'", "TIMESTAMP": "' 2024-02-29 13:45:59.123456000'"}.get(
        oracle_type.name, "'.25'" if oracle_type.scale == 2 else "'-12'"
    )
    literal = "EMPTY_CLOB()" if oracle_type.name == "CLOB" else call.format(text)
    of = version((Column(11, "A", oracle_type, 1), Column(12, "B", OracleType("VARCHAR2", 40), 2)))
    rows = [
        (1, insert(["A", "B"], [literal, "'it''s'"])),
        (3, update({"A": literal}, conditions(["A", "B"], [literal, "NULL"]))),
    ]

    decoded = decode_compiled(redo_batch(*rows, (2, delete(conditions(["A", "B"], [literal, "''"])))), of, {11: rule})

    assert decoded.column("error").null_count == 3
    assert decoded.column("n12").to_pylist() == ["it's", None, None]
    assert decoded.column("n11").null_count == (3 if oracle_type.name == "CLOB" else 1)


ORDERS = table(ID="NUMBER(10,2)", NAME="VARCHAR2", DAY="DATE", AT="TIMESTAMP")


@pytest.mark.parametrize("before", [None, {11}, {12}])
def test_a_value_of_set_replaces_that_of_where(before, monkeypatch):
    where = conditions(["ID", "NAME", "DAY", "AT"], ["'1'", "'old'", "NULL", timestamp(None)])
    assigned = [{"NAME": "'new'"}, {"NAME": "NULL"}, {"NAME": "''"}, {"ID": "'.5'"}, {"ID": "NULL"}]
    batch = redo_batch(*((3, update(one, where)) for one in assigned))
    same(batch, ORDERS, before=before)
    monkeypatch.delattr(compiled, "decode_changes")

    rows = decode_compiled(batch, ORDERS, {}, before=before).to_pylist()

    assert [row["n12"] for row in rows] == ["new", None, None, "old", "old"]
    assert [row["n11"] for row in rows] == [1, 1, 1, Decimal("0.5"), None]
    assert all(row.get("o12", "old") == "old" and row.get("o11", 1) == 1 for row in rows)


def test_rows_that_are_refused_stay_in_their_places():
    unreadable = [(1, f"insert into {n}") for n in range(3)]
    fine = [(1, insert(["ID", "NAME", "DAY", "AT"], [f"'{n}'", f"'é{n}'", "NULL", timestamp(None)])) for n in range(70)]
    rows = [*fine[:3], unreadable[0], *fine[3:66], unreadable[1], *fine[66:], unreadable[2]]

    found = same(redo_batch(*rows), ORDERS)

    assert [row["n12"] for row in found if not row["error"]] == [f"é{n}" for n in range(70)]
    assert [at for at, row in enumerate(found) if row["error"]] == [3, 67, 72]


def test_a_text_of_any_length_at_any_place_of_memory_is_read():
    rows = [(2, delete(f"\"NAME\" = '{'x' * n}{quotes}'")) for n in range(20) for quotes in ("", "''", "''y", "é")]
    batch = redo_batch(*rows)
    octets = b"......." + batch.column("sql_redo").buffers()[2].to_pybytes()
    for shift in range(8):
        text = pa.py_buffer(octets[7 - shift :])
        offsets = pa.array([0], pa.int32()).buffers()[1], batch.column("sql_redo").buffers()[1]
        shifted = pa.array(
            [int.from_bytes(offsets[1][4 * n : 4 * n + 4].to_pybytes(), "little") + shift for n in range(81)], pa.int32()
        )
        sql = pa.Array.from_buffers(pa.string(), 80, [None, shifted.buffers()[1], text])
        moved = batch.set_column(batch.schema.get_field_index("sql_redo"), "sql_redo", sql)

        assert same(moved, ORDERS)[-1]["o12"] == "x" * 19 + "é"
        assert same(moved.slice(77, 2), ORDERS)[0]["o12"] == "x" * 19 + "'"


def test_a_batch_may_be_empty_or_without_any_text():
    assert same(redo_batch(), ORDERS) == []
    assert {row["error"] for row in same(redo_batch((1, None), (1, "")), ORDERS)} == {"no SQL_REDO", "not understood: "}


def test_more_new_separators_than_are_learnt_at_once_are_all_learnt(monkeypatch):
    monkeypatch.setattr("redolake.decode.compiled.locate._UNKNOWN_AT_ONCE", 3)
    monkeypatch.setattr("redolake.decode.compiled.known.MAX_SEPARATORS", 40)
    rows = [(1, insert(["ID", "NAME"], [f"'{n}'", "'x'"], head=f'"S"."T{n}"')) for n in range(30)]

    assert {row["n12"] for _ in range(2) for row in same(redo_batch(*rows), ORDERS)} == {"x"}
