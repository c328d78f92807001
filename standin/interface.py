"""What the wire layer and the database behind it say to each other: plain values, no sockets, no storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa


class OraError(Exception):
    """An Oracle error as a client sees it: `OraError(942, "table or view does not exist")`.

    `position` is the offset in the SQL text, or the row of an array bind. `more` are the nested errors' lines.
    """

    def __init__(self, code: int, text: str, position: int = 0, more: tuple[str, ...] = ()) -> None:
        self.code, self.position = code, position
        super().__init__("\n".join((f"ORA-{code:05d}: {text}", *more)))


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """One column of a result, as a describe tells it.

    `type` is Oracle's word: NUMBER, VARCHAR2, CHAR, NVARCHAR2, DATE, TIMESTAMP, TIMESTAMP WITH TIME ZONE, RAW, LONG,
    BINARY_DOUBLE, BINARY_FLOAT, CLOB, BLOB. NUMBER without precision has precision 0 and scale -127.
    `size` is in bytes (never 0), `chars` in characters for text.
    """

    name: str
    type: str
    size: int = 22
    chars: int = 0
    precision: int = 0
    scale: int = -127
    nullable: bool = True


@dataclass(slots=True)
class Rows:
    """A query's answer. The batches' Arrow types may be: NUMBER as int64, decimal128 or string (decimal text, exact for
    any NUMBER); text as string/large_string; RAW as binary; DATE and TIMESTAMP as timestamp(s|us|ns); NULL as null."""

    columns: tuple[ColumnInfo, ...]
    batches: Iterator[pa.RecordBatch]


@dataclass(slots=True)
class Done:
    """DML or DDL: rows touched per array row, failures of an array run with batch errors, RETURNING values.

    `returning[i]` belongs to array row i: one list of values per INTO bind. `rowid` is that of the last row touched.
    """

    counts: list[int] = field(default_factory=list)
    failures: list[tuple[int, OraError]] = field(default_factory=list)
    returning: list[list[list[Any]]] = field(default_factory=list)
    rowid: str | None = None


@dataclass(slots=True)
class Called:
    """A PL/SQL block ran: per bind (distinct name, in order of first appearance) its direction and, unless IN, its value."""

    directions: list[str] = field(default_factory=list)  # IN, OUT, IN OUT
    values: list[Any] = field(default_factory=list)


class Session(Protocol):
    """One client session. Values in and out are None, str, int, Decimal, float, bool, bytes, datetime, timedelta."""

    number: int  # SID
    serial: int

    @property
    def in_transaction(self) -> bool: ...

    def execute(
        self, sql: str, rows: Sequence[Sequence[Any]], *, batch_errors: bool = False, describe_only: bool = False
    ) -> Rows | Done | Called:
        """Run one statement once per row of binds (once without binds when `rows` is empty).

        Binds come as the driver sends them: SQL has one value per occurrence, PL/SQL one per distinct name; binds of
        RETURNING .. INTO are not among them. Raises OraError; a failed statement leaves no trace but its redo.
        For an array without batch errors that fails at row i the rows before it stay and `position` is i.
        """

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def set_info(self, *, module: str | None = None, action: str | None = None, client_id: str | None = None) -> None: ...

    def set_current_schema(self, schema: str) -> None: ...

    def cancel(self) -> None:
        """From another thread: make the running call fail with ORA-01013."""

    def close(self) -> None:
        """Log off; rolls back what is open."""


@dataclass(frozen=True, slots=True)
class Logon:
    """What a listener and an authenticator need of a user."""

    user: str
    password: str


class Instance(Protocol):
    """The database as listener and authenticator see it."""

    version: tuple[int, int, int, int, int]

    @property
    def name(self) -> str: ...

    def knows_service(self, service: str) -> bool: ...

    def password_of(self, user: str, service: str) -> str | None:
        """None for an unknown user. `user` is upper-cased unless it was quoted."""

    def logon(self, user: str, service: str, *, program: str, machine: str, instance: str | None) -> Session:
        """Open a session; `instance` is INSTANCE_NAME of the connect data. Raises OraError (01045, 12514 ...)."""
