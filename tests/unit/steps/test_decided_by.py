"""Who decided is never empty: a program that names nobody is named itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from redolake import steps
from redolake.context import Run, owner
from redolake.operations import OPERATIONS

DECIDES: dict[str, tuple[str, dict[str, Any]]] = {
    "tx drop": ("drop_transaction", {"xid": "1.2.3"}),
    "resume": ("resume_tables", {"tables": ("SHOP.A",)}),
    "recover": ("recover_redo_loss", {"choice": "gap"}),
    "remine": ("discard_windows", {"window": "w", "discard": True}),
}


@pytest.mark.parametrize("command", DECIDES)
def test_a_decision_without_a_name_has_that_of_the_process(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step, chosen = DECIDES[command]
    decide = mock.Mock(side_effect=InterruptedError)
    monkeypatch.setattr(steps, step, decide)
    monkeypatch.setattr(steps, "look_up_transaction", lambda *_: SimpleNamespace(con_id=3, start_scn=1))
    operation = OPERATIONS[command]
    given = {one.name: one.default for one in operation.parameters} | chosen

    with pytest.raises(InterruptedError):
        operation.act(Run(mock.Mock(), execute=True, reason="old"), **given)

    assert decide.call_args.kwargs["by"] == owner()
