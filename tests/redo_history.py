"""Random histories of one Oracle table and the redo rows they leave: transactions that interleave on two redo threads, with
savepoints, failed statements, moved and swapped keys, reused ROWIDs, and rollbacks whose XIDSQN LogMiner does not know.

`History.rows` come in the order of their SCNs; `cut` gives them their windows and ordinals. `truth(scn)` is the table AS OF.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

Values = tuple[int, str]  # ID, V


@dataclass
class Open:
    xid: str
    thread: int
    begun: bool = False
    undo: list[tuple[int, str, Values | None, Values | None]] = field(default_factory=list)  # code, row_id, before, after
    touched: set[str] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)


class History:
    def __init__(self, seed: int, steps: int = 60, con_id: int = 3, object_id: int = 100) -> None:
        self.random, self.con_id, self.object_id = random.Random(seed), con_id, object_id
        self.scn = 1000
        self.rows: list[dict[str, Any]] = []
        self.current: dict[str, Values] = {}  # as the writers see it, uncommitted changes included
        self.committed: dict[str, Values] = {}
        self.states: list[tuple[int, dict[int, str]]] = [(0, {})]
        self.open: list[Open] = []
        self.free: list[str] = []
        self.sequence = 0
        self.last_commit: tuple[int, int] = (0, 0)
        for _ in range(steps):
            self.step()

    def truth(self, scn: int) -> dict[int, str]:
        return next(state for at, state in reversed(self.states) if at <= scn)

    @property
    def end(self) -> int:
        return self.scn + 1

    # --- what happens

    def step(self) -> None:
        if not self.open or (len(self.open) < 4 and self.random.random() < 0.25):
            self.sequence += 1
            self.open.append(Open(f"{self.random.randint(1, 2)}.{len(self.open)}.{self.sequence}", self.random.randint(1, 2)))
            slots = [o.xid.rpartition(".")[0] for o in self.open]
            if len(set(slots)) < len(slots):  # one transaction per undo slot
                self.open.pop()
                return
        writer = self.random.choice(self.open)
        action = self.random.choices([self.change, self.swap, self.savepoint, self.commit, self.roll_back], [10, 2, 2, 3, 1])[0]
        action(writer)

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

    def commit(self, writer: Open) -> None:
        scn, thread = self.last_commit
        if not (scn == self.scn and thread != writer.thread and self.random.random() < 0.5):
            self.tick()
        self.last_commit = (self.scn, writer.thread)
        if writer.begun:
            self.row(writer, 7)
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
        if writer.begun:
            self.tick()
            self.row(writer, 36, nameless=nameless)
        self.free += [r for r in writer.touched if r not in self.current]
        self.open.remove(writer)

    # --- how it is written

    def write(self, writer: Open, code: int, row_id: str, before: Values | None, after: Values | None) -> None:
        if not writer.begun:
            self.tick()
            writer.begun = True
            self.row(writer, 6)
        if self.random.random() < 0.7:
            self.tick()
        self.row(writer, code, row_id, before, after)
        writer.undo.append((code, row_id, before, after))
        self.put(writer, row_id, before, after)

    def undo_to(self, writer: Open, mark: int, nameless: bool = False) -> None:
        while len(writer.undo) > mark:
            code, row_id, before, after = writer.undo.pop()
            self.tick()
            self.row(writer, {1: 2, 2: 1, 3: 3}[code], row_id, rollback=True, nameless=nameless)
            self.put(writer, row_id, after, before)

    def put(self, writer: Open, row_id: str, before: Values | None, after: Values | None) -> None:
        writer.touched.add(row_id)
        writer.keys |= {values[0] for values in (before, after) if values}
        if after is None:
            self.current.pop(row_id, None)
        else:
            self.current[row_id] = after

    def row(
        self,
        writer: Open,
        code: int,
        row_id: str | None = None,
        before: Values | None = None,
        after: Values | None = None,
        rollback: bool = False,
        nameless: bool = False,
    ) -> None:
        change = code in (1, 2, 3)
        body = {name: {"1": str(v[0]), "2": v[1]} for name, v in (("o", before), ("n", after)) if v}
        xid = writer.xid.rpartition(".")[0] + ".4294967295" if nameless else writer.xid
        self.rows.append(
            {
                "slice": writer.thread - 1,
                "thread": writer.thread,
                "sequence": 1,
                "rs_id": f"0x{len(self.rows):06x}.00000001.0010",
                "ssn": 0,
                "scn": self.scn,
                "xid": xid,
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

    def cut(self, edges: list[int]) -> list[tuple[int, int, list[dict[str, Any]]]]:
        """The windows between `edges` (the first at or below every row): (start, end, rows with ordinals)."""
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

    def may_touch(self, writer: Open, row_id: str) -> bool:
        return not any(row_id in other.touched for other in self.open if other is not writer)

    def new_key(self, writer: Open) -> int:
        taken = {values[0] for values in self.current.values()}
        for other in self.open:
            taken |= other.keys if other is not writer else set()
        return self.random.choice([key for key in range(1, 60) if key not in taken])

    def new_row_id(self, writer: Open) -> str:
        locked = {r for other in self.open for r in other.touched if other is not writer}
        again = [r for r in {*self.free, *writer.touched} if r not in self.current and r not in locked]
        if again and self.random.random() < 0.5:
            return self.random.choice(sorted(again))
        self.sequence += 1
        return f"AAA{self.con_id:05d}{self.sequence:010d}"

    def text(self) -> str:
        return self.random.choice(["a", "b", "it's", "ü", ""]) + str(self.random.randint(0, 99))
