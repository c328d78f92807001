"""choice: the compiled loops are used where numba is installed and enough text is decoded."""

import logging
import os
import subprocess
import sys

import pytest

from redolake.decode import choice
from redolake.decode.changes import decode_changes
from redolake.decode.compiled import jit
from redolake.decode.compiled.changes import decode_compiled
from redolake.steps.checks.doctor import decoding_notes
from redolake.values.delivery import PLAIN, Assembled


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    monkeypatch.setattr(choice, "_octets", 0)
    monkeypatch.setattr(choice, "_chosen", None)


def test_the_kernels_are_loaded_once_a_process_has_decoded_much_text(monkeypatch):
    monkeypatch.setattr(jit, "is_kept", lambda: True)

    used = [choice.decoder(choice.WORTH_LOADING // 2, PLAIN) for _ in range(3)]

    assert used == [decode_changes, decode_compiled, decode_compiled]


def test_large_objects_are_assembled_from_what_the_plain_decoder_reads(monkeypatch):
    monkeypatch.setattr(jit, "is_kept", lambda: True)

    assert choice.decoder(choice.WORTH_LOADING, Assembled((3,))) is decode_changes


def test_kernels_that_no_process_has_kept_are_compiled_for_very_much_text_only(monkeypatch):
    monkeypatch.setattr(jit, "is_kept", lambda: False)

    assert choice.decoder(choice.WORTH_COMPILING - 1, PLAIN) is decode_changes
    assert choice.decoder(1, PLAIN) is decode_compiled


@pytest.mark.parametrize(
    ("variable", "found", "reason"),
    [("0", None, "numba is not installed (redolake[compiled])"), ("1", "numba", "NUMBA_DISABLE_JIT is set")],
)
def test_decoding_without_the_kernels_is_reported_once(monkeypatch, caplog, variable, found, reason):
    monkeypatch.setattr(choice, "find_spec", lambda name: found)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", variable)

    with caplog.at_level(logging.WARNING):
        used = [choice.decoder(choice.WORTH_LOADING, PLAIN) for _ in range(2)]

    assert used == [decode_changes, decode_changes]
    assert [record.getMessage() for record in caplog.records] == [f"redo is decoded at a third of the speed: {reason}"]


def test_the_kernels_that_set_up_has_kept_are_found_again_and_not_those_of_another_folder(tmp_path):
    """Set-up has compiled them already, so that compiling them again costs nothing unless they have changed since."""
    ask = "from redolake.decode.compiled import changes, jit; print(jit.is_kept())"

    def run(*arguments, **variables):
        environment = {**os.environ, **variables}
        return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True).stdout

    run("-c", "from redolake.decode.compile_ahead import compile_ahead; compile_ahead()")

    assert run("-c", ask) == "True\n"
    assert run("-c", ask, NUMBA_CACHE_DIR=str(tmp_path)) == "False\n"


def test_doctor_notes_that_redo_would_be_decoded_without_the_kernels(monkeypatch):
    assert decoding_notes() == []

    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")

    assert [(note.severity, note.what) for note in decoding_notes()] == [
        ("note", "takes three times the CPU time: NUMBA_DISABLE_JIT is set")
    ]
