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


WITH_SECRETS = {
    "s3://AKIAX:tig/er+@bucket/p": "s3://***@bucket/p",
    "oracle://u:tiger@h:1521/S": "oracle://***@h:1521/S",
    "url='https://b.s3/x?X-Amz-Credential=tiger%2Fs3&X-Amz-Signature=tiger&X-Amz-Expires=3'": (
        "url='https://b.s3/x?X-Amz-Credential=***&X-Amz-Signature=***&X-Amz-Expires=3'"
    ),
    "https://a.blob/c?sv=2022&sig=ti%2Bger%3D&se=1": "https://a.blob/c?sv=2022&sig=***&se=1",
    "AWSAccessKeyId=tiger&Signature=tiger&Expires=1": "AWSAccessKeyId=***&Signature=***&Expires=1",
    "AccountName=a;AccountKey=tiger==;EndpointSuffix=x": "AccountName=a;AccountKey=***;EndpointSuffix=x",
    "fs.azure.account.key.a.dfs.core.windows.net=tiger": "fs.azure.account.key.a.dfs.core.windows.net=***",
    "fs.s3a.secret.key=tiger": "fs.s3a.secret.key=***",
    "aws_session_token=tiger": "aws_session_token=***",
    "host=h password='a tiger' sslpassword=tiger": "host=h password=*** sslpassword=***",
    "abfss://c@a.dfs.core.windows.net/p": None,
    "hdfs://nn:8020/x and http://h:4318/a@b": None,
    "/lake/shop/t/TOKEN_TYPE=basic/part-0.parquet": None,
    'update "T" set "PASSWORD" = 1, token 5': None,
}


@pytest.mark.parametrize("said", WITH_SECRETS)
def test_no_error_shows_what_unlocks_a_store_or_a_database(said: str) -> None:
    """Whoever raises it: what is shown, as JSON too, is what the ledger, logs and notes get."""
    expected = WITH_SECRETS[said] or said
    error, finding = Terminal(said, file=said), ConfigurationError([Finding(said, said)])

    assert (error.what, error.where["file"], error.as_dict()["where"]) == (expected, expected, {"file": expected})
    assert (finding.findings[0].subject, finding.findings[0].what) == (expected, expected)
    assert "tiger" not in f"{error} {finding} {finding.as_dict()} {pickle.loads(pickle.dumps(error))!r}"
