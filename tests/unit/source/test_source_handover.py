"""A snapshot starts only where V$TRANSACTION shows every open transaction."""

from __future__ import annotations

from collections import namedtuple

import pytest

from pipelines.errors import SnapshotTooEarly, SourceRefused
from pipelines.scn import Scn
from pipelines.source.facts import ActiveTransaction
from pipelines.source.handover import require_known_starts, require_primary

Prepared = namedtuple("Prepared", "local_tran_id con_id")
LISTED = (ActiveTransaction("5.1.99", Scn(100), 3),)


def test_a_standby_is_refused_because_it_does_not_show_the_primarys_transactions():
    require_primary("PRIMARY")
    with pytest.raises(SourceRefused, match="does not show the transactions that are open on the primary"):
        require_primary("PHYSICAL STANDBY")


@pytest.mark.parametrize("prepared", [Prepared("6.1.7", 3), Prepared("5.1.99", 4)], ids=["unlisted", "another PDB's"])
def test_a_prepared_transaction_without_a_known_start_must_end_before_a_snapshot(prepared):
    require_known_starts([Prepared("5.1.99", 3)], LISTED)
    with pytest.raises(SnapshotTooEarly, match="in doubt") as caught:
        require_known_starts([Prepared("5.1.99", 3), prepared], LISTED)

    assert f"COMMIT FORCE '{prepared.local_tran_id}'" in caught.value.cure
