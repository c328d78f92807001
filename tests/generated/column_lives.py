"""A table whose choice of columns changes while it is written, captured and applied, in any order and with kills."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import RedolakeError
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.table_versions import known_versions
from redolake.values.table import TableId
from tests.fixtures.shop import Shop
from tests.generated.table_lives import killer
from tests.states.lost_ledger import lose_ledger
from tests.support.killed import Killed

TABLE = "SHOP.PARTS"
COLUMNS = ("A", "B", "C")  # each may be left out
CREATE = (
    "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, a VARCHAR2(9), b NUMBER(9), c DATE)",
    "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    *(f"INSERT INTO parts VALUES ({n}, 'first', {n}, DATE '2026-01-01')" for n in range(1, 7)),
)


@dataclass
class ColumnLife:
    """`without` are the columns that pipelines.yml leaves out."""

    shop: Shop
    lake: Any
    chance: random.Random
    without: set[str] = field(default_factory=lambda: {*COLUMNS})
    sessions: list[Any] = field(default_factory=list)
    next_id: int = 10
    added: int = 0
    filled: int = 0
    compared: int = 0
    log: list[str] = field(default_factory=list)

    @property
    def pipeline(self) -> Pipeline:
        table = {"table": TABLE, "exclude_columns": sorted(self.without)}
        return self.shop.pipeline(tables=[table], window={"max_bytes": 1, "slice_bytes": 1}, lease_wait_minutes=0)

    def work(self) -> None:
        for _ in range(self.chance.randint(1, 4)):
            session = self.chance.randrange(2)
            self.change(session)
            if (end := self.chance.random()) < 0.5:
                self.sessions[session].commit()
            elif end < 0.6:
                self.sessions[session].rollback()

    def change(self, session: int) -> None:
        """Change a row; each session has keys of its own."""
        with self.sessions[session].cursor() as cursor:
            mine = [int(row[0]) for row in cursor.execute(f"SELECT id FROM parts WHERE MOD(id, 2) = {session}")]
            choice, number = self.chance.random(), self.chance.randrange(100)
            self.next_id += 2
            if choice < 0.3 or not mine:
                sql = f"INSERT INTO parts (id, a, b, c) VALUES ({self.next_id + session}, 't{number}', {number}, SYSDATE)"
            elif choice < 0.8:
                value = self.chance.choice([f"a = 't{number}'", f"b = {number}", "c = NULL", f"a = NULL, b = {number}"])
                sql = f"UPDATE parts SET {value} WHERE id = {self.chance.choice(mine)}"
            elif choice < 0.9:
                sql = f"UPDATE parts SET id = {self.next_id + session} WHERE id = {self.chance.choice(mine)}"
            else:
                sql = f"DELETE FROM parts WHERE id = {self.chance.choice(mine)}"
            cursor.execute(sql)
        self.log.append(f"    session {session}: {sql}")

    def ddl(self) -> None:
        if self.added < 2:
            for session in self.sessions:
                session.commit()
            self.added += 1
            self.shop.run_sql(f"ALTER TABLE parts ADD (d{self.added} NUMBER(9))")

    def choose(self) -> None:
        """Want more columns."""
        self.without = {name for name in self.without if self.chance.random() < 0.7}

    def run(self) -> None:
        self.shop.switch_logs()
        steps.run_pipeline(self.pipeline, until_caught_up=True, source=self.shop.params, spark=self.lake)

    def fill(self) -> None:
        found = steps.fill_columns(
            self.pipeline, TABLE, execute=True, reason="wanted", source=self.shop.params, spark=self.lake
        )
        self.filled += 1
        self.log.append("    " + "; ".join(found.lines))

    def lose(self) -> None:
        lose_ledger(self.shop.folder / "landing")

    def compare(self) -> None:
        """See that what the table has is what the source had at its position."""
        if [entry.state for entry in steps.read_status(self.pipeline).tables] == ["live"]:
            found = steps.verify_tables(self.pipeline, source=self.shop.params, spark=self.lake)
            assert all(one.equal for one in found.tables), "\n".join([*self.log, *map(str, found.tables)])
            self.compared += len(found.tables)  # none where Oracle refuses to read so near to a DDL

    def something(self) -> None:
        weights: dict[Callable[[], None], int] = {
            self.work: 8, self.run: 6, self.choose: 3, self.fill: 6, self.ddl: 1, self.lose: 1, self.compare: 2,
            self.restore: 2,
        }  # fmt: skip
        step = self.chance.choices([*weights], [*weights.values()])[0]
        is_killed = step in (self.run, self.fill) and self.chance.random() < 0.4
        point = killer(self.chance.randint(1, 12)) if is_killed else lambda _: None
        self.log.append(step.__name__ + (" (killed)" if is_killed else ""))
        try:
            with mock.patch("redolake.host.crash.point", point):
                step()
        except Killed:
            self.log.append("    killed")
        except RedolakeError as error:
            self.log.append(f"    {error}"[:300])

    def play(self, length: int) -> None:
        """Do anything in any order; then want all columns, and let everything end."""
        steps.take_snapshot(self.pipeline, source=self.shop.params, spark=self.lake)
        for _ in range(length):
            self.something()
        for session in self.sessions:
            session.commit()
        self.log.append("--- undisturbed from here")
        if self.without:
            self.run()
            self.without = set()
        self.fill_what_is_left()
        self.run()

    def fill_what_is_left(self) -> None:
        self.run()
        (entry,) = steps.read_status(self.pipeline).tables
        if entry.state == "held":
            assert entry.code == "SchemaConflict", "\n".join([*self.log, str(entry)])
            self.restore()
            self.run()
            self.without = set()
            self.fill()

    def restore(self) -> None:
        """Do what the errors say where a DDL is in the way: restore the old choice, and let apply pass it."""
        with Run(self.pipeline) as context:
            reconcile_ledger(context)
            self.without = {*known_versions(context, TableId.parse(TABLE))[-1].left_out}
        if steps.read_status(self.pipeline).tables[0].state == "held":
            steps.resume_tables(self.pipeline, [TABLE])
