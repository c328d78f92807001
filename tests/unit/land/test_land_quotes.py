"""The evidence that LogMiner leaves quotes single comes back from the manifests of windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolake.errors import LandingDamaged
from redolake.land import layout
from redolake.land.landing import Landing
from redolake.records.windows import DOUBTFUL_QUOTE_ROWS, SINGLE_QUOTE_ROWS, SINGLE_QUOTES_KNOWN, WindowManifest


def land(landing: Landing, start: int, *, single: int = 0, doubtful: int = 0, known: bool = False) -> WindowManifest:
    slices = {"0": {SINGLE_QUOTE_ROWS: single, DOUBTFUL_QUOTE_ROWS: {"SHOP.PARTS": doubtful} if doubtful else {}}}
    facts = {"slices": slices, **({SINGLE_QUOTES_KNOWN: True} if known else {})}
    made = WindowManifest(7, 11, start, start + 100, (), ("SHOP.PARTS",), {}, "hash", (), (), circumstance=facts)
    landing.files.create_record(layout.window_manifest(made.name), made)
    landing.files.create_record(layout.link_of(made.name), made)
    return made


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    """Return a landing of three windows: one with doubtful quotes, the one with the evidence, and a later one."""
    made = Landing(str(tmp_path), "shop")
    land(made, 100, doubtful=5)
    with_evidence = land(made, 200, single=1)
    made.quotes.record_evidence(with_evidence.name, made.windows.after()[:1])
    land(made, 300, known=True)
    return made


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "damaged"])
def test_evidence_that_is_damaged_or_gone_is_found_again(landing: Landing, tmp_path: Path, is_gone: bool) -> None:
    """Without it `5''` would be read as `5'`."""
    file = tmp_path / "shop" / layout.SINGLE_QUOTES
    written = file.read_bytes()
    file.unlink() if is_gone else file.write_bytes(written[:-9])

    found = Landing(str(tmp_path), "shop").quotes.evidence()

    assert found is not None
    assert found.doubtful["SHOP.PARTS"].rows == 5
    assert file.read_bytes() == written


def test_evidence_whose_windows_are_gone_too_stops(tmp_path: Path) -> None:
    made = Landing(str(tmp_path), "shop")
    land(made, 300, known=True)

    with pytest.raises(LandingDamaged, match="the file is gone"):
        made.quotes.evidence()


def test_a_database_that_doubles_its_quotes_has_no_evidence(tmp_path: Path) -> None:
    made = Landing(str(tmp_path), "shop")
    land(made, 100, doubtful=5)

    assert made.quotes.evidence() is None
