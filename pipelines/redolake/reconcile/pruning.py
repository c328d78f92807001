"""Where the chain can be cut, and the record of what goes: what the windows and batches before the cut have shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from redolake.context import Run
from redolake.land.quotes import doubtful_windows, join_doubtful
from redolake.ledger.entries import VersionEntry
from redolake.reconcile.batches import batch_result
from redolake.reconcile.dropped_transactions import key_of
from redolake.reconcile.ledger import chain_names
from redolake.reconcile.newest_batches import end_of
from redolake.reconcile.omitted_tables import is_without
from redolake.records.batches.manifest import BatchResult, DroppedRows
from redolake.records.pruned import KnownVersion, Pruned, PrunedTable, PruneStep, add_step
from redolake.records.windows import WindowManifest, knows_of_single_quotes
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId


def cut_at(context: Run, limit: ChainPosition) -> ChainPosition | None:
    """Return the end of the last batch of the chain that ends at `limit` or before; None where none does. From there the open
    transactions are known, with their rows. The newest window always stays, for it says where the chain goes on."""
    newest = context.landing.windows.last(1)
    limit = min(limit, newest[0].start_position) if newest else limit
    names = (name for name in chain_names(context) if end_of(name) <= limit)
    return next((end_of(name) for name in names if batch_result(context, name) is not None), None)


# --- What only the pruned files show ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Runs:
    """From which position on each table was there without a break, part by part; see chain_rules.capture_start."""

    since: dict[str, ChainPosition] = field(default_factory=dict)
    end: int | None = None

    def add(self, tables: Iterable[str], start: ChainPosition, end: ChainPosition) -> None:
        adjoins = self.end == start.scn
        self.since = {table: self.since.get(table, start) if adjoins else start for table in tables}
        self.end = end.scn


def windows_seen(before: Pruned | None, manifests: Iterable[WindowManifest]) -> tuple[Runs, Pruned]:
    """Return since when the windows had each table, and a record with what they show of quotes and their number."""
    runs = runs_of(before, "captured_from")
    made = before or Pruned((), 0)
    for manifest in manifests:
        runs.add(manifest.tables, manifest.start_position, manifest.end_position)
        is_known = made.single_quotes is not None or knows_of_single_quotes(manifest)
        doubtful = made.doubtful if is_known else join_doubtful(made.doubtful, doubtful_windows([manifest]))
        made = replace(made, windows=made.windows + 1, doubtful=doubtful)
    return runs, made


def batches_seen(before: Pruned | None, results: Iterable[BatchResult], tables: Sequence[TableId]) -> Runs:
    """Return since when the batches had each table."""
    runs = runs_of(before, "batched_from")
    for result in results:
        there = [str(table) for table in tables if not is_without(result, table)]
        runs.add(there, result.start_position, result.end_position)
    return runs


def runs_of(before: Pruned | None, name: str) -> Runs:
    return Runs() if before is None else Runs(positions_of(before, name), before.position.scn)


def positions_of(before: Pruned, name: str) -> dict[str, ChainPosition]:
    """Return a position that the record has of tables, for those that have it."""
    known = {table: getattr(found, name) for table, found in before.tables.items()}
    return {table: ChainPosition.parse(position) for table, position in known.items() if position is not None}


def without_transaction_seen(before: Pruned | None, results: Iterable[BatchResult]) -> dict[str, ChainPosition]:
    """Return where each table's newest change is that a batch has not carried over though its transaction may be open."""
    seen = {} if before is None else positions_of(before, "without_transaction")
    for result in results:
        for table, scn in result.without_transaction.items():
            at = ChainPosition(result.resetlogs_id, scn)
            seen[table] = max(at, seen.get(table, at))
    return seen


def sum_dropped(before: Sequence[DroppedRows], results: Iterable[BatchResult]) -> tuple[DroppedRows, ...]:
    """Return the rows of each dropped transaction over all pruned batches, with its end once a batch has read it."""
    found: dict[tuple[int, str, int], DroppedRows] = {key_of(rows): rows for rows in before}
    for result in results:
        for part in result.dropped:
            known = found.get(key_of(part))
            found[key_of(part)] = part if known is None else replace(part, rows=sum_counts(known.rows, part.rows))
    return tuple(found.values())


def sum_counts(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {table: one.get(table, 0) + other.get(table, 0) for table in {**one, **other}}


def make_record(context: Run, cut: ChainPosition, at: str, by: str) -> Pruned:
    """Return the record with which the chain begins at `cut`: the one before, and what the windows and batches since then have
    shown."""
    before = context.landing.pruned
    runs, made = windows_seen(before, context.landing.windows.each_once(context.landing.windows.until(cut)))
    since = None if before is None else before.position
    results = [result for name in reversed(chain_names(context)) if (result := pruned_batch(context, name, since, cut))]
    # A batch that has read windows of another again begins before that ends, so each is joined to the one before it.
    entries = [entry.table for entry in context.ledger.tables()]
    batched = batches_seen(before, adjoin(results), entries)
    versions, open_changes = versions_now(context), without_transaction_seen(before, results)
    tables = {
        str(table): PrunedTable(
            name_of(runs.since.get(str(table))),
            name_of(batched.since.get(str(table))),
            versions.get(table, ()),
            name_of(open_changes.get(str(table))),
        )
        for table in entries
    }
    counted = [result for result in results if result.end_position < cut]
    return replace(
        made,
        steps=add_step(made.steps, PruneStep(cut.resetlogs_id, cut.scn, at, by)),
        tables=tables,
        single_quotes=context.landing.quotes.evidence(),
        dropped=sum_dropped(() if before is None else before.dropped, counted),
    )


def pruned_batch(context: Run, name: str, since: ChainPosition | None, cut: ChainPosition) -> BatchResult | None:
    """Return the batch if it ends after `since` and not after `cut`; the one that ends at `since` was counted then."""
    if end_of(name) > cut or (since is not None and end_of(name) <= since):
        return None
    return batch_result(context, name)


def adjoin(results: Sequence[BatchResult]) -> Iterator[BatchResult]:
    """Yield the batches, each from where the one before ended."""
    end: int | None = None
    for result in results:
        yield result if end is None or result.start >= end else replace(result, start=end)
        end = result.end


def versions_now(context: Run) -> dict[TableId, tuple[KnownVersion, ...]]:
    return {table: tuple(map(known_version, entries)) for table, entries in context.ledger.all_versions().items()}


def known_version(entry: VersionEntry) -> KnownVersion:
    return KnownVersion(int(entry.from_scn), "baseline" if entry.source == "baseline" else "ddl", entry.body, entry.ddl)


def name_of(position: ChainPosition | None) -> str | None:
    return None if position is None else position.name
