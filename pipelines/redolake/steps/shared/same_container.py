"""Compare the PDB and its encoding with what was captured, and raise PdbChanged where it is another."""

from __future__ import annotations

from redolake.context import Run
from redolake.errors import EncodingChanged, PdbChanged
from redolake.reconcile.redo_loss import lost_position, record_redo_loss
from redolake.source import Source, read_container, read_encoding
from redolake.values.redo import ContainerFacts, ContainerIdentity, Encoding, Position, RedoFacts
from redolake.window.container import container_change, encoding_change


def recorded_container(context: Run) -> ContainerIdentity | None:
    """Return the PDB of the last declared gap, else that of the first snapshot."""
    for gap in context.landing.gaps.all()[-1:]:
        return gap.container
    start = context.landing.handover.start()
    return None if start is None else start.container


def is_recorded(context: Run) -> bool:
    """Return whether a snapshot has begun, so that the PDB, or that there is none, is recorded."""
    return context.landing.handover.start() is not None


def read_same_container(context: Run, oracle: Source) -> ContainerIdentity | None:
    """Return the PDB; None for a database without containers. Raises PdbChanged unless it is the recorded one, and
    EncodingChanged unless it still encodes texts and times as recorded."""
    found = read_container(oracle, context.pipeline.source.container)
    if is_recorded(context):
        check_same(context, oracle, recorded_container(context), found)
    return None if found is None else found.identity


def check_same(context: Run, oracle: Source, recorded: ContainerIdentity | None, found: ContainerFacts | None) -> None:
    """Raise PdbChanged unless the container that was found is the recorded one, with the recorded encoding."""
    encoding = read_encoding(oracle, context.pipeline.source.container)
    error = pdb_change(context, recorded, found, encoding)
    if error is not None:
        raise error


def pdb_change(
    context: Run,
    recorded: ContainerIdentity | None,
    found: ContainerFacts | None,
    encoding: Encoding | None,
) -> PdbChanged | None:
    """Return the error where the container is another one than the recorded, or encodes texts and times in another way. A
    landing without a handover, as that of a range, has recorded no encoding."""
    again = f"`redolake recover -p {context.name} snapshot --execute --yes --reason TEXT` reads all tables again; "
    again += "if this is the wrong database, correct the connection or `container`"
    change = container_change(recorded, found)
    if change is not None:
        return PdbChanged(
            f"{change.what}. The redo does not show it, and the tables may contain rows that the pluggable database no longer "
            "has",
            cure=again,
            container=context.pipeline.source.container,
            opened_scn=change.opened_scn,
        )
    changed = encoding_change(context.landing.encoding(), encoding) if encoding is not None and is_recorded(context) else ""
    if not changed:
        return None
    what = f"{changed}. The redo does not show it, and its texts and times would be read wrongly"
    return EncodingChanged(what, cure=again, container=context.pipeline.source.container)


def record_pdb_change(context: Run, error: PdbChanged, position: Position, facts: RedoFacts) -> int:
    """Record the change in the ledger; return the SCN below which the PDB's redo is of other tables.

    Where no view says it, that is the SCN at which the change was noticed first.
    """
    loss = context.ledger.loss()
    is_known = loss is not None and loss.error["code"] == error.code and loss.step == "plan"
    before = lost_position(loss) if loss is not None and is_known else None
    same = before is not None and (before.resetlogs_id, before.scn) == (position.resetlogs_id, position.scn)
    noticed = before.window_end if same and before is not None else None
    opened = error.where.get("opened_scn")
    since = int(opened) if isinstance(opened, int) else noticed or int(facts.current_scn)
    record_redo_loss(context, error, "plan", position, (), since)
    return since
