"""Compare the PDB with the one that was captured, and raise PdbChanged where it is another."""

from __future__ import annotations

from redolake.context import PipelineContext
from redolake.errors import PdbChanged
from redolake.reconcile.redo_loss import lost_position, record_redo_loss
from redolake.source import Source, read_container
from redolake.values.redo import ContainerFacts, ContainerIdentity, Position, RedoFacts
from redolake.window.container import container_change


def recorded_container(context: PipelineContext) -> ContainerIdentity | None:
    """Return the PDB of the last declared gap, else that of the first snapshot."""
    for gap in context.landing.gaps.all()[-1:]:
        return gap.container
    start = context.landing.handover.start()
    return None if start is None else start.container


def is_recorded(context: PipelineContext) -> bool:
    """Return whether a snapshot has begun, so that the PDB, or that there is none, is recorded."""
    return context.landing.handover.start() is not None


def read_same_container(context: PipelineContext, oracle: Source) -> ContainerIdentity | None:
    """Return the PDB; None for a database without containers. Raises PdbChanged unless it is the recorded one."""
    found = read_container(oracle, context.pipeline.source.container)
    error = pdb_change(context, recorded_container(context), found) if is_recorded(context) else None
    if error is not None:
        raise error
    return None if found is None else found.identity


def pdb_change(context: PipelineContext, recorded: ContainerIdentity | None, found: ContainerFacts | None) -> PdbChanged | None:
    """Return the error where the container is another one than the recorded."""
    change = container_change(recorded, found)
    if change is None:
        return None
    return PdbChanged(
        f"{change.what}. The redo does not show it, and the tables may contain rows that the pluggable database no longer has",
        cure=f"`redolake recover -p {context.name} --snapshot` reads all tables again; if this is the wrong database, correct "
        "the connection or `container`",
        container=context.pipeline.source.container,
        opened_scn=change.opened_scn,
    )


def record_pdb_change(context: PipelineContext, error: PdbChanged, position: Position, facts: RedoFacts) -> int:
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
