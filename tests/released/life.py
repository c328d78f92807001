"""The life of a small database, statement by statement: it is lived once for a release, and again for each test of an upgrade.

A kept state names SCNs, ROWIDs, XIDs and the identity of its database. So its statements are kept with the SCN at which each
began, and are run again at the same ones, in a stand-in whose clock stands still.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from standin.serve import SCRIPTS, standin
from tests.fixtures.shop import Shop

NOON = 1_780_315_200  # 2026-06-01 12:00:00 UTC
SWITCH, COMMIT = "ALTER SYSTEM ARCHIVE LOG CURRENT", "COMMIT"


@dataclass(frozen=True, slots=True)
class Said:
    """A statement of one session, and the SCN of the database before it."""

    scn: int
    session: str
    sql: str


@dataclass(slots=True)
class Life:
    """`said` is what has happened so far."""

    shop: Shop
    sessions: dict[str, Any] = field(default_factory=dict)
    said: list[Said] = field(default_factory=list)
    kept: ExitStack = field(default_factory=ExitStack)

    def say(self, *statements: str, session: str = "SHOP") -> None:
        """Run statements in a session that stays open; it commits where a statement is COMMIT."""
        for sql in statements:
            self.said.append(Said(self.shop.oracle.database.clock.scn, session, sql))
            self.run(session, sql)

    def switch(self) -> None:
        self.say(SWITCH, session="SYS")

    def run(self, session: str, sql: str) -> None:
        if session not in self.sessions:
            user = session if session == "SYS" else "SHOP"
            self.sessions[session] = self.kept.enter_context(self.shop.oracle.connect(user))
        if sql == COMMIT:
            self.sessions[session].commit()
        else:
            self.sessions[session].cursor().execute(sql)

    def again(self, said: Sequence[Said]) -> None:
        """Live what was lived before, each statement at the SCN that it had."""
        clock = self.shop.oracle.database.clock
        for one in said:
            assert clock.scn <= one.scn, f"{one.sql} began at SCN {one.scn}, and the stand-in is at {clock.scn} already"
            clock.advance(one.scn - clock.scn)
            self.say(one.sql, session=one.session)
            assert self.said[-1] == one

    def as_list(self) -> list[dict[str, Any]]:
        return [asdict(one) for one in self.said]


@contextmanager
def open_life(folder: Path, scripts: Path = SCRIPTS) -> Iterator[Life]:
    """Start a stand-in without tables, whose time and SCN stand still while nobody asks for one. `scripts` has the set-up
    script that a DBA has run: each of its grants takes SCNs, so a life is lived again with that of its release."""
    with (
        mock.patch("standin.serve.SCRIPTS", scripts),
        mock.patch("standin.engine.redo.clock.time", SimpleNamespace(time=lambda: NOON)),
        standin(threads=2, log_bytes=64 << 10, archive_lag_target=0, background=False, directory=folder / "source") as oracle,
    ):
        life = Life(Shop(oracle, folder))
        with life.kept:
            yield life
