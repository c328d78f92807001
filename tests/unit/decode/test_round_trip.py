"""Redo SQL of the stand-in, cut into LogMiner's pieces and joined, is read as the original values."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.decode.changes import decode_changes
from redolake.mine.mining import lower_case
from redolake.mine.pieces import PieceJoiner
from redolake.source.session import PINNED
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from standin.engine.types.values import encoder_of
from standin.logminer.dictionary import ResolvedTable
from standin.logminer.literals import Nls
from standin.logminer.pieces import cut
from standin.logminer.statements import Layout, TableText
from standin.model import SqlType
from standin.redo_file import Op
from tests.unit.decode.redo_text import redo_batch
from tests.unit.mine.mining_world import batch, redo

NLS = Nls(PINNED["NLS_DATE_FORMAT"], PINNED["NLS_TIMESTAMP_FORMAT"])
# Our type, and the type by which the stand-in writes it: national text becomes UNISTR, which may contain any text.
TYPES = {
    "number": (OracleType("NUMBER", precision=12, scale=2), SqlType("NUMBER", precision=12, scale=2)),
    "text": (OracleType("VARCHAR2", length=4000), SqlType("VARCHAR2")),
    "national": (OracleType("VARCHAR2", length=4000), SqlType("NVARCHAR2")),
    "date": (OracleType("DATE"), SqlType("DATE")),
    "timestamp": (OracleType("TIMESTAMP", scale=6), SqlType("TIMESTAMP", scale=6)),
    "raw": (OracleType("RAW", length=200), SqlType("RAW")),
}

# Words of redo SQL, which a text may contain like any other; the hardest case is one at either end of the text.
WORDS = (
    "'", "''", '"', "','", "', '", '","', "' and \"X\" = '", "' where \"A\" = '", "x\" = '", "' || '", "||", "');", "')", "(",
    ")", "UNISTR('", "') || UNISTR('", "TO_DATE('", "', 'YYYY-MM-DD HH24:MI:SS')", "HEXTORAW('", "NULL", " IS NULL",
    "ROWID = '", "Unsupported Type", "values (", ";", "--", "/*", "*/", "\\", "\\00e9", "\\D83D", "\n", "\r\n", "\t", "\0",
    " ", ",", ".", "=", "&x", "a", "é", "日", "😀", "\U0010ffff", "\u2028", "\ufffd",
)  # fmt: skip
HOSTILE = st.lists(st.one_of(st.sampled_from(WORDS), st.characters(exclude_categories=["Cs"])), min_size=1, max_size=12).map(
    "".join
)
NAMES = st.lists(st.sampled_from([w for w in WORDS if '"' not in w and "\0" not in w]), min_size=1, max_size=4).map("".join)
SECONDS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda moment: moment.replace(microsecond=0))
VALUES = {
    "number": st.decimals(-(10**9), 10**9, places=2),
    "text": HOSTILE,
    "national": HOSTILE,
    "date": SECONDS,
    "timestamp": st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)),
    "raw": st.binary(min_size=1, max_size=40),
}


@st.composite
def changes(draw):
    """Draw a table with any names, and changes of its rows: (operation, values before, values after), by index."""
    kinds = draw(st.lists(st.sampled_from(["text", "text", *TYPES]), min_size=1, max_size=6))
    names = draw(st.lists(NAMES, min_size=len(kinds), max_size=len(kinds), unique=True))
    owner, name = draw(NAMES), draw(NAMES)
    row = st.tuples(*(st.one_of(st.none(), VALUES[kind]) for kind in kinds))
    some = st.sets(st.integers(0, len(kinds) - 1), min_size=1)
    changed = []
    for _ in range(draw(st.integers(1, 4))):
        op, before, after = draw(st.sampled_from([Op.INSERT, Op.UPDATE, Op.DELETE])), draw(row), draw(row)
        present = draw(some) if op is Op.UPDATE else range(len(kinds))
        assigned = draw(some) if op is Op.UPDATE else range(len(kinds))
        old = {} if op is Op.INSERT else {index: before[index] for index in present}
        new = {} if op is Op.DELETE else {place: after[place] for place in assigned}
        changed.append((op, old, new))
    return owner, name, kinds, names, changed


def statements(owner, name, kinds, names, changed, delimiter, rowid):
    types = [TYPES[kind][1] for kind in kinds]
    columns = {place: (names[place], type_) for place, type_ in enumerate(types)}
    text = TableText(ResolvedTable(owner, name, columns, 0, None), Layout(NLS, delimiter, rowid))
    encoders = [encoder_of(type_) for type_ in types]

    def internal(values):
        return {place: None if value is None else encoders[place](value) for place, value in values.items()}

    return [text.redo(op, internal(old), internal(new), "AAAR3sAAEAAAACXAAA", rollback=False) for op, old, new in changed]


def through_logminer(texts, piece_bytes, batch_rows):
    """Cut texts into continuation rows, and return them in batches of some rows, as the driver does."""
    rows = []
    for number, text in enumerate(texts):
        pieces = cut(text, piece_bytes)
        rows += [redo(100, sql=piece, ssn=number, csf=int(at < len(pieces) - 1)) for at, piece in enumerate(pieces)]
    joiner, whole = PieceJoiner(), []
    for start in range(0, len(rows), batch_rows):
        for part in lower_case(batch(*rows[start : start + batch_rows])):
            whole += joiner.feed(part).column("sql_redo").to_pylist()
    joiner.close()
    return whole


def place_id(place):
    return 11 + place


def expected(kind, value):
    return value.quantize(Decimal("0.01")) if kind == "number" and value is not None else value


@settings(max_examples=60)
@given(changes(), st.sampled_from(["", ";"]), st.booleans(), st.integers(4, 60), st.integers(1, 5), HOSTILE)
def test_any_values_under_any_names_are_read_back_however_they_are_cut(
    drawn, delimiter, rowid, piece_bytes, batch_rows, unreadable
):
    """Rows that cannot be read are between them, and affect no other row."""
    owner, name, kinds, names, changed = drawn
    columns = tuple(Column(place_id(n), names[n], TYPES[kind][0], n + 1) for n, kind in enumerate(kinds))
    version = TableVersion(TableId(owner, name), Scn(1), 1, 1, columns, (place_id(0),), 100)

    texts = through_logminer(statements(owner, name, kinds, names, changed, delimiter, rowid), piece_bytes, batch_rows)
    rows = [((int(op), text), (1, unreadable)) for (op, _, _), text in zip(changed, texts, strict=True)]
    batch = redo_batch(*(row for pair in rows for row in pair))
    decoded = decode_changes(batch, version, {}, show_row_data=True).to_pylist()

    assert {row["error_sql"] for row in decoded[1::2] if row["error"]} == {unreadable}
    assert len([row for row in decoded if row["error"]]) == len(changed)
    for (op, old, new), row in zip(changed, decoded[::2], strict=True):
        assert (row["error"], row["unknown"]) == (None, None)
        before = {place: expected(kind, old.get(place)) for place, kind in enumerate(kinds)}
        after = {place: expected(kind, new.get(place)) for place, kind in enumerate(kinds)}
        kept = {place: before[place] for place in before if place not in new} if op is Op.UPDATE else {}
        assert {place: row[f"o{place_id(place)}"] for place in before} == before
        assert {place: row[f"n{place_id(place)}"] for place in after} == {**after, **kept}
        assert set(row["assigned"] or ()) == ({place_id(place) for place in new} if op is Op.UPDATE else set())
        if op is Op.UPDATE:
            assert set(row["missing"] or ()) == {place_id(place) for place in range(len(kinds)) if place not in old}


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_a_year_before_christ_is_reported_and_keeps_its_sign(kind):
    ours, theirs = TYPES[kind]
    resolved = ResolvedTable("S", "T", {1: ("AT", theirs)}, 0, None)
    ides_of_march = bytes([100, 100 - 44, 3, 15, 1, 1, 1])  # of 44 BC
    text = TableText(resolved, Layout(NLS)).redo(Op.INSERT, {}, {1: ides_of_march}, "", rollback=False)
    version = TableVersion(TableId("S", "T"), Scn(1), 1, 1, (Column(11, "AT", ours, 1),), (), 12)

    (row,) = decode_changes(redo_batch((1, text)), version, {}).to_pylist()

    assert row["n11"] is None
    assert "is before year 1" in row["error"]


def test_pieces_may_end_inside_a_doubled_quote_or_before_a_character_of_four_bytes():
    version = TableVersion(TableId("S", "T"), Scn(1), 1, 1, (Column(11, "A", TYPES["text"][0], 1),), (11,), 12)
    values = ["x" * shift + "😀'" * 1500 for shift in range(6)]
    written = statements("S", "T", ["text"], ["A"], [(Op.INSERT, {}, {0: value}) for value in values], ";", False)
    edges = [edge for text in written for edge in pairwise(cut(text))]

    joined = through_logminer(written, 4000, 2)

    assert any((a[-1], b[0]) == ("'", "'") for a, b in edges)
    assert any(len(a.encode()) < 4000 and b[0] == "😀" for a, b in edges)
    decoded = decode_changes(redo_batch(*((1, text) for text in joined)), version, {})
    assert decoded.column("n11").to_pylist() == values


SPOKEN = st.lists(st.text("aé日_7", min_size=1, max_size=3), min_size=1, max_size=4).map("'".join)


@settings(max_examples=60)
@given(st.lists(st.tuples(SPOKEN, SPOKEN), min_size=1, max_size=3), st.sampled_from(["", ";"]), st.booleans())
def test_single_quotes_within_words_are_read(rows, delimiter, rowid):
    columns = (Column(11, "A", TYPES["text"][0], 1), Column(12, "B", TYPES["text"][0], 2))
    version = TableVersion(TableId("S", "T"), Scn(1), 1, 1, columns, (11,), 13)
    changed = [(Op.UPDATE, {0: a, 1: b}, {1: a}) for a, b in rows]
    written = statements("S", "T", ["text", "text"], ["A", "B"], changed, delimiter, rowid)

    decoded = decode_changes(redo_batch(*((3, text.replace("''", "'")) for text in written)), version, {})

    assert decoded.column("error").null_count == len(rows)
    assert list(zip(decoded["o11"].to_pylist(), decoded["o12"].to_pylist(), strict=True)) == rows
    assert decoded.column("n12").to_pylist() == [a for a, _ in rows]
