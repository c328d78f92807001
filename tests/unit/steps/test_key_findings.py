"""What is wrong with the keys of an encrypted landing is known before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError
from redolake.land import layout
from redolake.land.files import Files
from redolake.land.landing import Landing
from redolake.records.lakes import LakeMark
from redolake.steps.checks.key_findings import find_equal_keys, key_findings, neighbour_keys
from tests.unit.land.redo_rows import ORDERS, window, write

KEY = "a key that nobody guesses"
ENCRYPTED = {"landing_key": {"variable": "LANDING_KEY"}}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANDING_KEY", KEY)


def pipeline(folder: Path, **settings: Any) -> Pipeline:
    body = {"name": "shop", "source": {"connection": "o"}, "landing": str(folder), "lake": f"{folder}/lake", "tables": ["A.B"]}
    return Pipeline.model_validate(body | settings)


def land(of: Pipeline) -> None:
    landing = Landing(of.landing, of.name, key=of.landing_secret)
    landing.windows.publish(window(), [ORDERS], write(landing, window()), None)  # type: ignore[no-untyped-call]


def found(of: Pipeline) -> list[tuple[str, str]]:
    return [(finding.severity, finding.what) for finding in key_findings(of)]


def test_a_good_key_has_no_finding(tmp_path: Path) -> None:
    encrypted = pipeline(tmp_path, **ENCRYPTED)
    assert found(encrypted) == found(pipeline(tmp_path)) == []
    land(encrypted)
    assert found(encrypted) == []


def test_a_key_that_is_not_set_here_may_be_set_where_tasks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANDING_KEY")
    older = pipeline(tmp_path, landing_key={"connection": "new"}, old_landing_keys=[{"variable": "LANDING_KEY"}])

    assert found(older) == [("warning", "the key of the landing is not set here")] * 2
    assert [finding.subject for finding in key_findings(older)] == [
        "`landing_key`: connection new",
        "`old_landing_keys`: variable LANDING_KEY",
    ]


def test_the_keys_of_masks_are_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    masked = pipeline(tmp_path, mask_key={"variable": "MASK_KEY"}, tables=[{"table": "A.B", "mask_key": {"variable": "SHORT"}}])
    monkeypatch.setenv("SHORT", "short")

    assert [(finding.subject, *seen) for finding, seen in zip(key_findings(masked), found(masked), strict=True)] == [
        ("`mask_key`: variable MASK_KEY", "warning", "the key of the masks is not set here"),
        ("`mask_key`: variable SHORT", "error", "the key of the masks has less than 16 bytes"),
    ]


def test_another_key_and_no_key_are_errors_for_an_encrypted_landing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    land(pipeline(tmp_path, **ENCRYPTED))
    monkeypatch.setenv("LANDING_KEY", "another key of the landing 93be07c1d4f8")

    ((severity, what),) = found(pipeline(tmp_path, **ENCRYPTED))
    assert (severity, "another one than files of the landing were written with" in what) == ("error", True)
    ((severity, what),) = found(pipeline(tmp_path))
    assert (severity, "pipelines.yml has no `landing_key`" in what) == ("error", True)


@pytest.mark.parametrize(("allowed", "severity"), [("clear", "note"), ("refuse", "warning")])
def test_files_from_before_the_key_are_named(tmp_path: Path, allowed: str, severity: str) -> None:
    land(pipeline(tmp_path))
    ((found_severity, what),) = found(pipeline(tmp_path, masked_in_landing=allowed, **ENCRYPTED))

    assert found_severity == severity
    assert "in clear text, such as windows/" in what


def test_two_keys_that_are_one_are_refused_by_validate_and_by_whatever_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPY", KEY)
    monkeypatch.setenv("OTHER", "a third key that nobody guesses")
    monkeypatch.setenv("AIRFLOW_CONN_COPY", f'{{"password": "{KEY}"}}')
    same: list[dict[str, Any]] = [
        {**ENCRYPTED, "mask_key": {"variable": "LANDING_KEY"}},
        {**ENCRYPTED, "mask_key": {"connection": "copy"}},
        {**ENCRYPTED, "tables": [{"table": "A.B", "mask_key": {"variable": "COPY"}}]},
        {**ENCRYPTED, "old_landing_keys": [{"variable": "COPY"}]},
        {"mask_key": {"variable": "OTHER"}, "landing_key": {"variable": "OTHER"}, "old_landing_keys": [{"variable": "COPY"}]},
        {"mask_key": {"variable": "COPY"}, "tables": [{"table": "A.B", "mask_key": {"variable": "LANDING_KEY"}}]},
    ]
    for settings in same:
        with (
            pytest.raises(ConfigurationError, match="is the same key as") as caught,
            Run(pipeline(tmp_path, **settings)),
        ):
            pass
        assert "openssl rand" in str(caught.value)
        assert KEY not in str(caught.value)
        assert {one[0] for one in found(pipeline(tmp_path, **settings)) if "same key" in one[1]} == {"error"}

    tables = [{"table": name, "mask_key": {"variable": "OTHER"}} for name in ("A.B", "A.C")]
    with Run(pipeline(tmp_path, **ENCRYPTED, mask_key={"variable": "OTHER"}, tables=tables)):
        pass


def test_a_weak_key_of_old_files_is_a_warning_and_of_new_ones_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEAK", "password" * 4)
    old = pipeline(tmp_path, **ENCRYPTED, old_landing_keys=[{"variable": "WEAK"}])
    new = pipeline(tmp_path, landing_key={"variable": "WEAK"})

    assert [(severity, "can be guessed" in what) for severity, what in found(old)] == [("warning", True)]
    assert [(severity, "can be guessed" in what) for severity, what in found(new)] == [("error", True)]


LANDING, MASKS = {"landing_key": {"variable": "LANDING_KEY"}}, {"mask_key": {"variable": "LANDING_KEY"}}
OLD = {"old_landing_keys": [{"variable": "LANDING_KEY"}]}
SAME_TEXT = {"mask_key": {"variable": "MASK_KEY"}}  # another name, one text
TWO = [
    (MASKS, LANDING, "error"),
    (LANDING, MASKS, "error"),
    (SAME_TEXT, LANDING, "error"),
    (SAME_TEXT, OLD, "error"),
    (LANDING, LANDING, "warning"),
    (OLD, LANDING, "warning"),
    (MASKS, MASKS, None),  # joins of masked columns need it
    (SAME_TEXT, MASKS, None),
    ({}, LANDING, None),
]


@pytest.mark.parametrize(("one", "other", "severity"), TWO)
def test_one_key_in_two_pipelines_of_a_file_is_found(
    one: dict[str, Any], other: dict[str, Any], severity: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASK_KEY", KEY)
    second = pipeline(tmp_path / "other", name="other", **other)

    findings = find_equal_keys([pipeline(tmp_path, **one), second])
    assert [finding.severity for finding in findings] == [severity] * (severity is not None)
    for finding in findings:
        assert finding.subject.startswith("shop: `")
        assert "of pipeline other" in finding.what
        assert KEY not in str(finding)


@pytest.mark.parametrize(
    ("own", "severity"), [(MASKS, "error"), (SAME_TEXT, "error"), (LANDING, "warning"), (OLD, "warning"), ({}, None)]
)
@pytest.mark.parametrize("place", ["beside it", "in the same lake"])
def test_doctor_finds_the_key_of_another_pipelines_landing_by_what_that_one_recorded(
    own: dict[str, Any], severity: str | None, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pipelines.yml of that one may be on another machine."""
    monkeypatch.setenv("MASK_KEY", KEY)
    other = pipeline(
        tmp_path if place == "beside it" else tmp_path / "elsewhere", name="other", lake=f"{tmp_path}/lake", **LANDING
    )
    land(other)
    if place == "in the same lake":
        mark = LakeMark("other", other.landing_folder, "token")
        Files(other.lake).create_record(layout.lake_mark("other"), mark)
        (tmp_path / "lake" / "_redolake" / "another-file").write_text("no mark")

    findings = list(neighbour_keys(pipeline(tmp_path, **own)))
    assert [finding.severity for finding in findings] == [severity] * (severity is not None)
    assert all("other" in finding.what and KEY not in str(finding) for finding in findings)


def test_a_landing_beside_it_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "other" / "keys").mkdir(parents=True)
    (tmp_path / "other" / "keys" / "x.json").write_text("{")
    (tmp_path / "file").write_text("no landing")

    assert list(neighbour_keys(pipeline(tmp_path, **LANDING))) == []
    assert list(neighbour_keys(pipeline(tmp_path / "none", **LANDING))) == []
