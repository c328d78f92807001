"""Ask a running OpenLogReplicator, and look at what it sends: which settings would lose or blur values.

Nothing is confirmed, so that a receiver gets all of it again. One that waits for its first start sends nothing yet.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from redolake.config import Pipeline
from redolake.context import open_to_read
from redolake.decode.messages import value_errors
from redolake.errors import Finding, RedolakeError, ReplicatorRefused
from redolake.land.dictionary import Readings
from redolake.reconcile.chosen_columns import chosen_columns
from redolake.source.olr import Address, Connection, connect
from redolake.source.olr.messages import BEGIN, CHANGES, CHECKPOINT, COMMIT, refusals, refuse
from redolake.source.olr.wire import AnswerCode
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import TableId

ASKED_SECONDS = 10.0
MOST_SECONDS, MOST_MESSAGES, MOST_BYTES = 3.0, 2000, 1 << 30  # of messages that are read
PAUSE_SECONDS = 0.5
SAME_ZONE_SECONDS = 60
VALUES_CURE = "correct `format` in OpenLogReplicator.json as `redolake olr-config` prints it, and restart it"


def replicator_findings(pipeline: Pipeline, tables: Iterable[DictionaryTable]) -> list[Finding]:
    """Return what is wrong with each OpenLogReplicator of the pipeline; while a receiver is connected, it does not answer."""
    source = pipeline.source
    if not source.is_stream:
        return []
    addresses = [Address.parse(one.address, str(source.database), one.thread) for one in source.streams]
    addresses = addresses or [Address.parse(str(source.address), str(source.database))]
    described = {table.in_oracle: table for table in tables}
    return [finding for address in addresses for finding in findings_of_one(pipeline, address, described)]


def known_tables(pipeline: Pipeline) -> tuple[DictionaryTable, ...]:
    """Return the captured tables as the newest reading of the dictionary has them; none before the first one."""
    with suppress(RedolakeError), open_to_read(pipeline) as context:
        reading = next(Readings(context.landing.dictionary).newest_first(0, 0), None)
        found = {} if reading is None else {one.id: reading.table(one.id) for one in context.pipeline.tables}
        described = {table: one for table, one in found.items() if one is not None}
        return tuple(chosen_columns(context.pipeline, described).values())
    return ()


def findings_of_one(pipeline: Pipeline, address: Address, tables: dict[TableId, DictionaryTable]) -> list[Finding]:
    source, subject = pipeline.source, f"OpenLogReplicator {address}"
    try:
        with connect(address, source.container, timeout_seconds=min(ASKED_SECONDS, source.silent_seconds)) as connection:
            if connection.info().code != AnswerCode.REPLICATE:
                return []
            connection.go_on()
            found = dict(sent_findings(connection, source.container, address.thread, tables))
    except RedolakeError as error:
        severity = "error" if error.code == "ReplicatorRefused" else "warning"
        return [Finding(subject, error.what, error.cure, severity)]
    return [Finding(subject, what, cure) for what, cure in found.items()]


def sent_findings(
    connection: Connection, container: str | None, thread: int | None, tables: dict[TableId, DictionaryTable]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the first messages, up to those of the present, and its cure."""
    connection.set_pause(PAUSE_SECONDS)
    connection.expect_checkpoints(ASKED_SECONDS, MOST_BYTES)
    began, started, count, has_checkpoint, is_present = time.monotonic(), time.time(), 0, False, False
    for body in connection.bodies():
        if body is not None:
            count += 1
            message = read_json(body)
            if message and message["payload"][0]["op"] == CHECKPOINT:
                has_checkpoint, is_present = True, is_of_present(message, started)
            yield from message_findings(message, body, container, thread, tables)
        elapsed = time.monotonic() - began
        if elapsed >= (PAUSE_SECONDS if is_present else MOST_SECONDS) or count >= MOST_MESSAGES:
            break
    if count and not has_checkpoint:
        yield (
            f"sends no checkpoints: none in {count} messages",
            "add 0x1000 to `flags` in OpenLogReplicator.json, and restart it",
        )


def is_of_present(checkpoint: Any, started: float) -> bool:
    """Return whether the checkpoint was written since then, so that all that was kept has come before it. Times that are
    further off are those of a wrong zone."""
    nanoseconds = checkpoint.get("tm")
    return isinstance(nanoseconds, int) and 0 <= nanoseconds // 10**9 - started < SAME_ZONE_SECONDS


def read_json(body: bytes) -> Any:
    try:
        found = json.loads(body)
        return found if found["payload"][0]["op"] else None
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None


def message_findings(
    message: Any, body: bytes, container: str | None, thread: int | None, tables: dict[TableId, DictionaryTable]
) -> Iterator[tuple[str, str]]:
    if message is None:
        yield "sends what is no JSON", 'set `"type": "json"` in `format` of OpenLogReplicator.json, and restart it'
        return
    payload = message["payload"][0]
    if len(message["payload"]) != 1:
        yield text_of(refuse("several changes are in one message", "message", 2))
    if payload["op"] == CHECKPOINT:
        return
    for refusal in refusals(message, payload, container):
        yield text_of(refusal)
    if thread is not None and payload["op"] in (BEGIN, COMMIT) and message.get("rth") != thread:
        sent = refuse("a message does not say of which redo thread it is", "redo-thread", 1) if "rth" not in message else None
        yield (
            text_of(sent)
            if sent
            else (
                f"sends redo thread {message['rth']}",
                "correct `thread` or `address` below `streams` under `source`, or the logs that it reads",
            )
        )
    schema = payload.get("schema", {})
    table = tables.get(TableId(str(schema.get("owner")), str(schema.get("table"))))
    if payload["op"] in CHANGES and table is not None:
        types = {column.name: column.type for column in table.captured}
        for error in value_errors(body.decode(), types):
            yield f"{table.table}: {error}", VALUES_CURE
        absent = sorted(set(types) - set(payload.get("after", payload.get("before", {}))))
        if absent and payload["op"] == "c":
            yield f"{table.table}: an INSERT lacks columns: {', '.join(absent)}", VALUES_CURE


def text_of(refusal: ReplicatorRefused) -> tuple[str, str]:
    return refusal.what, refusal.cure
