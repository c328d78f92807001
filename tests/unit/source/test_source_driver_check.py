"""A python-oracledb that drops or shifts repeated values is refused before anything is read with it."""

from __future__ import annotations

from collections.abc import Iterator

import oracledb
import pytest

from redolake.errors import ConfigurationError
from redolake.source import ConnectParams, driver_findings, open_source
from tests.support.assumes import assumes


@pytest.fixture(autouse=True)
def _asked_again() -> Iterator[None]:
    driver_findings.cache_clear()
    yield
    driver_findings.cache_clear()


@assumes(
    "the installed driver reads no wrong value into Arrow, as earlier ones do", of="oracledb",
    used_in="pipelines/redolake/source/driver_check.py", says="Refuse a python-oracledb that reads wrong values into Arrow",
)  # fmt: skip
def test_the_installed_driver_is_sound() -> None:
    assert driver_findings() == []


@pytest.mark.parametrize("version", ["26.1.0", "26.1.1b2", "26.2.0", "27.0.0"])
def test_later_versions_are_accepted(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(oracledb, "__version__", version)
    assert driver_findings() == []


@pytest.mark.parametrize(
    ("version", "reports"), [("26.0.1", ["#606"]), ("26.0.0", ["#605", "#597", "#606"]), ("3.4.2", ["#605", "#606"])]
)
def test_a_faulty_version_is_named_with_its_faults_and_the_cure(monkeypatch, version: str, reports: list[str]) -> None:
    monkeypatch.setattr(oracledb, "__version__", version)

    (finding,) = driver_findings()
    assert (finding.severity, finding.subject) == ("error", "python-oracledb")
    assert version in finding.what
    assert [report for report in reports if report not in finding.what] == []
    assert "oracledb 26.1.0 or later" in finding.cure


def test_nothing_is_read_with_a_faulty_driver(monkeypatch) -> None:
    monkeypatch.setattr(oracledb, "__version__", "26.0.0")
    with pytest.raises(ConfigurationError, match="python-oracledb"):
        open_source(ConnectParams("u", "p", "nowhere:1/x"))
