"""Users' code: what it returns is checked, it is the same whenever it runs, and no value of a row is in an error about it."""

from __future__ import annotations

import signal

import pyarrow as pa
import pytest

from pipelines.host import user_code
from pipelines.host.try_user_code import try_function
from pipelines.host.user_code import UserCodeFailed, call, call_for_rows, call_row_by_row, digest_of

MODULE = "tests.references.user_code"
ROWS = pa.RecordBatch.from_pydict({"CUST_NM": ["ann", "bob", None], "NOTE": ["a", "bc", None]})
NUMBER = {"n": pa.int64()}


def of(name: str) -> tuple[str, str]:
    function = f"{MODULE}:{name}"
    return function, digest_of(function)


def test_the_function_is_called_for_whole_rows_and_the_others_have_no_value() -> None:
    made = call_for_rows(
        *of("initials"),
        pa.array([True, False, True]),
        ROWS.columns,
        ROWS.schema.names,
        {"initial": pa.string(), "NOTE": pa.int32()},
    )

    assert [column.to_pylist() for column in made] == [["A", None, None], [1, None, None]]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("short", "returned 1 rows for 3"),
        ("other_columns", "returned the columns CUST_NM, NOTE, declared are n"),
        ("failing", "raised KeyError"),
        ("texts", "returned n as string, which is no int64"),
        ("missing", "is no function of its module"),
    ],
)
def test_what_a_function_does_wrong_is_named_without_a_value(name: str, why: str) -> None:
    with pytest.raises(UserCodeFailed, match=why) as failed:
        call(*of(name), ROWS, NUMBER)

    assert "secret" not in str(failed.value)
    assert failed.value.__suppress_context__ or failed.value.__cause__ is None


def test_a_function_that_hangs_or_ends_the_process_fails_as_one_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit, the job would hang with it, and its lease would be renewed for ever."""
    monkeypatch.setattr(user_code, "SECONDS", 0.2)
    handler, whole = signal.getsignal(signal.SIGALRM), pa.array([True, True, True])

    with pytest.raises(UserCodeFailed, match=r"has not ended after 0\.2 seconds, for 3 rows"):
        call(*of("hanging"), ROWS, NUMBER)
    with pytest.raises(UserCodeFailed, match=r"has not ended after 0\.2 seconds, for 3 rows"):
        call_row_by_row(*of("hanging"), whole, ROWS.columns, ROWS.schema.names, NUMBER)
    with pytest.raises(UserCodeFailed, match="raised SystemExit"):
        call(*of("ending"), ROWS, NUMBER)
    assert signal.getsignal(signal.SIGALRM) == handler
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_another_version_of_the_code_is_not_called() -> None:
    with pytest.raises(UserCodeFailed, match="is another one here than the table was read with"):
        call(f"{MODULE}:initials", "0123456789abcdef", ROWS, NUMBER)
    with pytest.raises(UserCodeFailed, match="cannot be found"):
        digest_of("no.such.module:f")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("counted", "returns other values when it is called again"),
        ("of_all_rows", "returns other values for a row when other rows are with it"),
        ("failing", "raised KeyError"),
        ("ending", "raised SystemExit"),
        ("killing", "has ended the process, with 7"),
        ("hanging", "has not ended after 1.5 seconds, for 3 rows"),
    ],
)
def test_a_trial_finds_what_is_no_function_of_the_row(name: str, why: str) -> None:
    function, digest = of(name)
    found = try_function(function, digest, ROWS, NUMBER, 1.5 if name == "hanging" else 60)

    assert found is not None
    assert why in found


def test_a_good_function_passes_its_trial() -> None:
    assert try_function(*of("initials"), ROWS, {"initial": pa.string(), "NOTE": pa.int32()}, 60) is None


def test_a_row_for_which_it_raises_is_found_and_the_others_have_their_values() -> None:
    notes = pa.array(["a", "bad", None, "bad", "e"])
    whole = pa.array([True, True, True, False, True])

    (loud,), reasons = call_row_by_row(*of("shouting"), whole, [notes], ["NOTE"], {"LOUD": pa.string()})

    assert loud.to_pylist() == ["A", None, None, None, "E"]
    assert reasons.to_pylist() == [None, f"{MODULE}:shouting raised ValueError", None, None, None]


def test_a_function_that_is_another_one_is_no_fault_of_a_row() -> None:
    with pytest.raises(UserCodeFailed, match="another one here"):
        call_row_by_row(f"{MODULE}:shouting", "0" * 16, pa.array([True]), [pa.array(["a"])], ["NOTE"], {"LOUD": pa.string()})
