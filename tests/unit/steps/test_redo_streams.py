"""The control file, read again at a window's close, must know the log at which each stream stands."""

from __future__ import annotations

import pytest

from redolake.errors import StreamLost
from redolake.source.olr import Address, Anchor
from redolake.steps.shared.redo_streams import Logs, Stream, StreamState, check_anchor

STREAM = Stream(1, Address("host", 5000, "DB"), None, StreamState(), {})
ENDED: Logs = {7: (100, 200), 8: (200, None)}


@pytest.mark.parametrize(
    ("scn", "sequence", "said"),
    [
        (150, 7, None),
        (99, 7, None),  # a group of redo may have the SCN below its first change
        (200, 7, None),
        (900, 8, None),
        (98, 7, r"has with the SCNs \[100, 200\)"),
        (201, 7, r"has with the SCNs \[100, 200\)"),
        (150, 8, r"has with the SCNs \[200, open\)"),
        (150, 9, "does not have"),
    ],
)
def test_a_stream_stands_in_a_log_that_the_control_file_knows_with_its_scns(scn: int, sequence: int, said: str | None) -> None:
    anchor = Anchor(scn, sequence, 512)
    if said is None:
        check_anchor(STREAM, anchor, ENDED, is_standby=False)
        return
    with pytest.raises(StreamLost, match=f"{said}: it reads another database") as lost:
        check_anchor(STREAM, anchor, ENDED, is_standby=False)
    assert (lost.value.where["thread"], lost.value.where["sequence"], lost.value.where["c_scn"]) == (1, sequence, scn)


def test_on_a_standby_a_log_may_be_unknown_and_not_another_one() -> None:
    check_anchor(STREAM, Anchor(150, 9, 512), ENDED, is_standby=True)
    check_anchor(STREAM, None, ENDED, is_standby=False)
    with pytest.raises(StreamLost):
        check_anchor(STREAM, Anchor(300, 7, 512), ENDED, is_standby=True)
