"""Errors say what, where and what to do, survive the way between processes, and are sorted by number."""

from __future__ import annotations

import pickle

import pytest

from pipelines.errors import (
    ConfigurationError,
    Finding,
    RedoLost,
    SourceBusy,
    SourceRefused,
    SourceUnavailable,
    TableHeld,
    Terminal,
    kind_of_ora,
)


def test_an_error_says_what_where_and_what_to_do() -> None:
    error = RedoLost("an archive log with sequence 7 is not available", cure="restore it", thread=1, sequence=7, scn=None)

    assert str(error) == (
        "RedoLost: an archive log with sequence 7 is not available (thread 1, sequence 7)\n  do this: restore it"
    )
    assert error.as_dict()["where"] == {"thread": 1, "sequence": 7}


ERRORS = {
    "plain": RedoLost("gone", cure="restore", thread=1),
    "findings": ConfigurationError([Finding("a", "b", "c"), Finding("d", "e")]),
    "held": TableHeld([Finding("SHOP.T", "truncated", "snapshot")]),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_an_error_survives_pickling(error: Terminal) -> None:
    again = pickle.loads(pickle.dumps(error))

    assert (type(again), str(again)) == (type(error), str(error))


CODES = {
    (1017, ""): SourceRefused,
    (942, ""): SourceRefused,
    (3113, "DPY-4011"): SourceUnavailable,
    (0, "DPY-6005"): SourceUnavailable,
    (600, "DPY-4011"): Terminal,  # the driver calls it a lost connection; by its number it is not understood
    (4036, ""): SourceBusy,
    (12345, ""): Terminal,
}


@pytest.mark.parametrize(("code", "kind"), CODES.items())
def test_codes_are_sorted_by_number(code: tuple[int, str], kind: type[Exception]) -> None:
    assert kind_of_ora(*code) is kind
