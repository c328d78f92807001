"""One message of the stream as a value. A setting that would lose or blur something is refused by its name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from redolake.errors import ReplicatorRefused, StreamLost
from redolake.values.redo import Operation

BEGIN, COMMIT, DDL, CHECKPOINT = "begin", "commit", "ddl", "chkpt"
CHANGES = {"c": Operation.INSERT, "u": Operation.UPDATE, "d": Operation.DELETE}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far the redo of the thread is read: the end of a group of redo blocks, by log and offset. `ends_log`: the log has no
    more redo."""

    c_scn: int
    c_idx: int
    sequence: int
    offset: int
    seconds: int | None  # since 1970, by the clock of the database's host
    ends_log: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """A begin, a change, a DDL or a commit. `number` is that of a change in its transaction."""

    c_scn: int
    c_idx: int
    kind: str
    xid: str
    begin_scn: int
    commit_scn: int
    commit_at: datetime
    thread: int | None  # None where the setting leaves it out
    number: int | None
    owner: str | None
    table: str | None
    object_id: int | None
    row_id: str | None
    user: str | None
    sql: str | None
    text: str


def read_message(body: bytes, container: str | None) -> Message | Checkpoint:
    """Read a message of JSON. Raises ReplicatorRefused for settings, StreamLost for what is no message."""
    try:
        text = body.decode()
        found: Any = json.loads(text)
        payloads, c_scn, c_idx = found["payload"], int(found["c_scn"]), int(found["c_idx"])
        payload: dict[str, Any] = payloads[0]
        kind: str = payload["op"]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise StreamLost(
            f"a message is no JSON of OpenLogReplicator: {type(error).__name__}",
            cure='set `"type": "json"` in `format` of OpenLogReplicator.json, and restart it',
        ) from error
    if len(payloads) != 1:
        raise refuse("several changes are in one message", "message", 2)
    if kind == CHECKPOINT:
        return Checkpoint(c_scn, c_idx, int(payload["seq"]), int(payload["offset"]), _seconds(found), bool(payload.get("redo")))
    return _of_transaction(found, payload, kind, container, text, c_scn, c_idx)


def _of_transaction(
    found: dict[str, Any], payload: dict[str, Any], kind: str, container: str | None, text: str, c_scn: int, c_idx: int
) -> Message:
    if kind not in (BEGIN, COMMIT, DDL, *CHANGES):
        raise StreamLost(f"an operation that is not known: {kind}", cure="use OpenLogReplicator 1.8 or 1.9")
    for refusal in refusals(found, payload, container):
        raise refusal
    schema = payload.get("schema", {})
    return Message(
        c_scn, c_idx, kind, _xid(found), int(found["b_scn"]), int(found["e_scn"]), _moment(found["e_tm"]),
        found.get("rth"), payload.get("num"), schema.get("owner"), schema.get("table"), schema.get("obj"),
        payload.get("rid"), found.get("usr"), payload.get("sql"), text,
    )  # fmt: skip


def refusals(found: Mapping[str, Any], payload: Mapping[str, Any], container: str | None) -> Iterator[ReplicatorRefused]:
    """Yield an error for each setting without which a message of a transaction could lose or blur something."""
    kind = payload["op"]
    if "e_scn" not in found or "b_scn" not in found:
        yield refuse("a message does not say when its transaction began and committed", "scn-type", 14)
    if "e_tms" in found or not isinstance(found.get("e_tm", 0), int):
        yield refuse("a commit's time is no number of nanoseconds", "timestamp-metadata", 0)
    elif "e_tm" not in found:
        yield refuse("a message does not say at which time its transaction committed", "timestamp-type", 8)
    if _xid_parts(found) is None:
        yield refuse("a transaction has no id, or one in another form", "xid", 1)
    if kind not in (BEGIN, COMMIT) and container is not None and found.get("db") != container:
        yield (
            refuse("a message does not name its database", "db", 3)
            if "db" not in found
            else other_database(str(found["db"]), container)
        )
    if kind in CHANGES:
        if "num" not in payload:
            yield refuse("a change has no number in its transaction, which shows that none is missing", "message", 2)
        if "rid" not in payload:
            yield refuse("a change has no ROWID", "rid", 1)
        if "obj" not in payload.get("schema", {}):
            yield refuse("a change does not say of which object it is", "schema", 4)


def no_checkpoints() -> ReplicatorRefused:
    return ReplicatorRefused(
        "OpenLogReplicator sends transactions, and no checkpoints, by which windows end",
        cure="add 0x1000 to `flags` in OpenLogReplicator.json, and restart it: `redolake olr-config` prints what is needed",
    )


def other_database(name: str, container: str) -> ReplicatorRefused:
    return ReplicatorRefused(
        f"OpenLogReplicator reads {name}, and this pipeline's container is {container}",
        cure="correct `address` and `database` under `source`, or the `name` in OpenLogReplicator.json",
    )


def _xid_parts(found: Mapping[str, Any]) -> list[str] | None:
    """Return usn, slt and sqn in decimal digits; None for another form."""
    xid = found.get("xid")
    if not isinstance(xid, str) or xid.count(".") != 2:
        return None
    parts = xid.removeprefix("0x").split(".")
    return [str(int(part, 16)) for part in parts] if xid.startswith("0x") else parts


def _xid(found: Mapping[str, Any]) -> str:
    """Return `usn.slt.sqn` in decimal digits, as LogMiner's rows have it."""
    parts = _xid_parts(found)
    assert parts is not None, "refused before"
    return ".".join(parts)


def _seconds(found: dict[str, Any]) -> int | None:
    return int(found["tm"]) // 10**9 if isinstance(found.get("tm"), int) else None


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).replace(tzinfo=None)


def refuse(what: str, setting: str, value: int) -> ReplicatorRefused:
    return ReplicatorRefused(
        what,
        cure=f'set `"{setting}": {value}` in `format` of OpenLogReplicator.json, and restart it: `redolake olr-config` '
        "prints what is needed",
    )
