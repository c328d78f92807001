"""The archived logs that a mining error shows to be missing."""

from __future__ import annotations

import pytest

from redolake.errors import RedoLost
from redolake.reconcile.redo_loss import unreadable_logs
from redolake.values.redo import LogCopy, LogFile, Slice, Window
from redolake.values.scn import Scn, ScnRange

LOG = LogFile(1, 5, 11, Scn(100), Scn(200), (LogCopy(1, "/arch/1_5", "A", False, False, True),), 10)
WINDOW = Window(7, 11, ScnRange(Scn(100), Scn(200)), (Slice(0, 1, (LOG,)),))


@pytest.mark.parametrize(
    ("error", "sequences"),
    [
        pytest.param(RedoLost("not available", thread=1, sequence=5, tried="destination 1: gone"), [5], id="no copy remains"),
        pytest.param(RedoLost("a hole", ora_code=1291, thread=1, sequence=5), [5], id="the redo stream has a hole"),
        pytest.param(RedoLost("no supplemental log data found", thread=1, sequence=5), [], id="no supplemental logging"),
    ],
)
def test_a_log_is_missing_only_if_restoring_it_helps(error, sequences):
    assert [log.sequence for log in unreadable_logs(error, WINDOW)] == sequences
