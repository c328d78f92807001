"""Statements are complete wherever LogMiner or the driver cuts them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.decode.changes import decode_changes
from redolake.errors import MiningIncomplete
from redolake.mine.mining import lower_case
from redolake.mine.pieces import PieceJoiner, split_by_size
from tests.unit.decode.redo_text import redo_batch, table
from tests.unit.mine.mining_world import batch, redo

TABLE = table(ID="NUMBER(10,2)", NAME="VARCHAR2", DAY="DATE")  # ids 11, 12, 13

TEXTS = st.lists(st.one_of(st.none(), st.lists(st.text(max_size=5), min_size=1, max_size=5)), max_size=12)


def rows_of(texts):
    """Yield each text as its pieces, with one address per text."""
    for number, pieces in enumerate(texts):
        cut = pieces or [None]
        for at, piece in enumerate(cut):
            yield redo(100 + number, sql=piece, ssn=number, csf=int(at < len(cut) - 1), row_id=f"R{number}")


@settings(max_examples=200)
@given(TEXTS, st.lists(st.integers(min_value=1, max_value=7), min_size=1, max_size=8))
def test_pieces_are_joined_wherever_batches_end(texts, sizes):
    rest, joiner, out = list(rows_of(texts)), PieceJoiner(), []
    turn = 0
    while rest:
        size = sizes[turn % len(sizes)]
        for part in lower_case(batch(*rest[:size])):
            out += joiner.feed(part).to_pylist()
        rest, turn = rest[size:], turn + 1
    joiner.close()

    expected = [(n, None if pieces is None else "".join(pieces), f"R{n}") for n, pieces in enumerate(texts)]
    assert [(r["ssn"], r["sql_redo"], r["row_id"]) for r in out] == expected


def test_a_statement_cut_inside_a_doubled_apostrophe_is_unchanged():
    text = """insert into "S"."T"("ID","NAME","DAY") values ('1','it''s ''''quoted''''',NULL)"""
    texts = [[text[:at], text[at:]] for at in range(1, len(text))]
    joiner = PieceJoiner()

    joined = [sql for part in lower_case(batch(*rows_of(texts))) for sql in joiner.feed(part)["sql_redo"].to_pylist()]

    assert joined == [text] * len(texts)
    assert {row["n12"] for row in decode_changes(redo_batch(*((1, sql) for sql in joined)), TABLE, {}).to_pylist()} == {
        "it's ''quoted''"
    }


def one(*rows):
    return lower_case(batch(*rows))[0]


def test_a_statement_without_its_end_is_incomplete():
    joiner = PieceJoiner()
    joiner.feed(one(redo(150, sql="inse", csf=1)))

    with pytest.raises(MiningIncomplete, match="continues after the last log"):
        joiner.close()


@pytest.mark.parametrize("other", [{"ssn": 2}, {"rs_id": " 0x1.2.3 "}, {"xidsqn": 3}], ids=["row", "address", "transaction"])
def test_pieces_of_different_rows_are_never_joined(other):
    with pytest.raises(MiningIncomplete, match="second piece"):
        PieceJoiner().feed(one(redo(150, sql="inse", csf=1), redo(150, sql="rt", **other)))


def test_pieces_in_an_arrow_slice_are_joined():
    whole = one(redo(1, sql="zz"), redo(2, sql="in", csf=1), redo(2, sql="sert"), redo(3, sql="x"))

    assert PieceJoiner().feed(whole.slice(1)).column("sql_redo").to_pylist() == ["insert", "x"]


def test_a_batch_with_too_much_text_is_split(monkeypatch):
    monkeypatch.setattr("redolake.mine.pieces.LARGEST_TEXT_BYTES", 40)
    whole = one(*(redo(n, sql="x" * 30) for n in range(5)))

    parts = split_by_size(whole)

    assert len(parts) == 5
    assert pa.Table.from_batches(parts) == pa.Table.from_batches([whole])
