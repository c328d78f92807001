"""Whether a snapshot may begin or be loaded at its SCN: every change after it is captured, and no SCN means two states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redolake.context import Run
from redolake.errors import Finding, SnapshotTooEarly, Terminal
from redolake.reconcile.ledger import proven_position
from redolake.reconcile.omitted_tables import batches_between, is_without, pruned_without_transaction, without_transaction
from redolake.reconcile.table_versions import present_object_ids
from redolake.reconcile.tables import capture_scn
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.redo import RedoFacts
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId


def find_doubled(context: Run, dictionary: Mapping[TableId, DictionaryTable]) -> Iterator[Finding]:
    """Yield the tables that another entry of `tables` has captured before they were renamed: redo names one object, so the rows
    of both would go to one of them."""
    present = present_object_ids(context)
    for table, found in dictionary.items():
        other = present.get(found.object_id, table)
        if other != table and other not in dictionary:
            what = f"is the table that {other} was before it was renamed (OBJECT_ID {found.object_id})"
            cure = (
                f"remove one of the two entries (of a pattern's: `!{other}`), or write `{{table: {other}, renamed_to: "
                f"{table}}}` in place of both; where another table is called {other} by now, run `redolake snapshot "
                f"{other.in_command} --replace` first"
            )
            yield Finding(str(table), what, cure)


def chain_epoch(context: Run) -> str:
    """Return the name of the current chain epoch: a new one begins at each RESETLOGS and each declared gap."""
    position = proven_position(context)
    assert position is not None, "the first snapshot has set it"
    return f"{position.resetlogs_id:010d}-{len(context.landing.gaps.all())}"


def check_chain_epoch(context: Run, table: TableId, scn: int) -> None:
    """Raise Terminal unless the snapshot began in this chain epoch; its checks hold for no other.

    Redo that a gap left out may be above the SCN, or belong to a transaction that was open at it. After a RESETLOGS the same
    SCN means another state.
    """
    if not context.landing.snapshots.was_begun(table, scn, chain_epoch(context)):
        raise Terminal(
            f"the snapshot AS OF SCN {scn} was begun before a RESETLOGS or a declared gap: changes could be lost",
            cure="begin the snapshot again: `redolake snapshot`, or trigger its DAG; nothing was changed",
            table=table,
        )


def check_unread(context: Run, table: TableId, scn: int, epoch: str) -> None:
    """Raise SnapshotTooEarly if the table was read AS OF this SCN in another epoch: SCNs repeat after a RESETLOGS."""
    begun = context.landing.snapshots.was_begun(table, scn, epoch)
    if not begun and context.landing.snapshots.manifest(table, scn) is not None:
        raise SnapshotTooEarly(
            f"the table was read AS OF SCN {scn} before a RESETLOGS or a declared gap, and would not be read again",
            cure="begin again: the next attempt uses another SCN",
            table=table,
        )


def check_followed(context: Run, facts: RedoFacts) -> None:
    """Raise SnapshotTooEarly unless capture has reached the current incarnation, to which the snapshot's SCN belongs."""
    position = context.ledger.position()
    current = facts.current_incarnation
    if position is not None and position.resetlogs_id != current.resetlogs_id:
        raise SnapshotTooEarly(
            f"the database was opened with RESETLOGS at SCN {current.resetlogs_scn}, and capture has not passed it yet",
            cure=f"let {context.name}_capture land a window after it; if redo is lost, `redolake recover -p {context.name}`",
            position=int(position.scn),
        )


def check_captured(context: Run, chosen: Sequence[TableId], oldest_start: Scn) -> ChainPosition:
    """Return where the oldest open transaction began. Raises SnapshotTooEarly if it began before the table's redo was landed:
    its changes would be lost."""
    position = proven_position(context)
    assert position is not None, "the first snapshot has set it"
    oldest = ChainPosition(position.resetlogs_id, int(oldest_start))
    since_oldest = batches_between(context, oldest, position.chain_position)
    for table in chosen:
        since = capture_scn(context, table, oldest)  # years of windows may be landed before
        if since is None:
            raise SnapshotTooEarly(
                "the table's redo is not landed yet",
                cure="let the capture DAG land one window with it, then snapshot",
                table=table,
            )
        if oldest_start < since:
            raise SnapshotTooEarly(
                "an open transaction began before the table's redo was landed",
                cure="wait until it ends, then snapshot again",
                table=table,
                transaction_start_scn=int(oldest_start),
                captured_from_scn=int(since),
            )
        for batch in (found for found in since_oldest if is_without(found, table)):
            raise SnapshotTooEarly(
                "an open transaction began before the end of a batch that lacks the table and did not carry it over",
                cure="wait until it ends, then snapshot again",
                table=table,
                transaction_start_scn=int(oldest_start),
                batch_end_scn=batch.end,
            )
        pruned = pruned_without_transaction(context.landing.pruned, table, oldest)
        changes = (pruned, *(without_transaction(found, table, oldest) for found in since_oldest))
        for scn in (scn for scn in changes if scn is not None):
            raise SnapshotTooEarly(
                "it is not known whether the transaction of a change of the table has ended: a snapshot lacks what is open",
                cure="wait until the transactions of that time have ended, then snapshot again",
                table=table,
                transaction_start_scn=int(oldest_start),
                change_scn=scn,
            )
    return oldest
