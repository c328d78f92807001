"""Messages as landed rows. A change keeps its whole message as text, which decoding reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from redolake.source.olr.messages import BEGIN, CHANGES, COMMIT, DDL, Message
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.redo import Operation

_INTO_BIN = re.compile(r"\s*ALTER\s+TABLE\s.*\sRENAME\s+TO\s+\"BIN\$", re.IGNORECASE | re.DOTALL)
_OPERATIONS = {**CHANGES, BEGIN: Operation.START, COMMIT: Operation.COMMIT, DDL: Operation.DDL}


@dataclass(slots=True)
class Selection:
    """Keeps the transactions that change a captured table, or have a DDL; of these the changes of captured tables alone.

    OpenLogReplicator may write a transaction in several parts, each with a begin and a commit of the same SCN: they are one.
    """

    object_ids: Collection[int]
    names: Collection[tuple[str, str]]
    _begin: Message | None = None  # of a transaction of which nothing was kept yet
    _commit: Message | None = None  # which a further part may follow

    def take(self, message: Message) -> Iterator[Message]:
        """Yield the messages that are landed, in their order."""
        if message.kind == BEGIN:
            before = self._commit
            if before is not None and (before.xid, before.commit_scn) == (message.xid, message.commit_scn):
                self._commit = None
                return
            yield from self.end()
            self._begin = message
        elif message.kind == COMMIT:
            if self._begin is None:
                self._commit = message
            self._begin = None
        elif self._is_kept(message):
            if self._begin is not None:
                yield self._begin
                self._begin = None
            yield message

    def end(self) -> Iterator[Message]:
        """Yield the commit that nothing follows; call it at a checkpoint too."""
        if self._commit is not None:
            yield self._commit
            self._commit = None

    def _is_kept(self, message: Message) -> bool:
        return (
            message.kind == DDL
            or message.object_id in self.object_ids
            or (message.owner is not None and (message.owner, message.table) in self.names)
        )


def to_batch(
    messages: Iterable[Message], first_ordinal: int, container: str | None, thread: int, number: int
) -> pa.RecordBatch:
    """Return landed rows of a redo thread's stream, which is a slice of its own. Their SCN is that of the commit: a transaction
    is decoded by the dictionary of then."""
    columns: dict[str, list[Any]] = {name: [] for name in LANDED_SCHEMA.names}
    for ordinal, message in enumerate(messages, first_ordinal):
        operation = _OPERATIONS[message.kind]
        row = (
            number, ordinal, thread, 0, f"{ordinal:012d}", 0, message.commit_scn, message.begin_scn, message.commit_at,
            message.xid, message.xid, 0, container, operation.name, int(operation), message.owner, message.table,
            message.object_id, None, None, message.row_id, False, 0, _info(message), message.user, _text(message),
        )  # fmt: skip
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return pa.RecordBatch.from_pydict(columns, schema=LANDED_SCHEMA)


def _info(message: Message) -> str | None:
    """Return LogMiner's word for a statement that Oracle ran itself: the RENAME by which DROP TABLE fills the recycle bin."""
    return "INTERNAL DDL" if message.kind == DDL and _INTO_BIN.match(message.sql or "") else None


def _text(message: Message) -> str | None:
    if message.kind == DDL:
        return message.sql
    return message.text if message.kind in CHANGES else None
