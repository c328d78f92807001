"""Generated lives of tables (tests/generated/table_life.py), copied: windows cut anywhere, redo mined at once or long after.

Several tables live beside each other in one stand-in and one pipeline, so that a life costs little. Whatever batch is applied
must end with the rows of its last round.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

from redolake import steps
from redolake.context import Run
from redolake.context.spark import Spark
from redolake.source.olr import needed_configuration
from redolake.steps.run import apply, capture, first_contents, snapshot_again
from redolake.steps.snapshots.beside import Beside
from redolake.window.dictionary import BUILD
from standin.olr.options import Behaviour
from standin.olr.server import OlrServer
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.table_life import Life, known
from tests.references.delta_table import read_delta
from tests.references.plain_lake import PlainLake
from tests.support.killed import Killed

AGAIN = {"recreate": "resnapshot", "primary_key": "resnapshot", "unknown_ddl": "resnapshot"}
UNSHOWN = "LogMiner cannot show a change of the table (UNSUPPORTED)"
T = TypeVar("T")


def killer(writes: int) -> Callable[[str], None]:
    """Return a crash point that ends the step after that many writes. Those of the thread that renews a lease do not count."""
    left = [writes]

    def point(_: str) -> None:
        if threading.current_thread().name == "lease":
            return
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    return point


@dataclass
class Lives:
    """Tables that live beside each other, and their copies: in a plain lake, or in Delta by `spark`.

    `checked` counts the states that were compared.
    """

    shop: Shop
    lives: list[Life]
    chance: random.Random
    lake: PlainLake | None
    pipeline: Any
    spark: Any
    checked: int = 0
    kills: bool = False
    killed: int = 0
    server: OlrServer | None = None
    hidden: int = 0  # tables that were held because LogMiner showed none of their changes
    handovers: int = -1  # from one reader to the other; below 0, there shall be none

    def hand_over(self) -> None:
        """Let the other reader go on: LogMiner, or an OpenLogReplicator without checkpoint files."""
        assert self.server is not None
        stream = {"kind": "openlogreplicator", "address": self.server.address, "database": "DB"}
        if self.pipeline.source.is_stream:
            stream = {"kind": "logminer", "address": None, "database": None}
        else:
            self.server.forget()
        self.pipeline = self.pipeline.model_copy(update={"source": self.pipeline.source.model_copy(update=stream)})
        self.handovers += 1

    def build_dictionary(self) -> None:
        """Write the dictionary into the redo, where LogMiner takes it from there."""
        if self.pipeline.source.dictionary == "redo":
            self.shop.run_sql(BUILD, *["ALTER SYSTEM ARCHIVE LOG CURRENT"] * 2, user="SYS")

    def play(self, rounds: int) -> None:
        self.build_dictionary()
        steps.take_snapshot(self.pipeline, source=self.shop.params, spark=self.spark)
        for _ in range(rounds):
            for _ in range(self.chance.randint(2, 5) * len(self.lives)):
                life = self.chance.choice(self.lives)
                life.alter() if self.chance.random() < 0.2 else life.work()
            self.end_round()
            if self.handovers >= 0 and self.chance.random() < 0.5:
                self.hand_over()
            if self.chance.random() < 0.4 or any(life.must_land for life in self.lives):
                self.capture()
                self.build_dictionary()
            if self.chance.random() < 0.4:
                self.apply()
        for life in self.lives:
            life.sessions[0].commit()
            life.sessions[1].rollback()
        self.end_round()
        self.capture()
        self.apply()
        assert not self.held(), self.held()

    def end_round(self) -> None:
        scn = self.shop.oracle.database.clock.scn
        for life in self.lives:
            life.record(scn)
        self.shop.switch_logs()

    def capture(self) -> None:
        while self.run(lambda: capture(Run(self.pipeline, self.shop.params))).plan.outcome == "window":
            pass
        for life in self.lives:
            life.renamed = life.must_land = False

    def apply(self) -> None:
        with Spark(self.pipeline, self.spark) as session:
            while self.run(lambda: apply(Run(self.pipeline, spark=session))):
                self.check()
            if held := self.held():
                self.read_again(held, session)

    def held(self) -> dict[str, str]:
        return {t.table: str(t.error) for t in steps.read_status(self.pipeline).tables if t.error}

    def read_again(self, held: Mapping[str, str], session: Any) -> None:
        """Let the policies snapshot the held tables again, while no transaction is open in them."""
        for life in (life for life in self.lives if f"SHOP.{life.entry}" in held):
            life.end_transactions()
            life.was_read_again, life.another_object = True, False
            for sql in life.shorten():
                assert life.run(life.sessions[2], sql), sql
        self.end_round()
        self.capture()
        while self.run(lambda: apply(Run(self.pipeline, spark=session))):
            self.check()
        hidden = [life for life in self.lives if UNSHOWN in held.get(f"SHOP.{life.entry}", "")]
        if names := [f"SHOP.{life.entry}" for life in hidden]:
            self.run(lambda: steps.take_snapshot(self.pipeline, names, replace=True, source=self.shop.params, spark=session))
        for life in hidden:
            life.unshown = False
            self.hidden += 1
        with Beside() as beside, Run(self.pipeline, self.shop.params, session) as run:
            self.run(lambda: snapshot_again(run, beside))
            first_contents(run, beside)  # of a load that was killed
        self.check()
        assert not self.held(), self.held()

    def run(self, step: Callable[[], T]) -> T:
        """Run a step; perhaps kill it after some of its writes first, and repeat it."""
        while self.kills and self.chance.random() < 0.3:
            with suppress(Killed), mock.patch("redolake.host.crash.point", killer(self.chance.randint(1, 9))):
                return step()
            self.killed += 1
        return step()

    def check(self) -> None:
        found = {t.table: t for t in steps.read_status(self.pipeline).tables}
        for life in self.lives:
            said = "\n".join(life.said[-60:])
            status = found[f"SHOP.{life.entry}"]
            if status.error and status.cure and "it is snapshotted" in status.cure:
                continue
            if life.unshown and UNSHOWN in str(status.error):
                continue
            assert not status.error, f"{status.error}\n{said}"
            position = status.complete_to_scn
            state = next(s for s in reversed(life.states) if s.scn <= position)
            ours = {int(row["ID"]): row for row in self.rows(f"{self.pipeline.lake}/shop/{life.entry.lower()}")}
            assert ours == state.rows, f"{life.table} at SCN {position} (recorded at {state.scn})\n{said}"
            self.checked += 1

    def check_versions(self) -> None:
        """Compare the columns that `schema at` shows for the SCN of each recorded state with those that the table had."""
        for life in (life for life in self.lives if not life.was_read_again):
            for state in life.states:
                shown = steps.schema_at(self.pipeline, f"SHOP.{life.entry}", state.scn)
                assert {column.name for column in shown.columns} == state.names, f"{shown}\n" + "\n".join(life.said)

    def rows(self, path: str) -> list[dict[str, Any]]:
        if self.lake is None:
            delta = read_delta(path).to_pylist()
            return [{name: known(value) for name, value in row.items() if not name.startswith("_")} for row in delta]
        table = self.lake.tables[path]
        assert table.version is not None
        names = [column.name for column in table.version.columns]
        return [dict(zip(names, row, strict=True)) for row in table.rows.values()]


@contextmanager
def lives(
    folder: Path,
    seed: int,
    tables: int,
    spark: Any = None,
    *,
    dictionary: str = "online",
    by_pattern: bool = False,
    resnapshots: bool = False,
    kills: bool = False,
    hides: bool = False,
    stream: Behaviour | None = None,
    hands_over: bool = False,
    **options: Any,
) -> Iterator[Lives]:
    """Start a new stand-in with that many tables, every third one partitioned, and a pipeline over them that follows every DDL.
    With `resnapshots` it snapshots tables again that have become others. With `stream`, an OpenLogReplicator reads the redo;
    with `hands_over`, it and LogMiner in turns. With `hides`, LogMiner cannot show the rows of some."""
    chance = random.Random(seed)
    options.setdefault("nonblocking_ddl", True)
    with standin(background=False, archive_lag_target=0, ddl_age=60, **options) as oracle:
        shop = Shop(oracle, folder)
        source = {"connection": "oracle_shop", "container": "FREEPDB1", "dictionary": dictionary}
        server = None
        if stream is not None:
            server = oracle.replicate(needed_configuration("DB", "127.0.0.1:0", []), stream)
            source |= {"kind": "openlogreplicator", "address": server.address, "database": "DB"}
        found = [
            Life(f"LIFE{n}", random.Random(chance.random()), [oracle.connect("SHOP") for _ in range(3)]) for n in range(tables)
        ]
        for number, life in enumerate(found):
            life.partitioned, life.by_pattern, life.resnapshots = number % 3 == 2, by_pattern, resnapshots
            life.hides = hides
            life.create()
            life.work()
            life.sessions[0].commit()
            life.sessions[1].commit()
        pipeline = shop.pipeline(
            tables=["SHOP.LIFE*"] if by_pattern else [f"SHOP.{life.table}" for life in found],
            source=source,
            on_ddl={
                **dict.fromkeys(("truncate", "drop_partition", "computed_default"), "follow"),
                "narrow": "follow",
                "drop_table": "keep",
                **(AGAIN if resnapshots else {}),
            },
            resnapshot={"pause_minutes": 0, "attempts": 100},
            window={"max_bytes": 1 if stream is None else 100_000, "slice_bytes": 1},
            parallel_sessions=1,
        )
        lake = PlainLake(replays=True) if spark is None else None
        with nullcontext() if lake is None else lake.in_place_of_spark():
            yield Lives(
                shop, found, chance, lake, pipeline, spark or "no Spark", kills=kills, server=server,
                handovers=0 if hands_over else -1,
            )  # fmt: skip
        for life in found:
            for session in life.sessions:
                session.close()
