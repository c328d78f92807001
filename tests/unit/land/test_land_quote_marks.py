from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolake.land import quote_marks as scanned
from redolake.land.quote_marks import quote_marks
from redolake.land.tally import SINGLE_QUOTE

texts = st.lists(st.none() | st.text("'''aZ09_ ,();:éÄ中", max_size=150), max_size=40)


@given(texts, st.integers(0, 3), st.integers(0, 3))
def test_the_scan_of_a_batch_finds_what_a_look_at_each_text_finds(rows, skipped, left_out):
    column = pa.array(rows, pa.string())
    column = column.slice(min(skipped, len(column)), max(len(column) - skipped - left_out, 0))
    marks, expected = quote_marks(column), [text or "" for text in column.to_pylist()]

    assert marks.is_odd.tolist() == [text.count("'") % 2 == 1 for text in expected]
    assert marks.adjacent.tolist() == ["''" in text for text in expected]
    assert marks.between_words.tolist() == [bool(re.search(rb"[\x30-\xff]'[\x30-\xff]", t.encode())) for t in expected]


@given(st.text("'aZ09_é中 ,(", max_size=60))
def test_no_quote_between_two_letters_is_missed(text):
    pattern = SINGLE_QUOTE.replace(r"[\pL\pN_]", r"\w")

    assert quote_marks(pa.array([text])).between_words[0] or not re.search(pattern, text)


@pytest.mark.parametrize("quote", ["end", "start"])
def test_quotes_of_two_texts_are_not_side_by_side(quote):
    rows = ["a'", "'b"] if quote == "end" else ["'", "'"]

    assert not quote_marks(pa.array(rows)).adjacent.any()


def test_rows_are_scanned_in_parts(monkeypatch):
    monkeypatch.setattr(scanned, "ROWS", 2)

    marks = quote_marks(pa.array(["'", "x''y", "a'b", None, "plain"]))

    assert marks.is_odd.tolist() == [True, False, True, False, False]
    assert marks.adjacent.tolist() == [False, True, False, False, False]
    assert marks.between_words.tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("texts", [[], [None, ""]], ids=["no row", "no text"])
def test_nothing_to_scan(texts):
    assert not quote_marks(pa.array(texts, pa.string())).is_odd.any()
