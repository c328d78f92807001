"""`tx drop`: never apply an open transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from redolake.errors import ConfigurationError, Finding
from redolake.operations.declared import Option, Outcome, operation
from redolake.values.redo import check_xid

if TYPE_CHECKING:
    from redolake.context import Run

Xid = Annotated[
    str | None,
    Option("As `tx list` shows it. Without it, the open ones are listed.", "Transaction", positional=True, check=check_xid),
]
Container = Annotated[int | None, Option("Needed only if the xid is open in several containers.")]


@operation("tx drop", reason="Stored with the decision.", final=True)
def drop_transaction(run: Run, xid: Xid = None, container: Container = None) -> Outcome:
    """Never apply an open transaction, however it ends. Shows what that costs.

    If the transaction commits, its tables lack its changes until a snapshot reads them again.
    """
    from redolake import steps

    if xid is None and run.execute:
        raise ConfigurationError([Finding("tx drop", "no transaction is named", "`redolake tx list` shows the open ones")])
    if xid is None:
        listed = steps.list_transactions(run.pipeline)
        lines = tuple(map(str, listed.open))
        return Outcome(listed, (f"{len(lines)} open transactions", *lines), is_all=True)
    cost = steps.look_up_transaction(run.pipeline, xid, container)
    if not run.execute:
        return Outcome(cost, cost.lines, shown=cost.start_scn)
    made = steps.drop_transaction(run, xid, cost.con_id, start_scn=cost.start_scn if run.shown is None else run.shown)
    return Outcome(made, (f"Transaction {xid} is dropped; the next batch leaves out its rows.",))
