"""Mine one slice of a window: complete redo rows in LogMiner's order, checked, and cut to the window by each row's SCN.

After a failure the caller must discard every batch of the attempt.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from redolake.errors import SourceRefused
from redolake.host.arrow_check import check_arrow
from redolake.host.statements import statement
from redolake.mine.checks import check_rows, check_stream
from redolake.mine.copies import LogSet
from redolake.mine.pieces import PieceJoiner, split_by_size
from redolake.mine.rows import fit_numbers, in_container, landed_rows, log_of, own_thread, usable_ends
from redolake.mine.selection import MinedContainer, predicate
from redolake.mine.session import Session, logminer
from redolake.values.redo import Operation, Slice, Window
from redolake.values.table import TableId

log = logging.getLogger(__name__)


@dataclass(slots=True)
class MiningFacts:
    """Facts about one attempt, complete after its last batch. They may differ between attempts."""

    row_count: int = 0  # rows returned by LogMiner, pieces joined
    outside_count: int = 0  # of these, rows whose SCN is outside the window
    dictionary_scn: int | None = None  # the online catalogue is at least this recent; None where names came from the redo
    destinations: dict[str, int] = field(default_factory=dict)  # DEST_ID of the copy that was read, by "thread/sequence"
    refused: tuple[str, ...] = ()  # copies that failed in earlier attempts
    neighbours: tuple[int, ...] = ()  # sequences mined only to complete a row at the edge of the slice
    settings: dict[str, str] = field(default_factory=dict)
    complete: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": self.row_count,
            "outside": self.outside_count,
            "dictionary_scn": self.dictionary_scn,
            "destinations": dict(self.destinations),
            "refused": list(self.refused),
            "neighbours": list(self.neighbours),
            "settings": dict(self.settings),
        }


class SliceMining:
    """Iterate once for batches of LANDED_SCHEMA; `facts` is complete after the last one."""

    def __init__(
        self,
        session: Session,
        log_set: LogSet,
        window: Window,
        *,
        tables: Sequence[TableId],
        object_ids: frozenset[int],
        container: str | None,
        fetch_rows: int,
        with_objects: frozenset[int] = frozenset(),
    ) -> None:
        self._session, self._log_set, self._logs, self._window = session, log_set, log_set.own, window
        self._tables, self._object_ids, self._container_name = tuple(tables), object_ids, container
        self._fetch_rows, self._with_objects = fetch_rows, with_objects
        self._threads = {log.thread for log in log_set.all_logs}  # that LogMiner reads
        self.facts = MiningFacts(refused=log_set.refused, neighbours=tuple(sorted(log_set.neighbours)))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        session, facts, started = self._session, self.facts, time.monotonic()
        session.use_container(None)
        facts.settings = dict(session.pin_session())
        if self._log_set.dictionary_scn is None:
            facts.dictionary_scn = int(session.query("current_scn")[0].current_scn)
        container = mined_container(session, self._container_name)
        with logminer(session, self._log_set, self._window) as opened:
            if session.pdb_only:
                self._threads = {int(row.thread_id) for row in session.query("mined_logs")}
            facts.destinations = {f"{log.thread}/{log.sequence}": copy.dest_id for log, copy in opened.items()}
            yield from self._rows(container)
        facts.complete = True
        log.info(
            "mined slice %s of window %s: redo thread %s, %s log(s), %s rows, %s outside the window, %.1f s",
            self._logs.number, self._window.name, self._logs.thread, len(self._logs.logs), facts.row_count,
            facts.outside_count, time.monotonic() - started,
        )  # fmt: skip

    def _rows(self, container: MinedContainer | None) -> Iterator[pa.RecordBatch]:
        own = None if self._log_set.dictionary_scn is None else self._logs.logs[0]
        where, binds = predicate(self._tables, self._object_ids, container, since=own, with_objects=self._with_objects)
        sql = f"{statement('redo_rows')}\n WHERE {where}"
        joiner = PieceJoiner()
        for answer in self._session.arrow(sql, binds, self._fetch_rows, name="redo_rows", decimals=False):
            for fetched in map(self._own_part, map(fit_numbers, lower_case(answer))):
                check_stream(fetched)
                for batch in split_by_size(joiner.feed(fetched)):
                    yield from self._to_landed(batch, container)
        joiner.close()

    def _own_part(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Drop the rows that begin in a neighbouring log: another slice lands them. A row without a log is kept."""
        if len(self._threads) > 1 or self._session.pdb_only:
            batch = own_thread(batch, self._logs.thread, self._threads)
        if self._session.pdb_only:
            batch = in_container(batch, self._container_name)
        if self._with_objects:
            batch = usable_ends(batch, has_containers=self._container_name is not None)
        if not self._log_set.neighbours:
            return batch
        foreign = pc.is_in(log_of(batch, self._log_set.added), value_set=pa.array(sorted(self._log_set.neighbours), pa.int64()))
        return batch.filter(pc.invert(foreign))

    def _to_landed(self, batch: pa.RecordBatch, container: MinedContainer | None) -> Iterator[pa.RecordBatch]:
        rows = landed_rows(batch, self._logs, self.facts.row_count, container)
        scns = self._window.scns
        check_rows(rows, self._logs, scns.end, self._tables, self._object_ids, container)
        is_inside = pc.and_(pc.greater_equal(rows["scn"], int(self._window.lowest_scn)), pc.less(rows["scn"], int(scns.end)))
        if self._window.reads_from is not None:  # the DDL before its start has landed with the windows before it
            is_older = pc.and_(pc.less(rows["scn"], int(scns.start)), pc.equal(rows["operation_code"], int(Operation.DDL)))
            is_inside = pc.and_(is_inside, pc.invert(is_older))
        inside = rows if pc.all(is_inside).as_py() else rows.filter(is_inside)
        self.facts.row_count += rows.num_rows
        self.facts.outside_count += rows.num_rows - inside.num_rows
        if inside.num_rows:
            yield inside


def mined_container(session: Session, name: str | None) -> MinedContainer | None:
    """Return the captured container, with its number if it shares the undo of the root. Asked in the root.

    Raises SourceRefused where the root does not show the container: a user who has lost CONTAINER_DATA would be shown none of
    its rows, without an error."""
    if name is None:
        return None
    if session.pdb_only:  # a snapshot requires local undo there
        return MinedContainer(name)
    found = session.query("container_number", container=name)
    if not found:
        raise SourceRefused(
            f"V$PDBS does not list container {name}, so LogMiner may show none of its rows",
            cure="run `redolake doctor`: the PDB or CONTAINER_DATA is missing",
        )
    is_local = [row.is_local for row in session.query("local_undo")] == ["TRUE"]
    return MinedContainer(name) if is_local else MinedContainer(name, int(found[0].con_id))


def lower_case(answer: Any) -> list[pa.RecordBatch]:
    """Return the driver's data frame as batches, with column names in lower case."""
    table = pa.table(answer)
    batches: list[pa.RecordBatch] = table.rename_columns([name.lower() for name in table.column_names]).to_batches()
    return batches


def mine_slice(
    session: Session,
    logs: Slice | LogSet,
    window: Window,
    *,
    tables: Sequence[TableId],
    object_ids: frozenset[int],
    container: str | None,
    fetch_rows: int,
    with_objects: frozenset[int] = frozenset(),
) -> SliceMining:
    """Return one attempt at the rows of `logs` whose SCN lies in `window`; `mine_from_any_copy` makes further attempts.

    Tables with the object ids `with_objects` get the INTERNAL rows that end statements. The database is not used before the
    first batch is taken.
    """
    check_arrow()
    log_set = logs if isinstance(logs, LogSet) else LogSet.of(logs)
    return SliceMining(
        session,
        log_set,
        window,
        tables=tables,
        object_ids=object_ids,
        container=container,
        fetch_rows=fetch_rows,
        with_objects=with_objects,
    )
