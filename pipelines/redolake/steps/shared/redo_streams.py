"""The streams of a pipeline: an OpenLogReplicator per redo thread, which threads need one, and where each stands.

A window ends where the slowest stream has been read. A closed thread whose redo has landed needs no stream any more. Each
OpenLogReplicator follows DDL in its own thread's redo only, so where there are several, a table must stay as it was when they
were started.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from redolake.config import Pipeline
from redolake.errors import Finding, RedoLost, ReplicatorRefused, StreamLost
from redolake.records.codec import from_body, to_body
from redolake.records.readers import ANCHOR, STREAMS, slice_facts, unproved_scn
from redolake.records.windows import WindowManifest
from redolake.source import Source, read_current_scn, read_redo_facts
from redolake.source.dictionary import read_tables_around
from redolake.source.handover import seconds_to_settle
from redolake.source.olr import Address, Anchor
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.redo import Position, RedoFacts, RedoThread
from redolake.values.scn import Scn
from redolake.window.end import End
from redolake.window.gate import follow_all
from redolake.window.incarnation import Branch, locate

Logs = dict[int, tuple[int, int | None]]  # by sequence: the first SCN, and that of the next log where it has ended
OTHER_READER = (
    "set `kind: logminer` under `source`, without addresses; once it has read past the DDL, set the streams again and start "
    "each OpenLogReplicator without its checkpoint files. No snapshot is needed"
)


@dataclass(frozen=True, slots=True)
class StreamState:
    """Where a thread's stream stands at a window's end; without an anchor, it begins again where it was started. `tables` has a
    hash of each captured table's objects and columns, as they were when the stream was started."""

    anchor: Anchor | None = None
    tables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """`end` is the SCN before which a closed thread has all its redo, None for one that is open. `logs` are those that the
    control file shows of the thread."""

    thread: int
    address: Address
    end: Scn | None
    state: StreamState
    logs: Logs

    def following(self, sequence: int) -> int | None:
        """Return the first SCN of the log after one."""
        found = self.logs.get(sequence + 1)
        return None if found is None else found[0]


def states_of(manifest: WindowManifest | None) -> dict[int, StreamState]:
    """Return where each redo thread's stream stands at the end of a received window."""
    if manifest is None:
        return {}
    where = f"the end of window {manifest.name}"
    for facts in slice_facts(manifest):
        if STREAMS in facts:
            return {int(thread): from_body(StreamState, body, where) for thread, body in facts[STREAMS].items()}
    anchors = [from_body(Anchor, facts[ANCHOR], where) for facts in slice_facts(manifest) if ANCHOR in facts]
    return {log.thread: StreamState(anchor) for log, anchor in zip(manifest.logs, anchors, strict=False)}


def states_body(states: Mapping[int, StreamState]) -> dict[str, Any]:
    return {str(thread): to_body(state) for thread, state in sorted(states.items())}


def needed_streams(
    pipeline: Pipeline, position: Position, facts: RedoFacts, states: Mapping[int, StreamState]
) -> tuple[Stream, ...]:
    """Return the streams that must be received, the one that is least far first. Raises ReplicatorRefused for a redo thread
    without one, and after a RESETLOGS."""
    check_incarnation(pipeline, position, facts)
    ends = ends_of_threads(position, facts)
    needed = {thread: end for thread, end in ends.items() if end is None or end > position.scn}
    addresses = addresses_of(pipeline, facts)
    lacking = sorted(set(needed) - set(addresses))
    if lacking:
        raise no_stream(lacking, addresses)
    streams = [
        Stream(thread, addresses[thread], end, states.get(thread, StreamState()), logs_of(position, facts, thread))
        for thread, end in needed.items()
    ]
    return tuple(sorted(streams, key=lambda one: (0 if one.state.anchor is None else one.state.anchor.c_scn, one.thread)))


def stream_findings(pipeline: Pipeline, position: Position | None, facts: RedoFacts) -> list[Finding]:
    """Return which redo thread lacks a stream, before the first snapshot too."""
    try:
        if position is not None:
            needed_streams(pipeline, position, facts, {})
        else:
            addresses = addresses_of(pipeline, facts)
            lacking = sorted(thread.number for thread in facts.threads if thread.is_open and thread.number not in addresses)
            if lacking:
                raise no_stream(lacking, addresses)
    except (ReplicatorRefused, RedoLost) as error:
        return [Finding(f"{pipeline.name}.source", error.what, error.cure)]
    return []


def check_incarnation(pipeline: Pipeline, position: Position, facts: RedoFacts) -> None:
    if position.resetlogs_id != facts.current_incarnation.resetlogs_id:
        raise ReplicatorRefused(
            f"the database was opened with RESETLOGS at SCN {facts.current_incarnation.resetlogs_scn}: this stream ends there",
            cure=f"run `redolake recover -p {pipeline.name} snapshot --execute --yes --reason TEXT`",
            position=int(position.scn),
        )


def ends_of_threads(position: Position, facts: RedoFacts) -> dict[int, Scn | None]:
    """Return by redo thread the SCN before which it has all its redo, None for one that is open. Raises RedoLost for a position
    that the database does not know."""
    branch = locate(position, facts)
    if not isinstance(branch, Branch):
        raise branch
    return {one.known.thread: None if isinstance(one.end, End) else one.end for one in follow_all(branch, facts)}


def prove_unasked(pipeline: Pipeline, oracle: Source, position: Position, last: WindowManifest) -> None:
    """Prove the windows that were received without a connection, up to the last one. Raises StreamLost where another redo
    thread has had redo since."""
    since = unproved_scn(last)
    if since is None:
        return
    began = replace(position, scn=Scn(since))
    facts = read_redo_facts(oracle, began.scn)
    check_incarnation(pipeline, began, facts)
    ends = ends_of_threads(began, facts)
    others = {thread for thread, end in ends.items() if end is None or end > since} - set(states_of(last))
    if others:
        raise other_threads(sorted(others), since)


def other_threads(threads: Iterable[int], since: int) -> StreamLost:
    listed = ", ".join(map(str, threads))
    return StreamLost(
        f"redo thread {listed} has had redo since SCN {since}, and windows since then were received without a connection: "
        "they lack its transactions",
        cure="give each open redo thread a stream, below `streams` under `source`, or set `kind: logminer`; then read the "
        "tables again: `redolake recover snapshot --execute --yes --reason TEXT`",
        threads=listed,
        since=since,
    )


def addresses_of(pipeline: Pipeline, facts: RedoFacts) -> dict[int, Address]:
    """Return the address of each redo thread's OpenLogReplicator. One without a thread reads the only one that is enabled."""
    source = pipeline.source
    if source.streams:
        return {one.thread: Address.parse(one.address, str(source.database), one.thread) for one in source.streams}
    threads = [thread.number for thread in facts.threads if is_enabled(thread)] or [facts.threads[0].number]
    if len(threads) > 1:
        raise ReplicatorRefused(
            f"the database has {len(threads)} redo threads, and an OpenLogReplicator reads one of them",
            cure="run one per redo thread, and list them below `streams` under `source`, instead of `address`; or capture with "
            "LogMiner: `kind: logminer`",
            threads=", ".join(map(str, threads)),
        )
    return {threads[0]: Address.parse(str(source.address), str(source.database))}


def is_enabled(thread: RedoThread) -> bool:
    return thread.is_open or thread.enabled != "DISABLED"


def no_stream(threads: Iterable[int], addresses: Mapping[int, Address]) -> ReplicatorRefused:
    listed = ", ".join(map(str, threads))
    return ReplicatorRefused(
        f"redo thread {listed} has redo that no stream gives: `streams` lists {', '.join(map(str, sorted(addresses)))}",
        cure="start an OpenLogReplicator without checkpoint files on that thread's logs, and add its `thread` and `address` to "
        "`streams` under `source`; the pipeline goes on where it stands",
        threads=listed,
    )


def logs_of(position: Position, facts: RedoFacts, thread: int) -> Logs:
    """Return the SCNs of each log that the control file shows: V$LOG_HISTORY, V$ARCHIVED_LOG and V$LOG."""
    return {
        log.sequence: (int(log.first_scn), None if log.next_scn is None else int(log.next_scn))
        for log in (*facts.history, *facts.archived, *facts.online)
        if (log.thread, log.resetlogs_id) == (thread, position.resetlogs_id)
    }


def check_anchor(stream: Stream, anchor: Anchor | None, now: Logs, *, is_standby: bool) -> None:
    """Raise StreamLost unless the control file, read after the stream, knows the log of the window's end with fitting SCNs: a
    stream of another database under the same names may have had fitting logs until then."""
    found = None if anchor is None else now.get(anchor.sequence)
    if anchor is None or (found is None and is_standby):  # a standby does not show the primary's online logs
        return
    if found is None or anchor.c_scn < found[0] - 1 or (found[1] is not None and anchor.c_scn > found[1]):
        has = "does not have" if found is None else f"has with the SCNs [{found[0]}, {found[1] or 'open'})"
        raise StreamLost(
            f"OpenLogReplicator at {stream.address} sent a checkpoint of SCN {anchor.c_scn} in log {anchor.sequence}, which "
            f"the control file {has}: it reads another database",
            cure="correct `address` under `source`, or what that OpenLogReplicator reads; nothing of it has landed",
            thread=stream.thread,
            sequence=anchor.sequence,
            c_scn=anchor.c_scn,
        )


# --- Tables as they were when the streams were started -------------------------------------------------------------------


def read_table_hashes(pipeline: Pipeline, oracle: Source) -> tuple[dict[str, str], datetime | None]:
    """Return a hash of each captured table's objects and columns, and the newest LAST_DDL_TIME."""
    ids = tuple(table.id for table in pipeline.tables)
    container = pipeline.source.container
    scn, found, ddl_at = read_tables_around(oracle, ids, read_current_scn, container, pipeline.renamed)
    return {str(table): hash_of(described) for table, described in found(scn).items()}, ddl_at


def hash_of(table: DictionaryTable) -> str:
    """Return a hash that is another one after each DDL that an OpenLogReplicator must know to send and name the rows."""
    objects = sorted((table.object_id, *(part.object_id for part in table.parts)))
    columns = [(column.name, column.segment_id, str(column.type)) for column in table.columns if column.stored]
    return hashlib.sha256(repr((str(table.in_oracle), objects, columns)).encode()).hexdigest()[:16]


def check_started_after_ddl(pipeline: Pipeline, oracle: Source, address: Address, scn: int, ddl_at: datetime | None) -> None:
    """Raise ReplicatorRefused where a stream was started at an SCN before the last DDL of a captured table: it reads the
    dictionary as of that SCN."""
    if ddl_at is not None and seconds_to_settle(oracle, Scn(scn), ddl_at, pipeline.source.container) > 0:
        raise ReplicatorRefused(
            f"OpenLogReplicator at {address} has the dictionary of SCN {scn}, and a captured table was changed by DDL later, "
            f"at {ddl_at}: perhaps through another redo thread, whose DDL it does not see",
            cure=OTHER_READER,
            scn=scn,
        )


def check_tables(streams: Mapping[int, StreamState], now: Mapping[str, str]) -> None:
    """Raise ReplicatorRefused for tables that are not as they were when a stream was started."""
    for thread, state in sorted(streams.items()):
        changed = sorted(table for table, digest in now.items() if state.tables and state.tables.get(table) != digest)
        if changed:
            raise ReplicatorRefused(
                f"{', '.join(changed)}: objects or columns are not those that redo thread {thread}'s OpenLogReplicator was "
                "started with. Of DDL it knows only what its own redo thread has, so it may leave out rows of a new partition "
                "or table",
                cure=OTHER_READER,
                thread=thread,
                tables=", ".join(changed),
            )
