"""Random histories of one Oracle table and the redo rows they leave: transactions that interleave on two redo threads, with
savepoints, failed statements, parallel DML, moved and swapped keys, reused ROWIDs, rollbacks whose XIDSQN LogMiner does not
know, undo rows before their changes (as 19.13 shows them), and rows that come late, out of the order of SCNs.

`cut` gives `History.rows` their windows and ordinals. `truth(scn)` is the table AS OF that SCN, `dispositions(scn)` those of
its rows.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

Values = tuple[int, str]  # ID, V
APPLIED, UNDONE, ROLLED_BACK, CARRIED_OUT = "applied", "undone", "rolled_back", "carried_out"


@dataclass
class Server:
    """A writer of redo under one xid: a session or one of its parallel servers."""

    xid: str
    thread: int
    pxid: str | None = None
    begun: bool = False

    @property
    def slot(self) -> str:
        return self.xid.rpartition(".")[0]


@dataclass
class Done:
    """A change that its transaction may still undo; `number` identifies its row."""

    code: int
    row_id: str
    before: Values | None
    after: Values | None
    by: Server
    number: int


@dataclass
class Open(Server):
    servers: list[Server] = field(default_factory=list)
    undo: list[Done] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)  # ROWIDs of its servers: nothing else of it may touch them (ORA-12838)
    keys: set[int] = field(default_factory=set)
    numbers: list[int] = field(default_factory=list)  # of its change rows, its servers' included


class History:
    def __init__(self, seed: int, steps: int = 60, con_id: int = 3, object_id: int = 100) -> None:
        self.random, self.con_id, self.object_id = random.Random(seed), con_id, object_id
        self.scn = 1000
        self.rows: list[dict[str, Any]] = []
        self.current: dict[str, Values] = {}  # as the writers see it, uncommitted changes included
        self.committed: dict[str, Values] = {}
        self.states: list[tuple[int, dict[int, str]]] = [(0, {})]
        self.disposition: dict[int, tuple[int, str]] = {}  # by the row's number: its transaction's end, and what became of it
        self.undone: set[int] = set()
        self.open: list[Open] = []
        self.free: list[str] = []
        self.sequence = 0
        self.last_commit: tuple[int, int] = (0, 0)
        for _ in range(steps):
            self.step()
        self.come_late()

    def dispositions(self, scn: int) -> dict[int, str]:
        """Return the disposition by number of each change row at or below `scn`, as known from the redo up to there."""
        changes = [row for row in self.rows if row["scn"] <= scn and row["operation_code"] in (1, 2, 3)]
        ends = {row["number"]: self.disposition.get(row["number"], (scn + 1, CARRIED_OUT)) for row in changes}
        return {number: what if end <= scn else CARRIED_OUT for number, (end, what) in ends.items()}

    def truth(self, scn: int) -> dict[int, str]:
        return next(state for at, state in reversed(self.states) if at <= scn)

    @property
    def end(self) -> int:
        return self.scn + 1

    # --- what happens

    def step(self) -> None:
        if not self.open or (len(self.open) < 4 and self.random.random() < 0.25):
            self.open.append(Open(self.new_xid(), self.random.randint(1, 2)))
        writer = self.random.choice(self.open)
        actions = [self.change, self.swap, self.savepoint, self.parallel, self.commit, self.roll_back]
        self.random.choices(actions, [10, 2, 2, 1, 3, 1])[0](writer)

    def change(self, writer: Open) -> None:
        mine = [r for r in self.current if self.may_touch(writer, r)]
        choice = self.random.random()
        if choice < 0.4 or not mine:
            key = self.new_key(writer)
            self.write(writer, 1, self.new_row_id(writer), None, (key, self.text()))
            return
        row_id = self.random.choice(mine)
        before = self.current[row_id]
        if choice < 0.6:
            self.write(writer, 3, row_id, before, (before[0], self.text()))
        elif choice < 0.7:
            self.write(writer, 3, row_id, before, (self.new_key(writer), before[1]))
        elif choice < 0.85:
            self.write(writer, 2, row_id, before, None)
        else:  # the same key again, in the same place or in another (row movement)
            self.write(writer, 2, row_id, before, None)
            again = row_id if self.random.random() < 0.5 else self.new_row_id(writer)
            self.write(writer, 1, again, None, (before[0], self.text()))

    def swap(self, writer: Open) -> None:
        """update t set id = case id when a then b when b then c when c then a end"""
        mine = [r for r in self.current if self.may_touch(writer, r)]
        if len(mine) < 2:
            return
        chosen = self.random.sample(mine, min(len(mine), self.random.choice([2, 3])))
        keys = [self.current[r][0] for r in chosen]
        for row_id, key in zip(chosen, keys[1:] + keys[:1], strict=True):
            self.write(writer, 3, row_id, self.current[row_id], (key, self.current[row_id][1]))

    def savepoint(self, writer: Open) -> None:
        mark = len(writer.undo)
        for _ in range(self.random.randint(1, 4)):
            self.change(writer)
            if self.random.random() < 0.3:
                self.undo_to(writer, max(mark, len(writer.undo) - 1))  # a statement fails
        if self.random.random() < 0.7:
            self.undo_to(writer, mark)

    def parallel(self, writer: Open) -> None:
        """Run a statement on two servers: each changes rows that the transaction has not touched yet."""
        self.begin(writer)
        servers = []
        for _ in range(2):
            servers.append(Server(self.new_xid(), self.random.randint(1, 2), pxid=writer.xid))
            writer.servers.append(servers[-1])
        mark, first = len(writer.undo), len(writer.numbers)
        for row_id in [r for r in self.current if self.may_touch(writer, r) and r not in writer.touched][:4]:
            by, before = self.random.choice(servers), self.current[row_id]
            after = self.random.choice([None, (before[0], self.text()), (self.new_key(writer), before[1])])
            self.write(writer, 2 if after is None else 3, row_id, before, after, by)
        for by in servers:
            if self.random.random() < 0.7:
                self.write(writer, 1, self.new_row_id(writer, fresh=True), None, (self.new_key(writer), self.text()), by)
        if self.random.random() < 0.3:  # it fails: what it has changed may be changed again
            writer.shared -= {done.row_id for done in writer.undo[mark:]}
            self.undo_to(writer, mark)
            if self.random.random() < 0.7:
                self.end_servers(writer, servers, first)

    def end_servers(self, writer: Open, servers: list[Server], first: int) -> None:
        """End the server transactions of a failed statement."""
        self.tick()
        for by in servers:
            if by.begun:
                self.row(by, 36)
        self.settle(writer.numbers[first:], ROLLED_BACK)
        del writer.numbers[first:]
        writer.servers = [by for by in writer.servers if by not in servers]

    def commit(self, writer: Open) -> None:
        scn, thread = self.last_commit
        if not (scn == self.scn and thread != writer.thread and self.random.random() < 0.5):
            self.tick()
        self.last_commit = (self.scn, writer.thread)
        self.end_of(writer, 7)
        self.settle(writer.numbers, APPLIED)
        for row_id in writer.touched:
            self.committed.pop(row_id, None)
            if row_id in self.current:
                self.committed[row_id] = self.current[row_id]
            else:
                self.free.append(row_id)
        self.open.remove(writer)
        self.states.append((self.scn, dict(self.committed.values())))

    def roll_back(self, writer: Open) -> None:
        nameless = self.random.random() < 0.3
        self.undo_to(writer, 0, nameless)
        self.tick()
        self.end_of(writer, 36, nameless)
        self.settle(writer.numbers, ROLLED_BACK)
        self.free += [r for r in writer.touched if r not in self.current]
        self.open.remove(writer)

    def end_of(self, writer: Open, code: int, nameless: bool = False) -> None:
        """Write the coordinator's end, and those server ends that LogMiner shows."""
        shown = [by for by in writer.servers if by.begun and self.random.random() < 0.5]
        for by in self.random.sample([*shown, writer], len(shown) + 1):
            if by.begun:
                self.row(by, code, nameless=nameless)

    def settle(self, numbers: Any, what: str) -> None:
        for number in numbers:
            partly = what == APPLIED and number in self.undone
            self.disposition[number] = (self.scn, UNDONE if partly else what)

    # --- how it is written

    def begin(self, by: Server) -> None:
        if not by.begun:
            self.tick()
            by.begun = True
            self.row(by, 6)

    def write(
        self, writer: Open, code: int, row_id: str, before: Values | None, after: Values | None, by: Server | None = None
    ) -> None:
        by = by or writer
        self.begin(by)
        # Who sees a commit has a higher SCN: only commits that do not know of each other share one.
        if self.random.random() < 0.7 or self.scn == self.last_commit[0]:
            self.tick()
        number = self.row(by, code, row_id, before, after)
        writer.numbers.append(number)
        writer.undo.append(Done(code, row_id, before, after, by, number))
        self.put(writer, row_id, before, after)
        if by is not writer:
            writer.shared.add(row_id)

    def undo_to(self, writer: Open, mark: int, nameless: bool = False) -> None:
        while len(writer.undo) > mark:
            done = writer.undo.pop()
            is_last = bool(self.rows) and self.rows[-1]["number"] == done.number and not self.rows[-1]["rollback"]
            inverted = is_last and not nameless and self.random.random() < 0.3
            if not inverted:
                self.tick()
            number = self.row(done.by, {1: 2, 2: 1, 3: 3}[done.code], done.row_id, rollback=True, nameless=nameless)
            if inverted:
                self.rows[-1]["rs_id"] = self.rows[-2]["rs_id"]
                self.rows[-2:] = self.rows[:-3:-1]
            writer.numbers.append(number)
            self.undone |= {number, done.number}
            self.put(writer, done.row_id, done.after, done.before)

    def put(self, writer: Open, row_id: str, before: Values | None, after: Values | None) -> None:
        writer.touched.add(row_id)
        writer.keys |= {values[0] for values in (before, after) if values}
        if after is None:
            self.current.pop(row_id, None)
        else:
            self.current[row_id] = after

    def come_late(self) -> None:
        """Move rows after rows of higher SCNs, as late private redo strands do."""
        for at in range(len(self.rows) - 1):
            pair = self.rows[at : at + 2]
            changes = all(row["operation_code"] in (1, 2, 3) for row in pair)
            if changes and pair[0]["writer"] != pair[1]["writer"] and self.random.random() < 0.3:
                self.rows[at : at + 2] = reversed(pair)

    def row(
        self,
        by: Server,
        code: int,
        row_id: str | None = None,
        before: Values | None = None,
        after: Values | None = None,
        rollback: bool = False,
        nameless: bool = False,
    ) -> int:
        change = code in (1, 2, 3)
        body = {name: {"1": str(v[0]), "2": v[1]} for name, v in (("o", before), ("n", after)) if v}
        xid = f"{by.slot}.4294967295" if nameless else by.xid
        # Undo rows may lack what the others have.
        pxid = self.random.choice([None, by.pxid]) if rollback else by.pxid
        number = len(self.rows)
        self.rows.append(
            {
                "number": number,
                "writer": by.xid,
                "slice": by.thread - 1,
                "thread": by.thread,
                "sequence": 1,
                "rs_id": f"0x{len(self.rows):06x}.00000001.0010",
                "ssn": 0,
                "scn": self.scn,
                "xid": xid,
                "pxid": pxid,
                "con_id": self.con_id,
                "con_name": "FREEPDB1",
                "operation": {1: "INSERT", 2: "DELETE", 3: "UPDATE", 6: "START", 7: "COMMIT", 36: "ROLLBACK"}[code],
                "operation_code": code,
                "seg_owner": "SHOP" if change else None,
                "table_name": f"T{self.object_id}" if change else None,
                "object_id": self.object_id if change else None,
                "row_id": row_id,
                "rollback": rollback,
                "status": 0,
                "username": "SHOP",
                "sql_redo": json.dumps(body) if change else None,
            }
        )
        return number

    def cut(self, edges: list[int]) -> list[tuple[int, int, list[dict[str, Any]]]]:
        """Split into windows at `edges` (the first at or below every row): (start, end, rows with ordinals)."""
        windows = []
        for start, end in zip([0, *edges], [*edges, self.end], strict=True):
            ordinals = [0, 0]
            rows = []
            for row in self.rows:
                if start <= row["scn"] < end:
                    rows.append({**row, "window_start": start, "ordinal": ordinals[row["slice"]]})
                    ordinals[row["slice"]] += 1
            windows.append((start, end, rows))
        return windows

    def random_edges(self, most: int = 4) -> list[int]:
        count = self.random.randint(0, most)
        return sorted(self.random.sample(range(1001, self.end), min(count, self.end - 1001)))

    # --- what is free

    def tick(self) -> None:
        self.scn += 1

    def new_xid(self) -> str:
        """Return a new xid: one transaction per undo slot; a reused slot has a higher sequence."""
        held = {by.slot for writer in self.open for by in (writer, *writer.servers)}
        free = [slot for slot in (f"{usn}.{n}" for usn in (1, 2) for n in range(16)) if slot not in held]
        self.sequence += 1
        return f"{self.random.choice(free[:6])}.{self.sequence}"

    def may_touch(self, writer: Open, row_id: str) -> bool:
        return row_id not in writer.shared and not any(row_id in other.touched for other in self.open if other is not writer)

    def new_key(self, writer: Open) -> int:
        taken = {values[0] for values in self.current.values()}
        for other in self.open:
            taken |= other.keys if other is not writer else set()
        return self.random.choice([key for key in range(1, 60) if key not in taken])

    def new_row_id(self, writer: Open, fresh: bool = False) -> str:
        locked = {r for other in self.open for r in other.touched if other is not writer}
        again = [r for r in {*self.free, *writer.touched} if r not in self.current and r not in locked | writer.shared]
        if again and not fresh and self.random.random() < 0.5:
            return self.random.choice(sorted(again))
        self.sequence += 1
        return f"AAA{self.con_id:05d}{self.sequence:010d}"

    def text(self) -> str:
        return self.random.choice(["a", "b", "it's", "ü", ""]) + str(self.random.randint(0, 99))
