"""The interface between the wire layer and the database: plain values, no sockets, no storage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa

from standin.model import SqlType


class OraError(Exception):
    """An Oracle error as a client sees it: `OraError(942, "table or view does not exist")`.

    `position` is the offset in the SQL text, or the row of an array bind. `more` are the nested errors' lines.
    """

    def __init__(self, code: int, text: str, position: int = 0, more: tuple[str, ...] = ()) -> None:
        self.code, self.position = code, position
        self.counts: list[int] = []  # of the rows of an array before the one that failed
        super().__init__("\n".join((f"ORA-{code:05d}: {text}", *more)))


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """One column of a result, as a describe reports it.

    `type` is Oracle's name: NUMBER, VARCHAR2, CHAR, NVARCHAR2, DATE, TIMESTAMP, TIMESTAMP WITH TIME ZONE, RAW, LONG,
    BINARY_DOUBLE, BINARY_FLOAT, CLOB, BLOB, CURSOR. NUMBER without precision has precision 0 and scale -127.
    `size` is in bytes (never 0), `chars` in characters for text. A column of an object type or collection has its `shape`;
    its values are the texts of their JSON.
    """

    name: str
    type: str
    size: int = 22
    chars: int = 0
    precision: int = 0
    scale: int = -127
    nullable: bool = True
    shape: SqlType | None = None
    is_json: bool = False  # by a constraint: clients may convert the text


@dataclass(frozen=True, slots=True)
class Composite:
    """An instance of an object type, record or collection: its attributes or elements in order, those of an INDEX BY table by
    index."""

    shape: SqlType
    values: tuple[Any, ...] | dict[int, Any]


class LargeBytes(bytes):
    """A BLOB that a client binds."""


@dataclass(slots=True)
class Rows:
    """The result of a query. The batches' Arrow types can be: NUMBER as int64, decimal128 or string (decimal text, exact for
    any NUMBER); text as string/large_string; RAW as binary; DATE and TIMESTAMP as timestamp(s|us|ns); NULL as null.

    A cursor of a client that is a bind of PL/SQL has what the client has not fetched; `close` closes it."""

    columns: tuple[ColumnInfo, ...]
    batches: Iterator[pa.RecordBatch]
    close: Callable[[], None] = lambda: None

    def take(self) -> list[Any] | None:
        """Return the values of the next row, None after the last one."""
        for batch in self.batches:
            if batch.num_rows > 1:
                self.batches = chain([batch.slice(1)], self.batches)
            if batch.num_rows:
                return [column[0].as_py() for column in batch.columns]
        return None


@dataclass(slots=True)
class Done:
    """The result of DML or DDL: affected rows per array row, failures of an array run with batch errors, RETURNING values.

    `returning[i]` belongs to array row i: one list of values per INTO bind. `rowid` is that of the last affected row.
    """

    counts: list[int] = field(default_factory=list)
    failures: list[tuple[int, OraError]] = field(default_factory=list)
    returning: list[list[list[Any]]] = field(default_factory=list)
    rowid: str | None = None
    has_warning: bool = False  # of a DDL: what it stored was compiled with errors


@dataclass(slots=True)
class Called:
    """The result of a PL/SQL block: each bind's direction and, unless IN, value; one bind per name, in order of appearance.
    `results` are those that the block has returned by DBMS_SQL.RETURN_RESULT."""

    directions: list[str] = field(default_factory=list)  # IN, OUT, IN OUT
    values: list[Any] = field(default_factory=list)
    results: list[Rows] = field(default_factory=list)


ROUND_TRIPS, PARSES = "SQL*Net roundtrips to/from client", "parse count (total)"


class Session(Protocol):
    """One client session. `statistics` counts, under the names of V$STATNAME.

    Bind and result values are None, str, int, Decimal, float, bool, bytes, datetime, timedelta, YearMonth, Composite.
    """

    number: int  # SID
    serial: int
    container: int  # CON_ID; ALTER SESSION SET CONTAINER changes it
    statistics: Counter[str]
    user: str
    schema: str
    killed: bool

    @property
    def password(self) -> str: ...

    @property
    def in_transaction(self) -> bool: ...

    def execute(
        self, sql: str, rows: Sequence[Sequence[Any]], *, batch_errors: bool = False, describe_only: bool = False
    ) -> Rows | Done | Called:
        """Run a statement once per row of binds (once without binds if `rows` is empty).

        Binds arrive as the driver sends them: SQL has one value per occurrence, PL/SQL one per distinct name, without
        the binds of RETURNING .. INTO. Raises OraError; a failed statement leaves only its redo. If an array without
        batch errors fails at row i, the rows before it stay and `position` is i.
        """

    def parse(self, sql: str) -> None:
        """Check a statement that is no query, without running it."""

    def take_rows(self, number: int) -> Rows:
        """Return the rows of a nested cursor, which stands as a number in a column of type CURSOR."""

    def type_of(self, oid: bytes) -> SqlType:
        """Return the type of a user or package with the OID. Raises ORA-21700 for none."""

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def begin_branch(self, branch: tuple[int, bytes, bytes], flags: int) -> None:
        """Begin or resume a branch of a distributed transaction: its format, global transaction and branch."""

    def end_branch(self, branch: tuple[int, bytes, bytes] | None) -> None:
        """Leave a branch, which another session may resume."""

    def change_branch(self, operation: int, branch: tuple[int, bytes, bytes] | None, *, one_phase: bool) -> int:
        """Prepare, commit or roll back a branch, and return its state."""

    def set_info(
        self,
        *,
        module: str | None = None,
        action: str | None = None,
        client_id: str | None = None,
        client_info: str | None = None,
        operation: str | None = None,
    ) -> None: ...

    def set_client(self, *, terminal: str, os_user: str, driver: str) -> None: ...

    def set_context(self, namespace: str, values: dict[str, str] | None) -> None:
        """Set values of an application context; None clears it."""

    def set_current_schema(self, schema: str) -> None: ...

    def cancel(self) -> None:
        """Make the running call fail with ORA-01013. Called from another thread."""

    def close(self) -> None:
        """Log off, and roll back the open transaction."""


class Instance(Protocol):
    """The database, as the listener and the authentication use it."""

    version: tuple[int, int, int, int, int]

    @property
    def name(self) -> str: ...

    def knows_service(self, service: str) -> bool: ...

    def password_of(self, user: str, service: str) -> str | None:
        """Return the password, None for an unknown user. `user` is in upper case unless it was quoted."""

    def logon(
        self,
        user: str,
        service: str,
        *,
        program: str,
        machine: str,
        instance: str | None,
        typed: str | None = None,
        client: str | None = None,
    ) -> Session:
        """Open a session; `instance` is INSTANCE_NAME of the connect data, `typed` the user's name as it came, `client` the
        user that a proxy connects as.

        Raises OraError (01045, 12514 ...).
        """
