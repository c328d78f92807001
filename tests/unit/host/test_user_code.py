"""Users' code: what it returns is checked, it is the same whenever it runs, and no value of a row is in an error about it."""

from __future__ import annotations

import hashlib
import signal
import sys
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from redolake.host import user_code
from redolake.host.try_user_code import try_function
from redolake.host.user_code import UserCodeFailed, call, call_for_rows, call_row_by_row, digest_of

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
        ("nothing", "returned a NoneType, and no RecordBatch"),
        ("table", "returned a Table, and no RecordBatch"),
        ("many_columns", r"returned the columns column_0, .* \.\., declared are n\.$"),
        ("twice", "returned the columns n, n, declared are n"),
        ("interrupting", "raised KeyboardInterrupt"),
        ("fractions", "returned n as double, which is no int64"),
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
        ("running_total", "returns other values for a row when other rows are with it, or in another order"),
        ("sorted_notes", "returns other values for a row when other rows are with it, or in another order"),
        ("failing", "raised KeyError"),
        ("ending", "raised SystemExit"),
        ("killing", "has ended the process, with 7"),
        ("leaving", "has ended the process, with 0"),
        ("interrupting", "raised KeyboardInterrupt"),
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


def test_a_function_is_not_called_where_no_row_has_all_its_values() -> None:
    none, function = pa.array([False, False]), of("failing")
    notes = [pa.array(["a", "b"])]

    assert [column.to_pylist() for column in call_for_rows(*function, none, notes, ["NOTE"], NUMBER)] == [[None, None]]
    (n,), reasons = call_row_by_row(*function, none, notes, ["NOTE"], NUMBER)
    assert (n.to_pylist(), reasons.to_pylist()) == ([None, None], [None, None])
    assert (
        call_for_rows(*function, pa.array([], pa.bool_()), [pa.array([], pa.string())], ["NOTE"], NUMBER)[0].to_pylist() == []
    )


BODY = """
import pyarrow as pa

def n(batch):
    return pa.RecordBatch.from_arrays([pa.array([{}] * batch.num_rows)], names=["n"])
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of an importable package `shaping_code`, which is empty."""
    (tmp_path / "shaping_code" / "deep").mkdir(parents=True)
    for place in ("", "deep"):
        (tmp_path / "shaping_code" / place / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "shaping_code"
    for name in [name for name in sys.modules if name.partition(".")[0] == "shaping_code"]:
        del sys.modules[name]


def test_a_worker_that_has_an_older_version_of_the_code_imports_the_new_one(package: Path) -> None:
    """A worker and a Connect server live longer than a version of the code: they would compute the old values for ever."""
    (package / "columns.py").write_text("from . import helper, TENS\n" + BODY.format("TENS + helper.NUMBER"))
    for number in (11, 12, 21, 11):
        (package / "helper.py").write_text(f"NUMBER = {number % 10}\n")
        (package / "__init__.py").write_text(f"TENS = {number // 10 * 10}\n")
        digest = digest_of("shaping_code.columns:n")
        assert call("shaping_code.columns:n", digest, ROWS, NUMBER)[0].to_pylist() == [number] * 3


def test_the_hash_is_of_all_modules_of_the_package_that_the_function_needs(package: Path) -> None:
    texts = {
        "columns.py": "import os\nfrom .deep import first\nimport shaping_code.second\n",
        "deep/first.py": "from ..third import something\nfrom . import fourth\n",
        "deep/fourth.py": "import shaping_code.columns\n",  # in a circle
        "second.py": "def f():\n    from shaping_code import fifth\n",
        "third.py": "something = 1\n",
        "fifth.py": "1\n",
        "other.py": "1\n",
        "broken.py": "no Python\n",
    }
    for name, text in texts.items():
        (package / name).write_text(text)
    hashes = [digest_of("shaping_code.columns:f")]
    for name in texts:
        (package / name).write_text(f"{texts[name]}# changed\n")
        hashes.append(digest_of("shaping_code.columns:f"))

    changed = [name for name, (before, after) in zip(texts, pairwise(hashes), strict=True) if before != after]
    assert changed == [name for name in texts if name not in ("other.py", "broken.py")]
    (package / "__init__.py").write_text("raise SystemExit('the hash needs no import')\n")
    assert digest_of("shaping_code.columns:f") not in hashes
    with pytest.raises(UserCodeFailed, match="cannot be imported: SystemExit"):
        call("shaping_code.columns:f", digest_of("shaping_code.columns:f"), ROWS, NUMBER)


def test_the_hash_of_one_module_is_that_of_its_text(package: Path) -> None:
    (package / "alone.py").write_text("1\n")
    assert digest_of("shaping_code.alone:f") == hashlib.sha256(b"1\n").hexdigest()[:16]


def test_code_in_an_archive_is_found_as_spark_carries_it_to_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("zipped_code.py", BODY.format(7))
    monkeypatch.syspath_prepend(str(tmp_path / "code.zip"))

    assert call("zipped_code:n", digest_of("zipped_code:n"), ROWS, NUMBER)[0].to_pylist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(:", "SyntaxError"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("from pipelines.lake import lake", r"ModuleNotFoundError \(Redolake's package is called redolake\)"),
    ],
)
def test_code_that_cannot_be_imported_is_named_with_the_class_of_the_error(package: Path, text: str, why: str) -> None:
    (package / "bad.py").write_text(text)
    with pytest.raises(UserCodeFailed, match=f"cannot be imported: {why}"):
        call("shaping_code.bad:f", digest_of("shaping_code.bad:f"), ROWS, NUMBER)


def test_code_that_hangs_while_it_is_imported_fails(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_code, "SECONDS", 0.2)
    (package / "slow.py").write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
    with pytest.raises(UserCodeFailed, match=r"cannot be imported: it has not ended after 0\.2 seconds"):
        call("shaping_code.slow:f", digest_of("shaping_code.slow:f"), ROWS, NUMBER)
