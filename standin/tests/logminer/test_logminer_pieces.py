"""How long texts are cut into continuation rows."""

from hypothesis import given
from hypothesis import strategies as st

from standin.logminer.pieces import cut


@given(st.text(alphabet="a'ü☃😀", max_size=200), st.integers(4, 40))
def test_pieces_are_whole_characters_and_join_to_the_text(text, limit):
    pieces = cut(text, limit)

    assert "".join(pieces) == text
    assert all(len(piece.encode()) <= limit for piece in pieces)


def test_a_doubled_quote_may_be_split():
    assert cut("abc''def", 4) == ["abc'", "'def"]
