"""Work beside the rounds of a run: its error ends the run, and the end of the run asks it to stop."""

from __future__ import annotations

import pytest

from redolake.errors import Terminal
from redolake.steps.snapshots.beside import Beside


def test_an_error_of_the_work_is_raised_at_the_next_look_and_only_once() -> None:
    def fail() -> None:
        raise Terminal("the lake is gone")

    with Beside() as beside:
        beside.start(fail)
        beside.wait(60)
        with pytest.raises(Terminal, match="the lake is gone"):
            beside.is_free()
        assert beside.is_free()


def test_the_end_of_the_block_asks_the_work_to_stop_and_waits_for_it() -> None:
    ended = list[bool]()

    def read() -> None:
        ended.append(beside.stop.wait(60))

    with Beside() as beside:
        beside.start(read)
        assert not beside.is_free()

    assert ended == [True]
