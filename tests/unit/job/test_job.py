"""How the Spark job ends when it fails before Spark starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redolake.errors import SourceBusy
from redolake.job import job
from redolake.records.codec import decode
from redolake.records.jobs import JobFailure


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "watch_parent", lambda: None)


def ended(tmp_path: Path, spec: str) -> tuple[int, bool, str]:
    code = job.main([spec, f"{tmp_path}/spec.1.failed.json"])
    failure = decode(JobFailure, (tmp_path / "spec.1.failed.json").read_text(), "failed.json")
    return code, failure.terminal, failure.text


def test_a_missing_spec_is_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, terminal, text = ended(tmp_path, f"{tmp_path}/spec.json")

    assert (code, terminal) == (3, True)
    assert "do this: prepare the batch again" in text
    assert f"redolake: {text}" in capsys.readouterr().out


def test_a_spec_of_a_newer_redolake_is_terminal(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps({"format": 99, "record": "batch spec", "tables": []}))

    code, terminal, text = ended(tmp_path, f"{tmp_path}/spec.json")

    assert (code, terminal) == (3, True)
    assert text.startswith("FormatTooNew: written in format 99")


def test_a_transient_error_ends_with_another_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_: str) -> None:
        raise SourceBusy("the cluster is full")

    monkeypatch.setattr(job, "run_file", busy)

    assert ended(tmp_path, "spec.json") == (1, False, "SourceBusy: the cluster is full")
