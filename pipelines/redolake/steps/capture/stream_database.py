"""What the database proves of received windows, and what is received without asking it.

A stream proves by itself that nothing is missing in it since the last window. Only the database knows that no other redo
thread writes, that its logs are these, that the PDB is the same one, and how tables are described. Without a connection a
stream goes on where it has landed; each window then says since when nothing of that was proved, and the next run with a
connection proves it from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from redolake.context import Run, held_lease, no_connection
from redolake.errors import PdbChanged
from redolake.host import crash
from redolake.reconcile.table_versions import object_ids
from redolake.records.codec import to_body
from redolake.records.readers import OpenTransactions, unproved_scn
from redolake.records.windows import SliceRecord, WindowPlan
from redolake.source import Source, read_redo_facts, read_tables
from redolake.source.olr import Address, First, Selection
from redolake.source.standby import read_lags
from redolake.steps.capture.received_rows import Received
from redolake.steps.capture.stream_start import Start, first_of
from redolake.steps.capture.windows import LEASE_SECONDS, PlanOutcome, plan_slices
from redolake.steps.shared.matched_tables import announced_tables, match_tables
from redolake.steps.shared.redo_streams import (
    Stream,
    StreamState,
    check_anchor,
    check_started_after_ddl,
    check_tables,
    logs_of,
    needed_streams,
    prove_unasked,
    read_table_hashes,
)
from redolake.steps.shared.same_container import read_same_container, record_pdb_change, recorded_container
from redolake.steps.shared.shown_facts import host_clock_ahead, record_redo
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.redo import ContainerIdentity, Position, RedoFacts, Window
from redolake.values.table import TableId


class Database(Protocol):
    """`target` is the SCN of now, which the streams must pass; `clock_ahead` its host's clock minus UTC by this one's."""

    @property
    def open(self) -> OpenTransactions | None: ...

    @property
    def target(self) -> int | None: ...

    @property
    def clock_ahead(self) -> timedelta | None: ...

    def begin(self) -> None: ...

    def streams(self, start: Start) -> tuple[Stream, ...]: ...

    def first(self, start: Start, thread: int) -> First | None: ...

    def state_of_started(self, stream: Stream, scn: int) -> StreamState: ...

    def selection(self) -> Selection: ...

    def match_tables(self) -> None: ...

    def prove_earlier(self, start: Start) -> None: ...

    def check_close(self, received: Received, start: Start) -> None: ...

    def plan(self, context: Run, window: Window, ends_at: datetime | None) -> PlanOutcome: ...

    def check_rows(self, records: Iterable[SliceRecord]) -> None: ...

    def unproved_scn(self, start: Start) -> int | None: ...


def selection_of(context: Run, dictionary: dict[TableId, DictionaryTable]) -> Selection:
    """Return which transactions are landed: by the object ids that captured tables have or had, and by their names."""
    pipeline = context.pipeline
    names = {*(table.id for table in pipeline.tables), *pipeline.renamed.values()}
    return Selection(frozenset(object_ids(context, dictionary)), frozenset((table.owner, table.name) for table in names))


# --- Asked -------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class AskedDatabase:
    context: Run
    oracle: Source
    position: Position
    facts: RedoFacts
    open: OpenTransactions | None
    container: ContainerIdentity | None = None
    clock_ahead: timedelta | None = None

    @property
    def target(self) -> int | None:
        return int(self.facts.current_scn)

    def begin(self) -> None:
        """Record what the source has. Raises PdbChanged unless the PDB is the recorded one."""
        try:
            self.container = read_same_container(self.context, self.oracle)
        except PdbChanged as error:
            record_pdb_change(self.context, error, self.position, self.facts)
            raise
        self.clock_ahead = host_clock_ahead(self.oracle)
        lags, _ = read_lags(self.oracle, self.facts)
        record_redo(self.context, self.position, self.facts, self.clock_ahead, lags, is_all=False)

    def streams(self, start: Start) -> tuple[Stream, ...]:
        return needed_streams(self.context.pipeline, self.position, self.facts, start.states)

    def first(self, start: Start, thread: int) -> First | None:
        return first_of(self.oracle, self.position, start, thread)

    def state_of_started(self, stream: Stream, scn: int) -> StreamState:
        """Return the state of a stream that was started at an SCN. Raises ReplicatorRefused where it may not know tables."""
        if stream.address.thread is None:
            return StreamState()
        hashes, ddl_at = read_table_hashes(self.context.pipeline, self.oracle)
        check_started_after_ddl(self.context.pipeline, self.oracle, stream.address, scn, ddl_at)
        return StreamState(None, hashes)

    def selection(self) -> Selection:
        pipeline = self.context.pipeline
        ids = tuple(table.id for table in pipeline.tables)
        return selection_of(self.context, read_tables(self.oracle, ids, pipeline.source.container, pipeline.renamed))

    def match_tables(self) -> None:
        match_tables(self.context, self.oracle)

    def prove_earlier(self, start: Start) -> None:
        """Prove the windows that were received without a connection. Raises StreamLost where another redo thread has had redo
        since."""
        if start.last is not None:
            prove_unasked(self.context.pipeline, self.oracle, self.position, start.last)

    def check_close(self, received: Received, start: Start) -> None:
        """Read the control file again, after the streams: a redo thread may have opened, and its logs must be those of the
        streams. Where there are several streams, the tables must be as they were when these were started."""
        facts, pipeline = read_redo_facts(self.oracle, self.position.scn), self.context.pipeline
        needed_streams(pipeline, self.position, facts, start.states)
        for one in received.taken:
            logs = logs_of(self.position, facts, one.stream.thread)
            cut = one.whole or one.sequencer.cut
            check_anchor(one.stream, None if cut is None else cut.anchor, logs, is_standby=facts.is_standby)
        if pipeline.source.streams:
            check_tables({one.stream.thread: one.state for one in received.taken}, read_table_hashes(pipeline, self.oracle)[0])

    def plan(self, context: Run, window: Window, ends_at: datetime | None) -> PlanOutcome:
        return plan_slices(context, self.oracle, window, self.position.resetlogs_id, self.container, ends_at)

    def check_rows(self, records: Iterable[SliceRecord]) -> None:
        """Refuse nothing: DDL is followed by the dictionary, which the plan has read."""

    def unproved_scn(self, start: Start) -> int | None:
        return None


# --- Not asked ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class UnaskedDatabase:
    """A pipeline without a connection. Tables are those that have a description; DDL of them stops the window."""

    context: Run
    position: Position
    open: OpenTransactions | None = None
    target: int | None = None
    clock_ahead: timedelta | None = None

    def begin(self) -> None:
        """Forget what the page shows of the database: it would be of another day."""
        self.context.ledger.record_facts({}, forget=["source failure", "redo", "runway"])

    def streams(self, start: Start) -> tuple[Stream, ...]:
        """Return the only stream, which goes on. Raises ConfigurationError for one that has not landed yet."""
        source, states = self.context.pipeline.source, start.states
        going_on = {thread: state for thread, state in states.items() if state.anchor is not None}
        if len(going_on) != 1:
            raise no_connection(
                self.context.pipeline,
                "is not set, and the first window needs it: the control file proves where a stream begins",
            )
        ((thread, state),) = going_on.items()
        return (Stream(thread, Address.parse(str(source.address), str(source.database)), None, state, {}),)

    def first(self, start: Start, thread: int) -> First | None:
        raise no_connection(
            self.context.pipeline,
            "is not set, and OpenLogReplicator has lost its checkpoint files: the control file says where it must begin",
        )

    def state_of_started(self, stream: Stream, scn: int) -> StreamState:
        raise AssertionError("no stream is started without a connection")

    def selection(self) -> Selection:
        return selection_of(self.context, {})

    def match_tables(self) -> None:
        """Keep the tables that patterns matched last: nobody lists others."""

    def prove_earlier(self, start: Start) -> None:
        """Prove nothing, which each window says."""

    def check_close(self, received: Received, start: Start) -> None:
        """Check nothing: no control file is read."""

    @crash.writer
    def plan(self, context: Run, window: Window, ends_at: datetime | None) -> PlanOutcome:
        """Record the plan. No dictionary is read, and none is needed while there is no DDL."""
        described = context.ledger.described_tables()
        ids = tuple(table.id for table in context.pipeline.tables if table.id in described)
        made = WindowPlan(window, ids, object_ids(context, {}), window.scns.end, recorded_container(context))
        with held_lease(context, "capture", LEASE_SECONDS) as lease:
            entry = context.ledger.plan_window(window.name, window.resetlogs_id, window.scns, to_body(made), lease, ends_at)
        numbers = tuple(one.number for one in window.slices)
        return PlanOutcome("window", "", entry.name, numbers, announced=announced_tables(context))

    def check_rows(self, records: Iterable[SliceRecord]) -> None:
        """Raise ConfigurationError for DDL: only the dictionary says what it has made of a table."""
        for row in (row for record in records for row in record.ddl):
            raise no_connection(
                self.context.pipeline,
                f"is not set, and DDL at SCN {row.scn} may concern {row.owner}.{row.table}, which only the dictionary shows: "
                f"{row.sql[:200]}. Nothing of this window has landed",
            )

    def unproved_scn(self, start: Start) -> int | None:
        """Return the SCN since which nothing was proved by the database."""
        before = None if start.last is None else unproved_scn(start.last)
        return int(self.position.scn) if before is None else before
