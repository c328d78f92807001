"""Tests of the errors: their text, and pickling between processes."""

from __future__ import annotations

import pickle

import pytest

from redolake.errors import ConfigurationError, Finding, RedoLost, TableHeld, Terminal


def test_an_error_says_what_where_and_what_to_do() -> None:
    error = RedoLost(
        "an archive log with sequence 7 is not available",
        cure="restore it",
        thread=1,
        sequence=7,
        last_file="/a/7.dbf",
        scn=None,
    )

    assert str(error) == (
        "RedoLost: an archive log with sequence 7 is not available (thread 1, last file /a/7.dbf)\n  do this: restore it"
    )
    assert error.as_dict()["where"] == {"thread": 1, "sequence": 7, "last_file": "/a/7.dbf"}


def test_a_place_is_left_out_only_where_the_text_names_this_very_one() -> None:
    assert str(RedoLost("Redo Thread 12 is inconsistent", thread=1)) == "RedoLost: Redo Thread 12 is inconsistent (thread 1)"
    assert str(RedoLost("Redo Thread 1 is inconsistent", thread=1)) == "RedoLost: Redo Thread 1 is inconsistent"


ERRORS = {
    "plain": RedoLost("gone", cure="restore", thread=1),
    "findings": ConfigurationError([Finding("a", "b", "c"), Finding("d", "e")]),
    "held": TableHeld([Finding("SHOP.T", "truncated", "snapshot")]),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_an_error_is_equal_after_pickling(error: Terminal) -> None:
    again = pickle.loads(pickle.dumps(error))

    assert (type(again), str(again)) == (type(error), str(error))
