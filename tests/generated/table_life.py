"""The life of one table, as its users know it: DML in two sessions, and any DDL between.

After every round the committed rows are recorded.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import oracledb

from tests.generated.table_forms import MoreForms
from tests.references.source_comparison import plain

BUSY = 54
FIRST_DAY = datetime(2020, 1, 1)
NAMES = [f"C{n}" for n in range(6)] + ["Mixed Case", "Größe"]


@dataclass
class Kind:
    """A column's type: NUMBER with digits and scale, VARCHAR2 with a length, DATE or TIMESTAMP."""

    name: str
    size: int = 0
    scale: int = 0

    def __str__(self) -> str:
        sizes = {"NUMBER": f"({self.size},{self.scale})", "VARCHAR2": f"({self.size})", "DATE": "", "TIMESTAMP": "(6)"}
        return self.name + sizes[self.name]


@dataclass
class Field:
    name: str
    kind: Kind
    nullable: bool = True

    @property
    def quoted(self) -> str:
        return f'"{self.name}"'


@dataclass
class State:
    """The committed rows at an SCN: by ID, the values by name."""

    scn: int
    names: set[str]
    rows: dict[int, dict[str, Any]]


@dataclass
class Life(MoreForms):
    """One table, as its users know it. `said` are its statements, for the message of a failure; `entry` is its first name."""

    table: str
    chance: random.Random
    sessions: list[Any]
    fields: list[Field] = field(default_factory=lambda: [Field("C0", Kind("VARCHAR2", 20)), Field("C1", Kind("NUMBER", 6, 0))])
    next_id: int = 0
    said: list[str] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    forms: Counter[str] = field(default_factory=Counter)
    by_pattern: bool = False  # the pipeline captures it by a pattern
    resnapshots: bool = False  # a policy snapshots it again
    was_read_again: bool = False
    has_sequence: bool = False

    def __post_init__(self) -> None:
        self.entry = self.table

    @property
    def ddls(self) -> int:
        return self.forms.total()

    def run(self, session: Any, sql: str, binds: list[Any] | None = None) -> bool:
        """Run a statement; return False if a DDL finds the table in use."""
        try:
            with session.cursor() as cursor:
                cursor.execute(sql, binds or [])
        except oracledb.DatabaseError as error:
            if error.args[0].code == BUSY:
                return False
            raise AssertionError("\n".join([*self.said, sql, str(binds)])) from error
        self.said.append(f"{sql} {binds or ''}")
        return True

    def create(self) -> None:
        self.run(self.sessions[0], f"CREATE TABLE {self.table} {self.definition()}")
        self.run(self.sessions[0], f"ALTER TABLE {self.table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")

    def definition(self) -> str:
        columns = "".join(f", {f.quoted} {f.kind}{'' if f.nullable else ' NOT NULL'}" for f in self.fields)
        partitions = (
            " PARTITION BY RANGE (id) (PARTITION first VALUES LESS THAN (8), PARTITION rest VALUES LESS THAN (MAXVALUE))"
        )
        return f"(id NUMBER(9) PRIMARY KEY{columns}){partitions if self.partitioned else ''}"

    # --- rows

    def work(self) -> None:
        """Run a few changes in one session, and perhaps end its transaction. Each session has keys of its own."""
        number = self.chance.randrange(2)
        session = self.sessions[number]
        for _ in range(self.chance.randint(1, 4)):
            self.change(session, number)
        end = self.chance.random()
        if end < 0.7:
            session.commit() if end < 0.55 else session.rollback()
            self.said.append(f"session {number} {'commit' if end < 0.55 else 'rollback'}")

    def change(self, session: Any, number: int) -> None:
        with session.cursor() as cursor:
            cursor.execute(f"SELECT id FROM {self.table} WHERE MOD(id, 2) = {number}")
            mine = [row[0] for row in cursor]
        choice = self.chance.random()
        if choice < 0.45 or not mine:
            key, self.next_id = 2 * self.next_id + number, self.next_id + 1
            chosen = [f for f in self.fields if not f.nullable or self.chance.random() < 0.7]
            values = [self.value(f) for f in chosen]
            names = ", ".join(["id", *(f.quoted for f in chosen)])
            marks = ", ".join(f":{n + 1}" for n in range(len(chosen) + 1))
            self.run(session, f"INSERT INTO {self.table} ({names}) VALUES ({marks})", [key, *values])
        elif choice < 0.8 and self.fields:
            chosen = self.chance.sample(self.fields, self.chance.randint(1, min(2, len(self.fields))))
            sets = ", ".join(f"{f.quoted} = :{n + 1}" for n, f in enumerate(chosen))
            values = [self.value(f) for f in chosen]
            self.run(session, f"UPDATE {self.table} SET {sets} WHERE id = {self.chance.choice(mine)}", values)
        else:
            self.run(session, f"DELETE FROM {self.table} WHERE id = {self.chance.choice(mine)}")

    def value(self, column: Field) -> Any:
        if column.nullable and self.chance.random() < 0.2:
            return None
        kind = column.kind
        if kind.name == "VARCHAR2":
            return (
                "".join(self.chance.choice("ab'ß \"\\") for _ in range(self.chance.randint(1, kind.size // 3))).strip() or "x"
            )
        if kind.name == "NUMBER":
            digits = self.chance.randint(1, min(kind.size, 15))
            return Decimal(self.chance.randrange(10**digits)).scaleb(-kind.scale)
        return FIRST_DAY + timedelta(seconds=self.chance.randrange(10**8))

    # --- DDL

    def alter(self) -> None:
        """Run one DDL in a session of its own; while other transactions keep the table, end them first."""
        forms: list[Callable[[], Iterator[str]]] = [
            self.add, self.add, self.add_several, self.drop, self.set_unused, self.drop_unused, self.rename, self.swap_names,
            self.add_again, self.widen, self.widen, self.retype, self.default, self.truncate, self.move, self.mix,
            self.rename_there_and_back, self.drop_and_restore, *([] if self.another_object else 2 * [self.add_computed]),
        ]  # fmt: skip
        forms += self.more_forms(by_pattern=self.by_pattern, resnapshots=self.resnapshots)
        if self.partitioned:  # only its partitions can be moved
            forms.remove(self.move)
        form = self.chance.choice(forms)
        for sql in form():
            if not self.run(self.sessions[2], sql):
                self.end_transactions()
                assert self.run(self.sessions[2], sql), sql
            self.forms[form.__name__] += 1

    def end_transactions(self) -> None:
        for session in self.sessions[:2]:
            session.commit()
        self.said.append("both sessions commit")

    def free_names(self) -> list[str]:
        return [name for name in NAMES if name not in {f.name for f in self.fields}]

    def new_field(self) -> tuple[Field, str]:
        """Return a new column, with its declaration."""
        kind = self.chance.choice([Kind("VARCHAR2", 12), Kind("NUMBER", 8, 2), Kind("NUMBER", 5, 0), Kind("DATE")])
        column = Field(self.chance.choice(self.free_names()), kind)
        default = {"VARCHAR2": "'it''s'", "NUMBER": "7", "DATE": "DATE '2021-02-03'"}[kind.name]
        tail = self.chance.choice(["", "", f" DEFAULT {default}", f" DEFAULT {default} NOT NULL"])
        column.nullable = not tail.endswith("NOT NULL")
        return column, f"{column.quoted} {kind}{tail}"

    def add(self) -> Iterator[str]:
        if self.free_names():
            column, text = self.new_field()
            yield f"ALTER TABLE {self.table} ADD {text}"
            self.fields.append(column)

    def add_several(self) -> Iterator[str]:
        texts = []
        for _ in range(min(2, len(self.free_names()))):
            column, text = self.new_field()
            self.fields.append(column)
            texts.append(text)
        if texts:
            yield f"ALTER TABLE {self.table} ADD ({', '.join(texts)})"

    def drop(self) -> Iterator[str]:
        if self.fields:
            gone = self.chance.choice(self.fields)
            yield f"ALTER TABLE {self.table} DROP COLUMN {gone.quoted}"
            self.fields.remove(gone)

    def add_computed(self) -> Iterator[str]:
        """Add a column whose values in older rows only Oracle knows."""
        if self.free_names():
            sequence = f"{self.entry}_numbers"
            if not self.has_sequence:
                yield f"CREATE SEQUENCE {sequence}"
                self.has_sequence = True
            kind, default = self.chance.choice(
                [
                    (Kind("DATE"), "SYSDATE"),
                    (Kind("NUMBER", 5, 0), f"{sequence}.NEXTVAL"),
                    (Kind("VARCHAR2", 12), "LOWER('AB') || 'c'"),
                ]
            )
            column = Field(self.chance.choice(self.free_names()), kind, nullable=self.chance.random() < 0.5)
            self.end_transactions()  # a row that commits later is in no reading: see spark/test_whole_tables.py
            self.must_land = True
            tail = "" if column.nullable else " NOT NULL"
            yield f"ALTER TABLE {self.table} ADD ({column.quoted} {kind} DEFAULT {default}{tail})"
            self.fields.append(column)

    def set_unused(self) -> Iterator[str]:
        if self.fields:
            gone = self.chance.choice(self.fields)
            yield f"ALTER TABLE {self.table} SET UNUSED ({gone.quoted}) ONLINE"
            self.fields.remove(gone)

    def drop_unused(self) -> Iterator[str]:
        yield f"ALTER TABLE {self.table} DROP UNUSED COLUMNS"

    def rename(self) -> Iterator[str]:
        if self.fields and self.free_names():
            column, new = self.chance.choice(self.fields), self.chance.choice(self.free_names())
            yield f'ALTER TABLE {self.table} RENAME COLUMN {column.quoted} TO "{new}"'
            column.name = new

    def swap_names(self) -> Iterator[str]:
        if len(self.fields) > 1:
            one, other = self.chance.sample(self.fields, 2)
            yield f'ALTER TABLE {self.table} RENAME COLUMN {one.quoted} TO "Between"'
            yield f"ALTER TABLE {self.table} RENAME COLUMN {other.quoted} TO {one.quoted}"
            yield f'ALTER TABLE {self.table} RENAME COLUMN "Between" TO {other.quoted}'
            one.name, other.name = other.name, one.name

    def add_again(self) -> Iterator[str]:
        """Drop a column, and add one of another type under its name."""
        if self.fields:
            gone = self.chance.choice(self.fields)
            yield f"ALTER TABLE {self.table} DROP ({gone.quoted})"
            self.fields.remove(gone)
            kind = Kind("VARCHAR2", 9) if gone.kind.name != "VARCHAR2" else Kind("NUMBER", 7, 1)
            yield f"ALTER TABLE {self.table} ADD {gone.quoted} {kind}"
            self.fields.append(Field(gone.name, kind))

    def widen(self) -> Iterator[str]:
        if self.fields:
            column = self.chance.choice(self.fields)
            column.kind = wider(column.kind)
            yield f"ALTER TABLE {self.table} MODIFY ({column.quoted} {column.kind})"

    def retype(self) -> Iterator[str]:
        """Give an empty column another type."""
        empty = next((f for f in self.fields if f.nullable and f.kind.name == "DATE"), None)
        if empty is not None:
            self.end_transactions()  # the UPDATE would wait for them
            yield f"UPDATE {self.table} SET {empty.quoted} = NULL"
            self.sessions[2].commit()
            empty.kind = Kind("NUMBER", 4, 0)
            yield f"ALTER TABLE {self.table} MODIFY {empty.quoted} {empty.kind}"

    def default(self) -> Iterator[str]:
        column = next((f for f in self.fields if f.kind.name == "VARCHAR2"), None)
        if column is not None:
            yield f"ALTER TABLE {self.table} MODIFY {column.quoted} DEFAULT UPPER('d')"

    def truncate(self) -> Iterator[str]:
        if self.chance.random() < 0.5:
            yield f"TRUNCATE TABLE {self.table}"

    def move(self) -> Iterator[str]:
        yield f"ALTER TABLE {self.table} MOVE ONLINE"

    def rename_there_and_back(self) -> Iterator[str]:
        yield f"RENAME {self.table} TO {self.table}_AWAY"
        if self.fields and self.chance.random() < 0.5:
            column = self.chance.choice(self.fields)
            column.kind = wider(column.kind)
            yield f"ALTER TABLE {self.table}_AWAY MODIFY ({column.quoted} {column.kind})"
        yield f"ALTER TABLE {self.table}_AWAY RENAME TO {self.table}"

    def drop_and_restore(self) -> Iterator[str]:
        yield f"DROP TABLE {self.table}"
        yield f"FLASHBACK TABLE {self.table} TO BEFORE DROP"

    def mix(self) -> Iterator[str]:
        """Add, modify and drop in one statement."""
        if len(self.fields) > 1 and self.free_names():
            gone, changed = self.chance.sample(self.fields, 2)
            column, text = self.new_field()
            changed.kind = wider(changed.kind)
            yield (f"ALTER TABLE {self.table} ADD ({text}) MODIFY ({changed.quoted} {changed.kind}) DROP ({gone.quoted})")
            self.fields = [f for f in self.fields if f is not gone] + [column]

    # --- what is there

    def record(self, scn: int) -> None:
        names = ["ID", *(f.name for f in self.fields)]
        with self.sessions[2].cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(chr(34) + name + chr(34) for name in names)} FROM {self.table}")
            rows = {row[0]: {name: known(value) for name, value in zip(names, row, strict=True)} for row in cursor}
        self.states.append(State(scn, set(names), rows))
        self.said.append(f"-- recorded at SCN {scn}")


def wider(kind: Kind) -> Kind:
    if kind.name == "NUMBER":
        return Kind("NUMBER", min(kind.size + 3, 30), min(kind.scale + 1, 6))
    return Kind("TIMESTAMP") if kind.name == "DATE" else Kind(kind.name, kind.size + 5)


def known(value: Any) -> Any:
    return plain(Decimal(str(value)), is_number=True) if isinstance(value, int | float | Decimal) else value
