"""One message of the stream as a value. A setting that would lose or blur something is refused by its name."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from redolake.errors import ReplicatorRefused
from redolake.values.redo import Operation

BEGIN, COMMIT, DDL, CHECKPOINT = "begin", "commit", "ddl", "chkpt"
XID = re.compile(r"\d{1,5}\.\d{1,5}\.\d{1,10}", re.ASCII)
HEX_XID = re.compile(r"0x[0-9a-fA-F]{1,4}\.[0-9a-fA-F]{1,4}\.[0-9a-fA-F]{1,8}")
MOST = 2**63 - 1
LONGEST_SHOWN = 40  # characters of what was sent
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

    def is_before(self, other: Checkpoint) -> bool:
        return (self.sequence, self.offset) < (other.sequence, other.offset)


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


class Malformed(ValueError):
    """A message whose JSON is not OpenLogReplicator's; the text says what."""


def read_message(body: bytes, container: str | None, place: str = "") -> Message | Checkpoint:
    """Read a message of JSON. Raises ReplicatorRefused for settings, and for what is no message: nothing is lost by it, since
    nothing was confirmed. `place` says where it came from."""
    at = f" ({place})" if place else ""
    try:
        try:
            text = body.decode()
            found = json.loads(text, parse_float=_no_fraction, parse_constant=_no_fraction)
            payloads, c_scn, c_idx = _list(found, "payload"), _whole(found, "c_scn"), _whole(found, "c_idx")
            at = f" ({', '.join(filter(None, (place, f'c_scn {c_scn}, c_idx {c_idx}')))})"
            payload = payloads[0] if payloads else None
            if not isinstance(payload, dict) or not isinstance(payload.get("op"), str):
                raise Malformed("its `payload` has no operation")
        except (ValueError, TypeError, RecursionError) as error:
            why = str(error) if isinstance(error, Malformed) else type(error).__name__
            raise ReplicatorRefused(
                f"a message is no JSON of OpenLogReplicator: {why}{at}",
                cure='set `"type": "json"` in `format` of OpenLogReplicator.json, see that `address` is its `uri`, and restart '
                "it",
            ) from error
        kind: str = payload["op"]
        if len(payloads) != 1:
            raise refuse("several changes are in one message", "message", 2)
        if kind == CHECKPOINT:
            sequence, offset = _whole(payload, "seq"), _whole(payload, "offset")
            return Checkpoint(c_scn, c_idx, sequence, offset, _seconds(found), bool(payload.get("redo")))
        return _of_transaction(found, payload, kind, container, text, c_scn, c_idx)
    except Malformed as error:
        raise ReplicatorRefused(
            f"a message is none of OpenLogReplicator 1.8 or 1.9: {error}{at}",
            cure="use OpenLogReplicator 1.8 or 1.9 with the settings that `redolake olr-config` prints, and restart it",
        ) from error


def _of_transaction(
    found: dict[str, Any], payload: dict[str, Any], kind: str, container: str | None, text: str, c_scn: int, c_idx: int
) -> Message:
    if kind not in (BEGIN, COMMIT, DDL, *CHANGES):
        raise Malformed(f"an operation that is not known: {kind[:LONGEST_SHOWN]!r}")
    for name in ("schema", "before", "after"):
        if name in payload and not isinstance(payload[name], dict):
            raise Malformed(f"its `{name}` is no object")
    for refusal in refusals(found, payload, container):
        raise refusal
    schema = payload.get("schema", {})
    return Message(
        c_scn, c_idx, kind, _xid(found), _whole(found, "b_scn"), _whole(found, "e_scn"), _moment(found["e_tm"]),
        _optional(found, "rth", int), _optional(payload, "num", int), _optional(schema, "owner", str),
        _optional(schema, "table", str), _optional(schema, "obj", int), _optional(payload, "rid", str),
        _optional(found, "usr", str), _optional(payload, "sql", str), text,
    )  # fmt: skip


def _no_fraction(text: str) -> float:
    """Read a number with a fraction or an exponent, which values of columns may be: no double, which may be infinite."""
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    return value if math.isfinite(value) else 0.5  # a value's own text is read again when it is decoded; 0.5 is no whole number


def _list(found: Any, name: str) -> list[Any]:
    value = found.get(name) if isinstance(found, dict) else None
    if not isinstance(value, list):
        raise Malformed(f"its `{name}` is no list")
    return value


def _whole(found: Any, name: str) -> int:
    """Return a whole number that the landing's columns have room for."""
    value = found.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise Malformed(f"its `{name}` is no whole number from 0 to {MOST}")
    return value


def _optional(found: Mapping[str, Any], name: str, kind: type[int] | type[str]) -> Any:
    """Return a value of that kind, None where it is left out."""
    value = found.get(name)
    if value is None:
        return None
    if kind is int:
        return _whole(found, name)
    if not isinstance(value, str) or any("\ud800" <= character <= "\udfff" for character in value):
        raise Malformed(f"its `{name}` is no text")
    return value


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


def no_checkpoints(seen: str) -> ReplicatorRefused:
    return ReplicatorRefused(
        f"OpenLogReplicator sends no checkpoints, by which windows end: {seen}",
        cure="add 0x1000 to `flags` in OpenLogReplicator.json, and restart it: `redolake olr-config` prints what is needed. If "
        "it has 0x1000, see its log; one transaction that is so large, or takes so long, needs a larger `window.max_bytes` or "
        "`wait_max_minutes`. Nothing of what came has landed, and nothing was confirmed: it comes again",
    )


def other_database(name: str, container: str) -> ReplicatorRefused:
    return ReplicatorRefused(
        f"OpenLogReplicator reads {name}, and this pipeline's container is {container}",
        cure="correct `address` and `database` under `source`, or the `name` in OpenLogReplicator.json",
    )


def _xid_parts(found: Mapping[str, Any]) -> list[str] | None:
    """Return usn, slt and sqn in decimal digits; None for another form."""
    xid = found.get("xid")
    if not isinstance(xid, str):
        return None
    if HEX_XID.fullmatch(xid):
        return [str(int(part, 16)) for part in xid[2:].split(".")]
    return xid.split(".") if XID.fullmatch(xid) else None


def _xid(found: Mapping[str, Any]) -> str:
    """Return `usn.slt.sqn` in decimal digits, as LogMiner's rows have it."""
    parts = _xid_parts(found)
    assert parts is not None, "refused before"
    return ".".join(parts)


def _seconds(found: dict[str, Any]) -> int | None:
    return None if not isinstance(found.get("tm"), int) else int(_moment(found["tm"], "tm").replace(tzinfo=UTC).timestamp())


def _moment(nanoseconds: Any, name: str = "e_tm") -> datetime:
    try:
        return datetime.fromtimestamp(int(nanoseconds) // 10**9, UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError) as error:
        raise Malformed(f"its `{name}` is no time of the years 1 to 9999") from error


def refuse(what: str, setting: str, value: int) -> ReplicatorRefused:
    return ReplicatorRefused(
        what,
        cure=f'set `"{setting}": {value}` in `format` of OpenLogReplicator.json, and restart it: `redolake olr-config` '
        "prints what is needed",
    )
