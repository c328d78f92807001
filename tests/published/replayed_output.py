"""What an OpenLogReplicator wrote of real redo with the settings of that time, and what other settings would add to it.

Source: as in scenarios.py, `tests/data/expected/*/output.json`: 26ai, February 2026, byte by byte. One message a line, as its
network target sends them behind their lengths. The output has no checkpoints.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from standin.olr.protocol import framed

FOLDER = Path(__file__).parent / "olr_output"
SEQUENCE, CONTAINER = 1, "FREEPDB1"
TIMES = {"1735689600": "2025-01-01 00:00:00.000000000", "1749945600": "2025-06-15 00:00:00.000000000"}
Message = dict[str, Any]


def published_lines(scenario: str) -> list[bytes]:
    return (FOLDER / f"{scenario}.json").read_bytes().splitlines()


def scns_of(lines: Iterable[bytes]) -> tuple[int, int]:
    """Return the lowest SCN of a begin, and the highest of a commit."""
    found = [json.loads(line) for line in lines]
    return min(int(one["scns"], 16) for one in found if "scns" in one), max(one["c_scn"] for one in found)


def stream_of(lines: Iterable[bytes], added: Iterable[str], object_id: int, columns: Sequence[str]) -> bytes:
    """Return the bytes of the network target. Without `added` settings these are the published ones."""
    names = set(added)
    if not names:
        return b"".join(map(framed, lines))
    messages = [json.loads(line) for line in lines]
    for add in (ADDS[name] for name in ADDS if name in names):
        add(messages, object_id, columns)
    bodies = [json.dumps(one, ensure_ascii=False).encode() for one in messages]
    return b"".join(map(framed, bodies))


def changes_of(messages: list[Message]) -> Iterable[Message]:
    return (one for one in messages if one["payload"][0]["op"] in ("c", "u", "d"))


def add_scns(messages: list[Message], *_: Any) -> None:
    """`scn-type`: of the begin, which the first message has, and of the commit, for which that of its group of redo stands."""
    begins = {one["xid"]: int(one["scns"], 16) for one in messages if "scns" in one}
    for one in messages:
        one["b_scn"] = begins[one["xid"]]
        one["e_scn"] = max(one["b_scn"], one["c_scn"])


def add_times(messages: list[Message], *_: Any) -> None:
    """`timestamp-type`: of the commit, for which the time of the begin stands, in nanoseconds."""
    at = {one["xid"]: int(one["tms"]) * 10**9 for one in messages if "tms" in one}
    for one in messages:
        one["e_tm"] = at[one["xid"]]


def add_database(messages: list[Message], *_: Any) -> None:
    for one in messages:
        one["db"] = CONTAINER


def add_numbers(messages: list[Message], *_: Any) -> None:
    """`message`: each change's number in its transaction."""
    counts: dict[str, int] = {}
    for one in changes_of(messages):
        one["payload"][0]["num"] = counts.get(one["xid"], 0)
        counts[one["xid"]] = one["payload"][0]["num"] + 1


def add_rowids(messages: list[Message], *_: Any) -> None:
    """`rid`: one ROWID a key, since no row moves here."""
    for one in changes_of(messages):
        payload = one["payload"][0]
        key = int(payload.get("before", payload.get("after"))["ID"])
        payload["rid"] = f"AAASF2AAMAAAACD{key:03d}"


def add_objects(messages: list[Message], object_id: int, _: Any) -> None:
    for one in changes_of(messages):
        one["payload"][0]["schema"]["obj"] = object_id


def add_columns(messages: list[Message], _: Any, columns: Sequence[str]) -> None:
    """`column`: those that did not change too, of the row as it was; NULL where no message had another value."""
    rows: dict[Any, Message] = {}
    for one in changes_of(messages):
        payload = one["payload"][0]
        key = payload.get("before", payload.get("after"))["ID"]
        before = dict.fromkeys(columns) | rows.get(key, {}) | payload.get("before", {})
        if "before" in payload:
            payload["before"] = before
        if "after" in payload:
            rows[key] = payload["after"] = before | payload["after"]


def change_texts(messages: list[Message], *_: Any) -> None:
    """`char`: the digits of the bytes. All texts here are of VARCHAR2 or times."""
    for image in images_of(messages):
        for name, value in image.items():
            if isinstance(value, str) and value not in TIMES and not value.startswith(tuple(TIMES.values())):
                image[name] = value.encode().hex()


def change_moments(messages: list[Message], *_: Any) -> None:
    """`timestamp`: text with nanoseconds."""
    for image in images_of(messages):
        for name, value in image.items():
            image[name] = TIMES.get(value, value) if isinstance(value, str) else value


def images_of(messages: list[Message]) -> Iterable[Message]:
    for one in changes_of(messages):
        payload = one["payload"][0]
        yield from (payload[image] for image in ("before", "after") if image in payload)


def add_checkpoints(messages: list[Message], *_: Any) -> None:
    """`flags` 0x1000: one before all, one after each commit, and two after the last: a later one proves an earlier one."""
    found: list[Message] = []
    first, last = messages[0]["c_scn"], messages[-1]["e_scn"]
    at = {one["c_scn"]: one["e_tm"] for one in messages}

    def checkpoint(scn: int, index: int, seconds: int) -> Message:
        payload = {"op": "chkpt", "seq": SEQUENCE, "offset": 1024 + 512 * len(found)}
        return {"tm": seconds, "c_scn": scn, "c_idx": index, "db": CONTAINER, "payload": [payload]}

    found.append(checkpoint(first - 1, 1, messages[0]["e_tm"]))
    for one in messages:
        found.append(one)
        if one["payload"][0]["op"] == "commit":
            found.append(checkpoint(one["c_scn"], one["c_idx"] + 1, at[one["c_scn"]]))
    found += [checkpoint(last + 10 * n, 1, at[last]) for n in (1, 2, 3)]
    messages[:] = found


OF_VALUES = {"column", "char", "timestamp"}  # decoding names these
ADDS: Mapping[str, Callable[..., None]] = {
    "scn-type": add_scns,
    "timestamp-type": add_times,
    "db": add_database,
    "message": add_numbers,
    "rid": add_rowids,
    "schema": add_objects,
    "column": add_columns,
    "char": change_texts,
    "timestamp": change_moments,
    "flags": add_checkpoints,
}
