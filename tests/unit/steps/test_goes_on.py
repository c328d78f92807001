"""No step is repeated for ever: a window or batch that is done and would be due again stops with an error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from redolake.errors import InvariantBroken
from redolake.land.landing import Landing
from redolake.steps.apply import batch as apply
from redolake.steps.capture import windows as capture
from tests.unit.land.redo_rows import ORDERS, window, write
from tests.unit.records.samples import RESULT


def test_a_window_that_has_landed_is_not_mined_again(tmp_path: Path) -> None:
    landing = Landing(str(tmp_path), "shop")
    landed = landing.windows.publish(window(), [ORDERS], write(landing, window()), None)
    context: Any = SimpleNamespace(landing=landing)

    capture.check_goes_on(context, landed)
    with pytest.raises(InvariantBroken, match="the chain ends before it: at SCN 300"):
        capture.check_goes_on(context, replace(landed, end=301))
    with pytest.raises(InvariantBroken, match="nowhere"):
        capture.check_goes_on(SimpleNamespace(landing=Landing(str(tmp_path), "other")), landed)  # type: ignore[arg-type]


def test_a_batch_that_is_applied_is_not_applied_again(tmp_path: Path) -> None:
    landing, name = Landing(str(tmp_path), "shop"), "0000000001-00000000000000000010-00000000000000000100"
    context: Any = SimpleNamespace(landing=landing)
    with pytest.raises(InvariantBroken, match="does not count"):
        apply.check_goes_on(context, RESULT, name)
    landing.files.write_new_record(f"batches/{name}/manifest.json", RESULT)

    apply.check_goes_on(context, RESULT, name)


def test_a_table_that_was_caught_up_and_still_lags_is_not_caught_up_again(tmp_path: Path) -> None:
    caught_up = replace(RESULT, token="SHOP.T:token")
    entry = SimpleNamespace(state="live", position=RESULT.start_position)
    ledger = SimpleNamespace(table=lambda _: entry)
    context: Any = SimpleNamespace(landing=Landing(str(tmp_path), "shop"), ledger=ledger)

    with pytest.raises(InvariantBroken, match="does not count"):
        apply.check_goes_on(context, caught_up, "a catch-up")
    entry.position = RESULT.end_position.plus(-1)
    apply.check_goes_on(context, caught_up, "a catch-up")
    entry.state, entry.position = "held", RESULT.start_position
    apply.check_goes_on(context, caught_up, "a catch-up")
